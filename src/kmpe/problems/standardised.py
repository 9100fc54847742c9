"""Linear problems on standardised inputs, and the way back to the user's."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from kmpe.arrays import Array
from kmpe.problems.linear import Linear, is_sparse
from kmpe.rows import passes

__all__ = ["Standard"]

# A column whose values differ by less than this share of them has no size of its own.
_CONSTANT = 1e-12
_BLOCK_ROWS = 4096


@dataclass(frozen=True)
class Standard:
    """A problem in the inputs (x - mean) / size, with a column of ones for an intercept.

    The penalty stays on the user's slopes. Sparse inputs keep their zeros: their mean is 0 here.
    """

    problem: Linear
    mean: Array
    size: Array

    @classmethod
    def of(cls, X: Any, T: Array, a: Array, alpha: float, *, intercept: bool) -> "Standard":
        """Return the problem of inputs X, targets T and sample weights a."""
        n, d = float(a.sum()), X.shape[1]
        if is_sparse(X):
            mean = np.zeros(d)
            size = _size(np.asarray(a @ X.multiply(X)).ravel() / n, mean)
            H = X @ sparse.diags_array(1 / size)
            ones = sparse.csr_array(np.ones((len(T), 1)))
            H = sparse.csr_array(sparse.hstack([H, ones]) if intercept else H)
        else:
            mean = np.asarray(a @ X / n) if intercept else np.zeros(d)
            H = np.empty((len(T), d + intercept))
            H[:, d:] = 1
            parts = passes.slices(len(T), _BLOCK_ROWS)

            def centre(where: slice) -> tuple[Array]:
                columns = np.subtract(X[where], mean, out=H[where, :d])
                return (np.einsum("i,ij,ij->j", a[where], columns, columns),)

            size = _size(passes.total(parts, centre)[0] / n, mean)

            def scale(where: slice) -> None:
                H[where, :d] /= size

            passes.each(parts, scale)
        penalties = np.append(alpha / size**2, [0.0] * intercept)
        return cls(Linear(H, T, a, penalties), mean, size)

    @property
    def back(self) -> Array:
        """The matrix from these coefficients to the user's: β = γ / size, b = c - mean β."""
        d, k = len(self.size), self.problem.H.shape[1]
        back = np.diag(np.append(1 / self.size, [1.0] * (k - d)))
        back[d:, :d] = -self.mean / self.size
        return back


def _size(square: Array, mean: Array) -> Array:
    size = np.sqrt(square)
    return np.where(size > _CONSTANT * np.abs(mean), size, 1.0)
