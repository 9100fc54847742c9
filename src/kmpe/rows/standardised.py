"""Standardised inputs with a column of ones, and the map back to the user's coefficients."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kmpe.arrays import ROUNDING, Array, Index, Mask
from kmpe.foreign import asarray
from kmpe.rows.checks import LARGEST
from kmpe.rows.source import GLANCE, Block, Rows, is_sparse

__all__ = ["Standardised"]


# Σx² - n mean² below this share of Σx² has lost half of its digits.
_CANCELLED = 1e-8
# Numbers that one call of an inner loop of NumPy takes: two of them and the result are in the first
# cache.
_AT_ONCE = 4096


@dataclass(frozen=True)
class Standardised:
    """The feature map (x - mean) / size, with a last column of ones for an intercept.

    Sparse inputs keep their zeros: their mean is 0 here. ``varies`` marks the columns that are not
    constant.
    """

    mean: Array
    size: Array
    varies: Mask
    intercept: bool

    @classmethod
    def of(cls, rows: Rows, *, intercept: bool) -> "Standardised":
        """Return the map by weighted means and root mean squares of the inputs."""
        if is_sparse(rows.X) or not intercept:
            about = np.zeros(rows.n_features)
        else:
            # Sums of squares about a point near the rows do not cancel.
            about = rows.block(slice(0, GLANCE)).H.mean(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            linear, square = (total / rows.n for total in rows.total(_Moments(about)))
        if not np.isfinite(square).all():
            raise ValueError("X has values too large to square: rescale X")
        _check_size(rows, about, square)
        if is_sparse(rows.X) or not intercept:
            mean, size = about, np.sqrt(square)
        else:
            mean, variance = about + linear, square - linear**2
            if np.any(variance < _CANCELLED * linear**2):
                # The first rows are far from the mean: sums about the mean are needed.
                linear, square = (total / rows.n for total in rows.total(_Moments(mean)))
                mean, variance = mean + linear, square - linear**2
            size = np.sqrt(np.maximum(variance, 0.0))
        varies = size > ROUNDING * np.abs(mean)
        # What is left of a constant less its mean, which rounding may make, is then rounding.
        constant = np.where(mean == 0, 1.0, np.abs(mean))
        return cls(mean, np.where(varies, size, constant), varies, intercept)

    @property
    def n_features(self) -> int:
        """The number of inputs, and one for the intercept."""
        return len(self.size) + self.intercept

    @property
    def constant(self) -> Index:
        """The features that are the same number in all rows."""
        return np.flatnonzero(np.append(~self.varies, [True] * self.intercept))

    def __call__(self, X: Any, out: Array | None = None) -> Any:
        """Return the features of the rows of X, dense or sparse; dense ones in ``out``."""
        d = len(self.size)
        if is_sparse(X):
            scaled = X @ sparse.diags_array(1 / self.size)
            ones = sparse.csr_array(np.ones((X.shape[0], 1)))
            return sparse.csr_array(sparse.hstack([scaled, ones]) if self.intercept else scaled)
        H: Any = out
        if out is None:
            H = np.empty_like(X, dtype=np.float64, shape=(len(X), self.n_features))
        H[:, d:] = 1
        inputs = H[:, :d]
        rows = max(1, _AT_ONCE // H.shape[1])
        if len(H) < 2 * rows or not isinstance(H, np.ndarray) or not H.flags.c_contiguous:
            np.subtract(X, self.mean, out=inputs)
            inputs /= self.size
            return H
        # The same for several rows at once, as one row of NumPy takes longer than its arithmetic:
        # 12 ms instead of 19 for 160 000 rows of 100 columns.
        inputs[:] = X
        whole = len(H) - len(H) % rows
        for part, count in ((H[:whole].reshape(-1, rows * H.shape[1]), rows), (H[whole:], 1)):
            part -= np.tile(np.append(self.mean, [0.0] * self.intercept), count)
            part /= np.tile(np.append(self.size, [1.0] * self.intercept), count)
        return H

    @property
    def back(self) -> Array:
        """The matrix from these coefficients to the user's: β = γ / size, b = c - mean β."""
        d = len(self.size)
        back = np.diag(np.append(1 / self.size, [1.0] * self.intercept))
        # A constant column has the slope 0 and does not enter the intercept.
        back[d:, :d] = -self.mean / self.size * self.varies
        return back

    def penalties(self, alpha: float) -> Array:
        """Return the penalty α of the user's slopes in these coordinates, 0 for the intercept."""
        return np.append(alpha / self.size**2, [0.0] * self.intercept)


def _check_size(rows: Rows, about: Array, square: Array) -> None:
    """Refuse columns that seem constant only because the squares of their deviations underflow."""
    doubtful = square < 1 / LARGEST**2
    if not doubtful.any():
        return
    with np.errstate(over="ignore", invalid="ignore"):
        enlarged = rows.total(_Moments(about, LARGEST))[1] / rows.n
        tiny = doubtful & (np.sqrt(enlarged) > ROUNDING * LARGEST * np.abs(about))
    if tiny.any():
        raise ValueError(
            f"column {int(np.argmax(tiny))} of X has values too small to square: rescale it"
        )


@dataclass(frozen=True)
class _Moments:
    """Weighted sums, and sums of squares, of the inputs about a point, enlarged by a factor."""

    about: Array
    factor: float = 1.0

    def __call__(self, block: Block) -> tuple[Array, Array]:
        if is_sparse(block.H):
            Y = block.H if self.factor == 1 else self.factor * block.H
            squares = Y.multiply(Y)
        else:
            Y = block.H - self.about
            Y = Y if self.factor == 1 else self.factor * Y
            squares = None
        linear = asarray(block.a @ Y).reshape(-1)
        if squares is None:
            Y *= Y  # in place: workers of Dask would fetch new memory from the system
            squares = Y
        return linear, asarray(block.a @ squares).reshape(-1)
