"""Rows of an array of another library: passes run in that library, on the device of the array.

A block is some rows as `Foreign` arrays, so that terms, feature maps and losses are the same as in
memory. Sums are added on the device and then brought to NumPy; so are the rows of a sample.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Index
from kmpe.foreign import Foreign, Library
from kmpe.rows.elsewhere import RowsElsewhere
from kmpe.rows.source import Block, Features, Rows, mixed, scaled_targets
from kmpe.rows.threads import team

__all__ = ["DeviceRows", "of_inputs"]


@dataclass(frozen=True)
class DeviceRows(RowsElsewhere):
    """Rows whose inputs, targets and weights are `Foreign` arrays."""

    @classmethod
    def bare(cls, X: Any, a: Any) -> "DeviceRows":
        """Return the rows of inputs without targets."""
        return cls(X, X[:, :0].astype(np.float64), a)

    @property
    def _library(self) -> Library:
        library: Library = self.X.library
        return library

    @cached_property
    def n(self) -> float:
        return float(self.a.sum())

    @cached_property
    def n_counted(self) -> int:
        return int(float((self.a > 0).sum()))

    @cached_property
    def largest_target(self) -> float:
        return float(np.abs(self.T).max())

    @cached_property
    def _slices(self) -> list[slice]:
        return [where for part in self._parts for where in part]

    def _on_device(self, where: slice) -> Block:
        """Return some rows where they are; as in memory, in double precision."""
        H = self.X[where]
        if self.features is not None:
            H = self.features(H)
        return Block(H.astype(np.float64, copy=False), self.T[where], self.a[where])

    def block(self, where: slice | Index) -> Block:
        """Return some rows, brought to NumPy."""
        X, T, a = (values[where].to_numpy() for values in _foreign(self.X, self.T, self.a))
        H = X if self.features is None else self.features(X)
        return Block(np.asarray(H, dtype=np.float64), T, a)

    def fetched(self) -> Rows:
        X, T, a = (values.to_numpy() for values in _foreign(self.X, self.T, self.a))
        return Rows(X, T, a, self.features)

    def total(self, term: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        sums: list[Any] = []
        for found in self._each(lambda where: term(self._on_device(where))):
            sums = [*found] if not sums else [s + f for s, f in zip(sums, found, strict=True)]
        return tuple(_in_numpy(value) for value in sums)

    def _each(self, work: Callable[[slice], Any]) -> list[Any]:
        """Return the result of ``work`` for each block, in their order; on the CPU by threads.

        Two threads that take a block each are faster than PyTorch's own two on one block, most of
        whose operations are too small for them: a pass of 20 ms takes 15 ms.
        """
        if not self._library.on_cpu:
            return [work(where) for where in self._slices]
        with team() as workers:
            return list(workers.map(work, self._slices, limited=True))

    def values(self, value: Callable[[Block], npt.NDArray[Any]]) -> Any:
        """Return a value of every row, as a `Foreign` array."""
        found = self._each(lambda where: value(self._on_device(where)))
        return found[0] if len(found) == 1 else np.concatenate(found)

    def stored(self, dtype: npt.DTypeLike = np.float64) -> Self:
        features = self.features
        if features is None:
            return self
        kept: Any = np.empty_like(self.X, dtype=dtype, shape=(len(self), self.n_features))

        def keep(where: slice) -> None:
            kept[where] = features(self.X[where])

        self._each(keep)
        return replace(self, X=kept, features=None)

    def ranked(self, value: Callable[[Block], Array], ranks: Array) -> Array:
        found = self.values(value)
        shared, a = found.shared(), _foreign(self.a)[0].shared()
        if shared is not None and a is not None:
            # NumPy sorts in a tenth of the time that PyTorch takes on the CPU.
            order = np.argsort(shared)
            at = np.cumsum(a[order]).searchsorted(ranks, side="right")
            return np.asarray(shared[order[np.minimum(at, len(self) - 1)]])
        s, xp = found.values, self._library.xp
        order = xp.argsort(s)
        reached = xp.cumulative_sum(_foreign(self.a)[0].values[order])
        places = xp.searchsorted(reached, self._library.array(ranks), side="right")
        places = xp.clip(places, 0, len(self) - 1)
        return _in_numpy(Foreign(s[order[places]], self._library))

    @cached_property
    def order(self) -> Index:
        found: npt.NDArray[np.intp] = self._order.to_numpy()
        return found

    @cached_property
    def _order(self) -> Foreign:
        """The order of `Rows.order`, on the device."""
        T, a = (value.shared() for value in _foreign(self.T, self.a))
        if T is None or a is None:
            return self._order_on_device()
        # In the memory that it shares, NumPy sorts in a fifth of the time that PyTorch takes.
        counted = np.flatnonzero(a)
        keys = list(T[counted].T)
        if keys and not _ties(order := np.argsort(keys[-1]), keys[-1]):
            return self._library.foreign(counted[order])
        keys = [self.values(mixed).shared()[counted], *keys]
        order = np.argsort(keys[0])
        if _ties(order, keys[0]):
            order = np.argsort(keys[0], kind="stable")
        for key in keys[1:]:
            order = order[np.argsort(key[order], kind="stable")]
        return self._library.foreign(counted[order])

    def _order_on_device(self) -> Foreign:
        xp = self._library.xp
        T, a = (value.values for value in _foreign(self.T, self.a))
        counted = xp.nonzero(a > 0)[0]
        keys = [T[:, j][counted] for j in range(self.n_targets)]
        order = xp.argsort(keys[-1], stable=True) if keys else None
        if order is None or bool(xp.any(_changes(keys[-1][order]) == 0)):
            keys = [self.values(mixed).values[counted], *keys]
            order = xp.argsort(keys[0], stable=True)
            for key in keys[1:]:
                order = order[xp.argsort(key[order], stable=True)]
        return Foreign(counted[order], self._library)

    @cached_property
    def _reached(self) -> Any:
        """The cumulative weights in that order, on the device."""
        return self._library.xp.cumulative_sum(_foreign(self.a)[0].values[self._order.values])

    def at(self, positions: Array) -> Index:
        xp, order = self._library.xp, self._order.values
        places = self._library.array(positions * float(self._reached[-1]))
        at = xp.searchsorted(self._reached, places, side="right")
        at = xp.clip(at, 0, len(self._order) - 1)
        return np.asarray(Foreign(order[at], self._library).to_numpy(), dtype=np.intp)

    def without(self, rule: Callable[[Block], Array]) -> Self:
        return replace(self, a=self.a * (1 - self.values(rule)), dropped=(*self.dropped, rule))

    def reweighed(self, value: Callable[[Block], Array]) -> Self:
        return replace(self, a=self.a * self.values(value))

    def centred(self, centre: Array, size: float = 1.0) -> Self:
        return replace(self, T=scaled_targets(self.T - centre, size))

    def beside(self, value: Callable[[Block], Array], width: int) -> Self:
        return replace(self, T=self.values(value).reshape(len(self), width))

    def mapped(self, value: Callable[[Block], Array]) -> "DeviceRows":
        return DeviceRows(self.values(value), self.T, self.a, most=self.per_block)


def of_inputs(
    X: Any, features: Features | None, value: Callable[[Block], Any], width: int
) -> npt.NDArray[Any]:
    """Return a value of every row of inputs alone, such as a prediction, shape (n, width)."""
    if not isinstance(X, Foreign):
        return Rows.inputs(X, features).column(value, width)
    a = X.library.foreign(np.ones(len(X)))
    found: npt.NDArray[Any] = replace(DeviceRows.bare(X, a), features=features).values(value)
    return found


def _foreign(*values: Any) -> list[Foreign]:
    """Return what rows hold, by the types that it has."""
    return list(values)


def _in_numpy(value: Any) -> Array:
    return value.to_numpy() if isinstance(value, Foreign) else np.asarray(value)


def _changes(sorted_keys: Any) -> Any:
    return sorted_keys[1:] - sorted_keys[:-1]


def _ties(order: Index, key: Array) -> bool:
    return bool(np.any(_changes(key[order]) == 0))
