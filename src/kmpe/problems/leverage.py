"""Inverse Gram matrices, and leverages: the diagonal of the hat matrix."""

import numpy as np
from scipy import linalg

from kmpe.arrays import SINGULAR, Array

__all__ = ["projected", "root_of_inverse", "whitening"]


def root_of_inverse(gram: Array) -> Array:
    """Return V with VVᵀ the pseudo-inverse of a Gram matrix, so that hᵢVVᵀhᵢᵀ is a leverage.

    With more than 64 columns it is a random projection, whose leverages are estimates.
    """
    return projected(whitening(gram))


def projected(V: Array, most: int = 64) -> Array:
    """Return a random projection onto ``most`` columns that nearly preserves the norms of rows.

    Johnson and Lindenstrauss (1984). It projects the symmetric root (VVᵀ)^½, as rounding may rotate
    the columns of V. With 64 columns the relative standard error of a leverage is √(2 / 64), a
    fifth.
    """
    if V.shape[1] > most:
        U, lengths, _ = linalg.svd(V, full_matrices=False, check_finite=False)
        rng = np.random.default_rng(len(U))
        G = rng.standard_normal((len(U), most)) / np.sqrt(most)
        V = (U * lengths) @ (U.T @ G)
    return V


def whitening(gram: Array) -> Array:
    """Return V with VVᵀ the pseudo-inverse of a Gram matrix, one column for each dimension."""
    if not np.isfinite(gram).all():
        return np.full_like(gram, np.nan)
    size = np.sqrt(np.maximum(np.diagonal(gram), 0.0))
    size = np.where(size > 0, size, 1.0)
    values, vectors = linalg.eigh(gram / size / size[:, None], check_finite=False)
    kept = values > max(values[-1], 0.0) * SINGULAR
    return np.asarray(vectors[:, kept] / np.sqrt(values[kept]) / size[:, None])
