"""The Cholesky factor of a positive definite matrix whose rows and columns are scaled to 1."""

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

        Scaled to a diagonal of ones, B is next to the best conditioned of all its scalings (van
        der Sluis 1969). A multiple of the identity is added when Cholesky finds it singular,
        tenfold until it does not: a step gets shorter and stays a descent.
        """
        # What is left of squares that vanish has no digits.
        size = np.sqrt(np.maximum(np.diagonal(B), 0.0))
        size = np.where(size > 1 / LARGEST, size, 1.0)
        scaled = B / size / size[:, None]
        # LAPACK itself: around it SciPy would take as long again for a few columns.
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
        """Whether B is so far from singular that its rounding does no harm."""
        diagonal = np.abs(np.diagonal(self.upper))
        # Cholesky of a matrix of condition 1e12 still has four digits.
        return self.jitter == 0 and bool(diagonal.min() > 1e-6 * diagonal.max())
