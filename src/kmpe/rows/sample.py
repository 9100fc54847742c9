"""Samples of the rows: stratified by the targets (Cochran 1977, chapter 5), one seed.

Rows are sorted (`Rows.order`) by their targets and then by a fixed linear combination of their
features, and drawn by cumulative weight, one from each of equal strata. So permuting the rows
changes nothing, a row of weight 2 equals two rows, only ratios of weights matter, and the sample
has the distribution of the targets.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Index
from kmpe.foreign import asarray
from kmpe.rows.source import GLANCE, Block, Rows, is_sparse
from kmpe.rows.standardised import Standardised

__all__ = ["GROWTH", "SEED", "Samples", "draw", "draw_rows", "strata"]

SEED = 20160924  # any number would do; fixed, so that a fit is the same every time
#: The factor by which a sample that is too small is enlarged.
GROWTH = 4


def draw(rows: Rows, size: int, seed: int = 0) -> Rows:
    """Return a sample of ``size`` rows in memory, or all rows if there are no more.

    A row that is drawn several times has that number as its weight. The weights of the sample are
    scaled to the sum of those of all rows.
    """
    if rows.n_counted <= size:
        return rows
    chosen, repeats = draw_rows(rows, size, seed)
    return rows.take(chosen, repeats * (rows.n / size))


def draw_rows(rows: Rows, size: int, seed: int = 0) -> tuple[Index, Array]:
    """Return the indices of the rows that are drawn, increasing, and how often each is."""
    chosen, counts = np.unique(rows.at(strata(size, seed)), return_counts=True)
    return chosen, counts.astype(np.float64)


def strata(size: int, seed: int = 0) -> Array:
    """Return a random number in each of ``size`` equal strata of [0, 1)."""
    rng = np.random.default_rng([SEED, seed])
    return np.asarray((np.arange(size) + rng.uniform(size=size)) / size)


@dataclass(frozen=True)
class Samples:
    """Samples of rows, enlarged until every feature is represented."""

    rows: Rows

    def draw(self, size: int, least: float = 0.3) -> Rows:
        """Draw ``size`` rows, or more if these do not represent a feature, or all of them.

        A feature is not represented if its mean square in the sample is less than ``least`` times
        that of all rows: a column that is zero except in a few rows, such as a rare category. A fit
        to the sample would take those rows for outliers.
        """
        seed = size
        while size <= self.rows.n_counted // 2:
            sample = draw(self.rows, size, seed)
            energy = _Energy(np.setdiff1d(_rare(sample), self._constant))
            if len(energy.columns) == 0:
                return sample
            if np.all(sample.total(energy)[0] >= least * self.rows.total(energy)[0]):
                return sample
            size *= GROWTH
        return self.rows

    @property
    def _constant(self) -> Index:
        """The features that are known to be constant, which every sample represents."""
        features = self.rows.features
        return features.constant if isinstance(features, Standardised) else np.arange(0)


def _rare(sample: Rows, few: int = 20) -> Index:
    """Return the features that are constant on all but ``few`` rows of a small sample.

    Only for these is a pass over all rows needed.
    """
    if is_sparse(sample.X):
        return np.flatnonzero(np.diff(sample.X.tocsc().indptr) < few)
    H = sample.X
    doubtful = np.flatnonzero(_changes(H[:: max(1, len(H) // GLANCE)]) < few)
    return np.asarray(doubtful[_changes(H[:, doubtful]) < few])


def _changes(H: Array) -> npt.NDArray[np.intp]:
    """Return for each feature how many rows differ from a common value."""
    # Two rows are compared with: both hardly have the rare value.
    one, other = (np.count_nonzero(row != H, axis=0) for row in (H[0], H[len(H) // 2]))
    return np.asarray(np.minimum(one, other))


@dataclass(frozen=True)
class _Energy:
    """The weighted sums of squares of some features."""

    columns: Index

    def __call__(self, block: Block) -> tuple[Array]:
        H = block.H[:, self.columns]
        squares = H.multiply(H) if is_sparse(H) else np.square(H)
        return (asarray(block.a @ squares).reshape(-1),)
