"""Rows of Dask collections: sums, samples and columns are made where the rows are.

Each pass is one task for each part, which gets θ with it and returns the sums over its blocks. The
sums are added in the order of the parts, so that the digits do not depend on who computed what. The
client holds samples and sums, and nothing of the length of the data.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Index
from kmpe.rows import tasks
from kmpe.rows.checks import negligible
from kmpe.rows.cluster import Engine
from kmpe.rows.parts import Parts, Targets, open_parts
from kmpe.rows.selection import chained, select
from kmpe.rows.source import Block, Rows, rows_per_block

__all__ = ["Absent", "DaskRows", "open_rows"]


def open_rows(
    engine: Engine, X: Any, y: Any, sample_weight: Any, targets: Targets
) -> tuple["DaskRows", float]:
    """Return the rows of Dask collections with weights that count rows, and the unit of these."""
    parts = open_parts(engine, X, y, sample_weight, targets)
    largest = max(summary.most for summary in parts.summaries)
    if largest == 0:
        raise ValueError("every sample_weight is zero: at least one row must count")
    least, whole, unit = negligible(largest), True, 1.0
    if sample_weight is not None:
        positive = engine.fetch(engine.map(partial(tasks.kept_weights, least), parts.references))
        smallest = min(value for value, _, _ in positive)
        broken = engine.fetch(
            engine.map(partial(tasks.fractions, least, smallest), parts.references)
        )
        fractions = np.any(broken, axis=0)
        whole = not fractions.all()
        unit = sum(weight for _, weight, _ in positive) / sum(count for _, _, count in positive)
        unit = smallest / (1 + int(np.argmin(fractions))) if whole else unit
    weights = engine.map(partial(tasks.counted, least, unit, whole), parts.references)
    q = engine.fetch(engine.map(tasks.n_targets, parts.references[:1]))[0]
    T: Any = Absent(parts.shape[0], q)
    counts: Any = weights
    return DaskRows(parts, T, counts), unit


class Absent:
    """What the client does not have: a column of rows that are elsewhere."""

    def __init__(self, n: int, width: int, centre: Array | None = None) -> None:
        self.shape = (n, width)
        self.centre = np.zeros(width) if centre is None else centre

    def __sub__(self, centre: Array) -> "Absent":
        return Absent(*self.shape, self.centre + centre)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Refuse: nothing is converted silently."""
        _refuse()


def _refuse() -> NoReturn:
    raise ValueError(
        "this fit needs a value of every row in one place, which the rows of a Dask collection do "
        'not have. It is so with a rule for sigma beside init="pca" or init="zero", and where a '
        "column is zero on nearly all rows, so that no sample stands for them: give sigma as a "
        "number, leave the column out, or fit in memory"
    )


@dataclass(frozen=True)
class DaskRows(Rows):
    """Rows whose blocks are parts of a Dask collection.

    Parameters
    ----------
    X : Parts
        Inputs, targets and the weights that were given.
    T : Absent
        The place of the targets.
    a : list of references to arrays
        The weights of the rows of each part.
    features : Features, optional
        What is made of the inputs.
    """

    def fetched(self) -> Rows:
        """Return all rows that count in memory, where they are as few as a sample."""
        H, T, a = replace(self, features=None).block(slice(None))
        H = H.astype(self.X.dtype, copy=False)
        return Rows(H[a > 0], T[a > 0], a[a > 0], self.features)

    @property
    def _parts_of(self) -> Parts:
        parts: Parts = self.X
        return parts

    @property
    def _centre(self) -> Array:
        targets: Any = self.T
        centre: Array = targets.centre
        return centre

    @cached_property
    def _weights(self) -> tuple[float, int]:
        sums = self._parts_of.engine.fetch(self._parts_of.engine.map(tasks.weight, list(self.a)))
        return float(sum(weight for weight, _ in sums)), sum(count for _, count in sums)

    @cached_property
    def n(self) -> float:
        return self._weights[0]

    @cached_property
    def n_counted(self) -> int:
        return self._weights[1]

    def total(self, term: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        work = partial(tasks.total, term, rows_per_block(self.n_features))
        references = self._map(work)
        return tuple(self._parts_of.engine.fetch([chained(self._parts_of.engine, references)])[0])

    def column(
        self,
        value: Callable[[Block], npt.NDArray[Any]],  # noqa: ARG002 - refused
        width: int | None = None,  # noqa: ARG002 - refused
    ) -> npt.NDArray[Any]:
        _refuse()

    def blocks(self) -> NoReturn:
        _refuse()

    def whole(self) -> NoReturn:
        _refuse()

    def stored(self, dtype: npt.DTypeLike = np.float64) -> Self:  # noqa: ARG002 - kept as they are
        return self

    def block(self, where: slice | Index) -> Block:
        """Return some rows, brought to the client."""
        if isinstance(where, slice):
            where = np.arange(*where.indices(len(self)))
        parts = self._parts_of
        number = np.searchsorted(parts.starts, where, side="right") - 1
        hit = np.unique(number)
        inside = [where[number == i] - parts.starts[i] for i in hit]
        fetched = parts.engine.fetch(
            parts.engine.map(
                tasks.some,
                [parts.references[i] for i in hit],
                [self.a[i] for i in hit],
                [parts.checksums[i] for i in hit],
                inside,
            )
        )
        order = np.argsort(np.concatenate([np.flatnonzero(number == i) for i in hit]))
        X, T, a = (np.concatenate(values)[order] for values in zip(*fetched, strict=True))
        if self.features is not None:
            X = self.features(X)
        return Block(np.asarray(X, dtype=np.float64), T - self._centre, a)

    def at(self, positions: Array) -> Index:
        found = select(self._parts_of.engine, self._ordered, positions)
        return np.asarray(found[:, -1], dtype=np.intp)

    def quantile(self, value: Callable[[Block], Array], q: float) -> float:
        """Return the q-quantile of a value of the rows, each as often as it counts."""
        keys = self._map(partial(tasks.ordered_by, value))
        # Below the rank as `quantile` has it, but for rounding of q n.
        position = max(np.ceil(q * self.n) - 0.5, 0.5) / self.n
        return float(select(self._parts_of.engine, keys, np.array([position]))[0, 0])

    def without(self, rule: Callable[[Block], Array]) -> Self:
        weights: Any = self._map(partial(tasks.without, rule, rows_per_block(self.n_features)))
        return replace(self, a=weights, dropped=(*self.dropped, rule))

    def mapped(self, value: Callable[[Block], Array]) -> "DaskRows":
        parts = self._parts_of
        made = self._map(partial(tasks.mapped, value, rows_per_block(self.n_features)))
        width = int(value(self.block(slice(0, 1))).shape[1])
        summaries = [summary._replace(checksum=0, single=False) for summary in parts.summaries]
        moved = Parts(parts.engine, made, summaries, width)
        return DaskRows(moved, self.T, self.a)

    @cached_property
    def _ordered(self) -> list[Any]:
        parts = self._parts_of
        starts = [int(start) for start in parts.starts[:-1]]
        work = partial(tasks.in_order, self._centre)
        return parts.engine.map(work, parts.references, list(self.a), starts)

    def _map(self, work: Callable[..., Any]) -> list[Any]:
        """Return references to what ``work`` makes of each part."""
        parts = self._parts_of
        count = len(parts.references)
        # Once on the wire for each worker, not once for each task.
        view = tasks.View(self.features, self._centre)
        views = parts.engine.map(partial(tasks.same, view), [0]) * count
        return parts.engine.map(work, parts.references, list(self.a), parts.checksums, views)
