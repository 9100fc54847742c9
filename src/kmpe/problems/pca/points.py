"""Rows of which each counts a number of times, read block by block."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.rows import passes

__all__ = ["Index", "Points"]

Index = npt.NDArray[np.intp]

# A block and a weighted copy of it stay in the cache.
_BLOCK_BYTES = 4 << 20
# Fewer rows at a time would update the products more often than the rows are read.
_LEAST_ROWS = 512
_KEY_COLUMNS = 256
# Data that lie further from zero than this many times their spread are moved to it: products
# with the rows as they stand would lose the digits.
_FAR_FROM_ZERO = 10.0
_N_FOR_OFFSET = 50


@dataclass(frozen=True)
class Points:
    """Rows X, each counted ``a`` times: k times is the same as k equal rows."""

    X: Array
    a: Array

    def __len__(self) -> int:
        return len(self.X)

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @cached_property
    def n(self) -> float:
        """The number of rows as they count."""
        return float(self.a.sum())

    @cached_property
    def n_whole(self) -> int:
        """The same as a whole number; weights that are no counts do not make it smaller."""
        return max(round(self.n), int(np.count_nonzero(self.a)))

    @property
    def most_components(self) -> int:
        """The largest number of components."""
        return min(self.n_whole, self.d)

    @property
    def degrees_of_freedom(self) -> float:
        """What sums of squares are divided by."""
        return self.n - 1 if self.n > 1 else self.n

    @cached_property
    def mean(self) -> Array:
        """The mean of the rows."""
        (total,) = self.total(lambda Y, where: (self.a[where] @ Y,))
        return np.asarray(self.offset + total / self.n)

    @cached_property
    def _middle(self) -> tuple[Array, float]:
        """The medians of some of the rows, and their median distance from them."""
        some = np.asarray(self.X[:: -(-len(self) // _N_FOR_OFFSET)], dtype=np.float64)
        middle = np.median(some, axis=0)
        return middle, float(np.median(np.linalg.norm(some - middle, axis=1)))

    @cached_property
    def offset(self) -> Array:
        """A point near the rows that they are measured from; zero where that costs no digits."""
        middle, spread = self._middle
        near = np.linalg.norm(middle) <= _FAR_FROM_ZERO * spread
        return np.zeros(self.d) if near else middle

    @cached_property
    def squared_norms(self) -> Array:
        """The squared distances of the rows from the offset."""
        norms = np.empty(len(self))

        def fill(Y: Array, where: slice) -> None:
            norms[where] = np.einsum("ij,ij->i", Y, Y)

        self.each(fill)
        return norms

    @property
    def spread(self) -> float:
        """A typical distance of a row from the middle of the rows."""
        return self._middle[1]

    def each(self, work: Callable[[Array, slice], object]) -> None:
        """Call ``work`` on blocks of rows less the offset and where they stand."""
        passes.each(self._parts(), lambda where: work(self._block(where), where))

    def total(self, term: Callable[[Array, slice], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Return the sums of what ``term`` returns for blocks of rows less the offset."""
        return passes.total(self._parts(), lambda where: term(self._block(where), where))

    def _parts(self) -> list[list[slice]]:
        return passes.slices(len(self), max(_LEAST_ROWS, _BLOCK_BYTES // (8 * self.d)))

    def _block(self, where: slice) -> Array:
        Y = np.asarray(self.X[where], dtype=np.float64)
        return Y - self.offset if self.offset.any() else Y

    def some(self, index: Index) -> "Points":
        """Return some of the rows, in double precision."""
        return Points(np.asarray(self.X[index], dtype=np.float64), self.a[index])

    def at(self, positions: Array) -> Index:
        """Return the numbers of the rows at ``positions`` from 0 to 1 in an order of their own.

        The order has nothing to do with that of the rows, and neither have the answers.
        """
        counted = np.flatnonzero(self.a)
        # Row by row in the same order of additions, so that equal rows have equal keys. Some of
        # many columns are enough to tell rows apart.
        rows = self.X[counted, :: -(-self.d // _KEY_COLUMNS)]
        key = (rows * np.random.RandomState(0).standard_normal(rows.shape[1])).sum(axis=1)
        order = counted[np.argsort(key, kind="stable")]
        reached = np.cumsum(self.a[order])
        return np.asarray(order[np.searchsorted(reached, positions * reached[-1])])

    def sample(self, size: int, rng: np.random.RandomState) -> Index:
        """Return the numbers of ``size`` rows drawn by their weight, or of all if that is few."""
        if self.n_whole <= size:
            return self.at((np.arange(self.n_whole) + 0.5) / self.n_whole)
        size = min(size, int(np.count_nonzero(self.a)))
        if self.a.min() == self.a.max():
            # With a few repeats out of many rows: a permutation of all would cost more.
            drawn = rng.randint(len(self), size=size)
            return np.asarray(np.sort(drawn))
        return np.asarray(np.sort(rng.choice(len(self), size, replace=False, p=self.a / self.n)))
