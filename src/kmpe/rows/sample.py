"""Samples of the rows that can stand for all of them: one way to draw, one seed.

Rows are put into an order of their own (`Rows.order`), by their targets and then by a fixed mixture
of their features, and drawn by cumulative weight, one from each of equal strata. So permuting the
rows changes nothing, a row of weight 2 is two equal rows, only ratios of weights matter, and a
sample has the distribution of the targets (stratified sampling; Cochran 1977, chapter 5).
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Index
from kmpe.rows.source import GLANCE, Block, Rows, is_sparse

__all__ = ["GROWTH", "SEED", "Samples", "draw", "draw_rows", "strata"]

SEED = 20160924
#: A sample that is too small is followed by one that is so many times larger.
GROWTH = 4


def draw(rows: Rows, size: int, seed: int = 0) -> Rows:
    """Return ``size`` rows that stand for all of them, in memory; all rows if there are no more.

    A row that is drawn more than once has that number as its weight. The weights of a sample add
    up to those of all rows.
    """
    if rows.n_counted <= size:
        return rows
    chosen, repeats = draw_rows(rows, size, seed)
    return rows.take(chosen, repeats * (rows.n / size))


def draw_rows(rows: Rows, size: int, seed: int = 0) -> tuple[Index, Array]:
    """Return the numbers of the rows that are drawn, rising, and how often each is."""
    chosen, counts = np.unique(rows.at(strata(size, seed)), return_counts=True)
    return chosen, counts.astype(np.float64)


def strata(size: int, seed: int = 0) -> Array:
    """Return a random number in each of ``size`` equal strata of [0, 1)."""
    rng = np.random.default_rng([SEED, seed])
    return np.asarray((np.arange(size) + rng.uniform(size=size)) / size)


@dataclass(frozen=True)
class Samples:
    """Samples of rows, grown until they miss no feature."""

    rows: Rows

    def draw(self, size: int, least: float = 0.3) -> Rows:
        """Draw ``size`` rows, or more if a feature is missing from these, or all of them.

        A sample misses a feature when it has less than the share ``least`` of its sum of squares: a
        column that is zero but for a few rows, such as a rare category. The rows that have it would
        look like outliers to a fit of the sample.
        """
        seed = size
        while size <= self.rows.n_counted // 2:
            sample = draw(self.rows, size, seed)
            energy = _Energy(_rare(sample))
            if len(energy.columns) == 0:
                return sample
            if np.all(sample.total(energy)[0] >= least * self.rows.total(energy)[0]):
                return sample
            size *= GROWTH
        return self.rows


def _rare(sample: Rows, few: int = 20) -> Index:
    """Return the features that have one value on nearly all rows of the sample.

    A column with so many different values as ``few`` is not a rare one; only for others is it worth
    a pass over all rows to know. Nearly every column shows as many in 512 rows.
    """
    if is_sparse(sample.X):
        return np.flatnonzero(np.diff(sample.X.tocsc().indptr) < few)
    H = sample.X
    doubtful = np.flatnonzero(_changes(H[:: max(1, len(H) // GLANCE)]) < few)
    return np.asarray(doubtful[_changes(H[:, doubtful]) < few])


def _changes(H: Array) -> npt.NDArray[np.intp]:
    """Return how many rows of each feature differ from one of them."""
    # A rare value is hardly that of both rows.
    one, other = (np.count_nonzero(row != H, axis=0) for row in (H[0], H[len(H) // 2]))
    return np.asarray(np.minimum(one, other))


@dataclass(frozen=True)
class _Energy:
    """The weighted sums of squares of some features."""

    columns: Index

    def __call__(self, block: Block) -> tuple[Array]:
        H = block.H[:, self.columns]
        squares = H.multiply(H) if is_sparse(H) else np.square(H)
        return (np.asarray(block.a @ squares).ravel(),)
