"""Rows of Dask collections: sums, samples and columns are made where the rows are.

Each pass is one task per part, which receives θ and returns the sums over its blocks. The sums are
added in the order of the parts, so that the digits do not depend on which worker computed what. The
client has samples and sums only, and no array with one entry per row.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Index
from kmpe.rows import tasks
from kmpe.rows.checks import negligible
from kmpe.rows.cluster import Engine
from kmpe.rows.elsewhere import RowsElsewhere, refuse
from kmpe.rows.parts import Parts, Targets, open_parts
from kmpe.rows.selection import are_tied, chained, merged, select
from kmpe.rows.source import Block, Rows

__all__ = ["Absent", "DaskRows", "open_rows"]


def open_rows(
    engine: Engine, X: Any, y: Any, sample_weight: Any, targets: Targets
) -> tuple["DaskRows", float]:
    """Return the rows of Dask collections with weights as numbers of repeats, and their unit."""
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
    q = parts.summaries[0].targets
    T: Any = Absent(parts.shape[0], q, np.zeros(q))
    counts: Any = Weights(weights)
    return DaskRows(parts, T, counts), unit


class Weights(list[Any]):
    """References to the weights of the rows of each part, and their sums when these are known."""

    sums: tuple[float, int] | None = None


@dataclass(frozen=True)
class Absent:
    """A placeholder for targets that are on the workers.

    Parameters
    ----------
    n, width : int
        Their shape.
    centre : array of shape (width,)
        The centre that is subtracted from them.
    size : float
        The size that they are then divided by, as in `scaled_targets`.
    kept : list of references to arrays, optional
        The targets of each part, if they are not those in the parts.
    """

    n: int
    width: int
    centre: Array
    size: float = 1.0
    kept: list[Any] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and targets."""
        return self.n, self.width

    def __sub__(self, centre: Array) -> "Absent":
        return replace(self, centre=self.centre + centre)

    def __len__(self) -> int:
        return self.n

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Refuse, as nothing is converted silently."""
        refuse()


@dataclass(frozen=True)
class DaskRows(RowsElsewhere):
    """Rows whose blocks are parts of a Dask collection.

    Parameters
    ----------
    X : Parts
        Inputs, targets and the weights that were given.
    T : Absent
        The place of the targets.
    a : Weights
        References to the weights of the rows of each part.
    features : Features, optional
        What is made of the inputs.
    """

    @classmethod
    def bare(cls, parts: Parts, a: Any) -> "DaskRows":
        """Return the rows of parts without targets."""
        T: Any = Absent(parts.shape[0], 0, np.zeros(0))
        return cls(parts, T, a)

    @property
    def largest_target(self) -> float:
        return max(summary.largest for summary in self._parts_of.summaries)

    def fetched(self) -> Rows:
        H, T, a = replace(self, features=None).block(slice(None))
        return Rows(H.astype(self.X.dtype, copy=False), T, a, self.features)

    @property
    def _parts_of(self) -> Parts:
        parts: Parts = self.X
        return parts

    @property
    def _absent(self) -> Absent:
        targets: Any = self.T
        absent: Absent = targets
        return absent

    @property
    def _view(self) -> tasks.View:
        return tasks.View(self.features, self._absent.centre, self._absent.size)

    @property
    def _kept(self) -> list[Any]:
        kept = self._absent.kept
        return [None] * len(self._parts_of.references) if kept is None else kept

    @property
    def _weights(self) -> tuple[float, int]:
        weights: Any = self.a
        if weights.sums is None:
            engine = self._parts_of.engine
            sums = engine.fetch(engine.map(tasks.weight, list(weights)))
            weights.sums = float(sum(w for w, _ in sums)), sum(count for _, count in sums)
        found: tuple[float, int] = weights.sums
        return found

    @cached_property
    def n(self) -> float:
        return self._weights[0]

    @cached_property
    def n_counted(self) -> int:
        return self._weights[1]

    def total(self, term: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        work = partial(tasks.total, term, self.per_block)
        references = self._map(work)
        return tuple(self._parts_of.engine.fetch([chained(self._parts_of.engine, references)])[0])

    def stored(self, dtype: npt.DTypeLike = np.float64) -> Self:  # noqa: ARG002 - kept as they are
        return self

    def block(self, where: slice | Index) -> Block:
        """Return some rows, fetched to the client."""
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
                [self._kept[i] for i in hit],
                inside,
            )
        )
        order = np.argsort(np.concatenate([np.flatnonzero(number == i) for i in hit]))
        X, T, a = (np.concatenate(values)[order] for values in zip(*fetched, strict=True))
        if self.features is not None:
            X = self.features(X)
        return Block(np.asarray(X, dtype=np.float64), self._view.targets(T), a)

    def at(self, positions: Array) -> Index:
        engine = self._parts_of.engine
        if self.n_targets:
            found = select(engine, self._by_target, positions)
            if not are_tied(engine, self._by_target, found[:, 0]):
                return np.asarray(found[:, -1], dtype=np.intp)
        # The order of equal targets is by their features, which takes a pass.
        found = select(engine, self._ordered, positions)
        return np.asarray(found[:, -1], dtype=np.intp)

    def ranked(self, value: Callable[[Block], Array], ranks: Array) -> Array:
        keys = self._map(partial(tasks.ordered_by, value, self.per_block))
        return select(self._parts_of.engine, keys, ranks / self.n)[:, 0]

    def without(self, rule: Callable[[Block], Array]) -> Self:
        weights: Any = Weights(self._map(partial(tasks.without, rule, self.per_block)))
        return replace(self, a=weights, dropped=(*self.dropped, rule))

    def reweighed(self, value: Callable[[Block], Array]) -> Self:
        weights: Any = Weights(self._map(partial(tasks.reweighed, value, self.per_block)))
        return replace(self, a=weights)

    def per(self, unit: float) -> Self:
        weights: Any = self.a
        if unit != 1:
            weights = Weights(self._parts_of.engine.map(partial(tasks.per, unit), list(self.a)))
        return replace(self, a=weights)

    def centred(self, centre: Array, size: float = 1.0) -> Self:
        targets: Any = replace(self._absent - centre, size=size)
        return replace(self, T=targets)

    def beside(self, value: Callable[[Block], Array], width: int) -> Self:
        kept = self._map(partial(tasks.values, value, self.per_block))
        targets: Any = Absent(len(self), width, np.zeros(width), kept=kept)
        return replace(self, T=targets)

    def mapped(self, value: Callable[[Block], Array]) -> "DaskRows":
        parts = self._parts_of
        made = self._map(partial(tasks.mapped, value, self.per_block))
        width = int(value(self.block(slice(0, 1))).shape[1])
        summaries = [summary._replace(checksum=0, single=False) for summary in parts.summaries]
        moved = Parts(parts.engine, made, summaries, width, parts.sizes)
        return DaskRows(moved, self.T, self.a, most=self.per_block)

    @cached_property
    def _by_target(self) -> list[Any]:
        return self._merged(tasks.by_target, 2)

    @cached_property
    def _ordered(self) -> list[Any]:
        return self._merged(partial(tasks.in_order, self.per_block), self.n_targets + 2)

    def _merged(self, order: Callable[..., Any], width: int) -> list[Any]:
        parts = self._parts_of
        starts = [int(start) for start in parts.starts]
        ordered = self._map(order, starts[:-1])
        return merged(parts.engine, ordered, np.diff(starts).tolist(), width)

    def _map(self, work: Callable[..., Any], *others: list[Any]) -> list[Any]:
        """Return references to the results of ``work`` for each part."""
        parts = self._parts_of
        # Sent once to each worker, not once with each task.
        views = parts.engine.map(partial(tasks.same, self._view), [0]) * len(parts.references)
        held = parts.references, list(self.a), parts.checksums, views, self._kept
        return parts.engine.map(work, *others, *held)
