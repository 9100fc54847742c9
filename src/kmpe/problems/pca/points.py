"""Weighted rows, measured from a point near them."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kmpe.arrays import LAST_DIGITS, Array, Index
from kmpe.foreign import asarray
from kmpe.losses.scale import middle
from kmpe.rows.sample import strata
from kmpe.rows.source import GLANCE, Block, Rows

__all__ = ["Mixture", "Points", "Shift", "SquaredNorm", "minus"]


@dataclass(frozen=True)
class Points:
    """Rows X with sample weights ``a``: weight k is the same as k equal rows.

    Parameters
    ----------
    X : array or Reader of shape (n, d)
        The rows.
    a : array of shape (n,)
        Sample weights.
    """

    X: Any
    a: Array

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def d(self) -> int:
        """The number of columns."""
        return int(self.X.shape[1])

    @cached_property
    def rows(self) -> Rows:
        """The rows minus the offset; their squared norms take the place of targets."""
        shift = Shift(self.offset) if self.offset.any() else None
        norms2 = Rows.inputs(self.X).column(SquaredNorm(self.offset), 1)
        return Rows(self.X, norms2, self.a, shift)

    @cached_property
    def order(self) -> Index:
        """The indices of the rows of positive weight, sorted by a combination of their columns.

        It does not depend on the order in which the rows are given.
        """
        counted = np.flatnonzero(self.a)
        v = np.sqrt(np.arange(2.0, self.d + 2.0))
        mixture = Rows.inputs(self.X).column(Mixture(v), 1)[counted, 0]
        return np.asarray(counted[np.argsort(mixture, kind="stable")])

    @cached_property
    def n(self) -> float:
        """The sum of the sample weights."""
        return float(self.a.sum())

    @cached_property
    def n_whole(self) -> int:
        """The number of rows as an integer, at least that of the rows of positive weight."""
        return max(round(self.n), int(np.count_nonzero(self.a)))

    @property
    def most_components(self) -> int:
        """The largest number of components."""
        return min(self.n_whole, self.d)

    @property
    def degrees_of_freedom(self) -> float:
        """The divisor of sums of squares."""
        return self.n - 1 if self.n > 1 else self.n

    @cached_property
    def mean(self) -> Array:
        """The mean of the rows."""
        (total,) = self.rows.total(_sum)
        return np.asarray(self.offset + total / self.n)

    @cached_property
    def _middle(self) -> tuple[Array, float]:
        """The medians of a sample of the rows, and the median distance from them."""
        counted = np.flatnonzero(self.a)
        few = len(counted) <= GLANCE
        some = counted if few else self.at((np.arange(GLANCE) + 0.5) / GLANCE)
        rows = np.asarray(self.X[some], dtype=np.float64)
        return middle_and_spread(rows, self.a[some] if few else None)

    @cached_property
    def offset(self) -> Array:
        """A point near the rows that is subtracted from them; zero if that loses no digits."""
        middle, spread = self._middle
        # Further from zero, products with uncentred rows would cancel.
        near = np.linalg.norm(middle) <= 10 * spread
        return np.zeros(self.d) if near else middle

    @property
    def spread(self) -> float:
        """The median distance of a row from the medians of the columns."""
        return self._middle[1]

    def counted(self, a: Array) -> Self:
        """Return the same rows with other sample weights."""
        return replace(self, a=a)

    def some(self, index: Index) -> "Points":
        """Return a sample of rows, in memory and in double precision, with equal weights."""
        X = np.asarray(self.X[index], dtype=np.float64)
        return Points(X, np.full(len(X), self.n / max(1, len(X))))

    def whole(self) -> Array:
        """Return all rows as one array in double precision."""
        return np.asarray(self.X[:], dtype=np.float64)

    def at(self, positions: Array) -> Index:
        """Return the indices of the rows at quantiles ``positions`` of the weights in `order`."""
        order = self.order
        reached = np.cumsum(self.a[order])
        at = np.searchsorted(reached, positions * reached[-1], side="right")
        return np.asarray(order[np.minimum(at, len(order) - 1)])

    def sample(self, size: int, seed: int) -> Index:
        """Return the indices of ``size`` rows drawn by their weight, or of all if there are few."""
        if self.n_whole <= size:
            return self.at((np.arange(self.n_whole) + 0.5) / self.n_whole)
        return self.at(strata(size, seed))


def minus(Y: Array, centre: Array) -> Array:
    """Return rows less a centre, which rows that are all alike have no deviations from.

    The mean of equal numbers differs from them in its last digits.
    """
    D = Y - centre
    D[np.abs(D) <= LAST_DIGITS * np.abs(centre)] = 0.0
    return np.asarray(D)


@dataclass(frozen=True)
class Shift:
    """The feature map x - offset."""

    offset: Array

    @property
    def n_features(self) -> int:
        """The number of columns."""
        return len(self.offset)

    def __call__(self, X: Any) -> Array:
        """Return the rows minus the offset."""
        return asarray(X - self.offset, dtype=np.float64)


@dataclass(frozen=True)
class Mixture:
    """The product of each row with a vector."""

    v: Array

    def __call__(self, block: Block) -> Array:
        """Return one value for each row."""
        # Not by BLAS: there the order of additions depends on the position of a row.
        return asarray(np.einsum("ij,j->i", block.H, self.v)[:, None])


@dataclass(frozen=True)
class SquaredNorm:
    """The squared norm of each row minus an offset."""

    offset: Array

    def __call__(self, block: Block) -> Array:
        """Return one value for each row."""
        Y = block.H - self.offset if self.offset.any() else block.H
        return asarray(np.einsum("ij,ij->i", Y, Y)[:, None])


def middle_and_spread(rows: Array, a: Array | None = None) -> tuple[Array, float]:
    """Return the medians of the columns of rows, and their median distance from these."""
    centre = np.array([middle(column, a) for column in rows.T])
    return centre, middle(np.linalg.norm(rows - centre, axis=1), a)


def _sum(block: Block) -> tuple[Array]:
    return (block.a @ block.H,)
