"""Leading eigenvectors by block Lanczos iteration, from products of a matrix with vectors."""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from kmpe.arrays import Array

__all__ = ["leading_eigenvectors"]


def leading_eigenvectors(
    apply: Callable[[Array], Array],
    V: Array,
    m: int,
    *,
    tol: float,
    max_passes: int,
    most_blocks: int = 6,
) -> tuple[Array, Array]:
    """Return the ``m`` largest eigenvalues of S and their eigenvectors, in decreasing order.

    Block Lanczos iteration with restarts: every pass adds the block of residuals SW - WΘ to an
    orthonormal basis, and the Rayleigh quotient of the whole basis gives the next W. It stops when
    the residuals are below ``tol`` times the largest eigenvalue, or after ``max_passes``.

    Parameters
    ----------
    apply : callable
        Maps a block of vectors V to SV, with S symmetric and positive semi-definite.
    V : array of shape (d, k)
        Initial vectors, k ≥ m; those beyond m speed up convergence.
    m : int
        The number of eigenvectors.
    tol, max_passes : float, int
        Tolerance and largest number of passes.
    most_blocks : int
        The basis is restarted with two blocks when it has this many.
    """
    k = V.shape[1]
    V = np.asarray(linalg.qr(V, mode="economic", check_finite=False)[0], dtype=np.float64)
    SV = apply(V)
    for left in range(max_passes - 1, -1, -1):
        values, U = linalg.eigh(V.T @ SV, check_finite=False)
        values, U = values[::-1], U[:, ::-1]
        W, SW = V @ U[:, :k], SV @ U[:, :k]
        R = SW - W * values[:k]
        error = np.linalg.norm(R[:, :m], axis=0).max(initial=0.0)
        if left == 0 or error <= tol * max(values[0], 0.0):
            break
        if V.shape[1] > (most_blocks - 1) * k:
            keep = U[:, : 2 * k]
            V, SV = V @ keep, SV @ keep
        Q = _outside(V, R)
        if Q.shape[1] == 0:
            break
        V, SV = np.hstack([V, Q]), np.hstack([SV, apply(Q)])
    return values[:m], W[:, :m]


def _outside(V: Array, R: Array) -> Array:
    """Return an orthonormal basis of the part of R that is orthogonal to the span of V."""
    size = np.linalg.norm(R, axis=0)
    R = R[:, size > 0] / size[size > 0]
    for _ in range(2):  # twice is enough for orthogonality to rounding (Giraud and others 2005)
        R = R - V @ (V.T @ R)
        Q, triangle, _ = linalg.qr(R, mode="economic", pivoting=True, check_finite=False)
        R = np.asarray(Q[:, np.abs(np.diag(triangle)) > 1e-10], dtype=np.float64)
    return R[:, : V.shape[0] - V.shape[1]]
