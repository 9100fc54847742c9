"""The Cholesky factor of a positive definite matrix, scaled to a diagonal of ones."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import lapack

from kmpe.arrays import Array
from kmpe.rows.checks import LARGEST

__all__ = ["Factor"]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Factor:
    """B = D (UᵀU - jitter I) D with D the roots of B's diagonal."""

    upper: Array
    size: Array
    jitter: float

    @classmethod
    def of(cls, B: Array) -> "Factor":
        """Factor B, positive definite up to rounding.

        Scaled to a diagonal of ones, the condition number of B is within a factor of its order of
        the best over all diagonal scalings (van der Sluis 1969). If the factorisation fails, a
        multiple of the identity is added, ten times larger each time: the step gets shorter and
        remains a descent direction.
        """
        # Diagonal entries that underflowed have no digits.
        size = np.sqrt(np.maximum(np.diagonal(B), 0.0))
        size = np.where(size > 1 / LARGEST, size, 1.0)
        scaled = B / size / size[:, None]
        # LAPACK directly: for a few columns SciPy's wrapper doubles the time.
        upper, info = lapack.dpotrf(scaled)
        jitter = 0.0
        while info:
            jitter = max(10 * jitter, _EPS * len(B))
            upper, info = lapack.dpotrf(scaled + jitter * np.eye(len(B)))
        return cls(upper, size, jitter)

    def solve(self, g: Array) -> Array:
        """Return B⁻¹g, g of shape (k, q)."""
        scaled = g / self.size[:, None]
        solution, _ = lapack.dpotrs(self.upper, scaled)
        return np.asarray(solution / self.size[:, None])

    def root_of_inverse(self) -> Array:
        """Return V with VVᵀ = B⁻¹."""
        V, _ = lapack.dtrtri(self.upper)
        return np.asarray(np.triu(V) / self.size[:, None])

    @property
    def sharp(self) -> bool:
        """Whether B is far enough from singular for an accurate solution."""
        diagonal = np.abs(np.diagonal(self.upper))
        # At a condition number of 1e12 a Cholesky solution still has four digits.
        return self.jitter == 0 and bool(diagonal.min() > 1e-6 * diagonal.max())
