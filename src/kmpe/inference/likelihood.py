"""The log-likelihood of rows in the Gaussian model of PCA (Tipping and Bishop 1999).

Its covariance is C = W (Λ - νI) Wᵀ + νI: variances λ along the components and the noise variance ν
in all other directions. With V = W (Λ - νI)^½, the observed columns O of a row, and
z = (νI + V_Oᵀ V_O)⁻¹ V_Oᵀ y_O,

    yᵀ_O C_O⁻¹ y_O = ‖y_O - V_O z‖² / ν + ‖z‖²,
    log det C_O = (|O| - m) log ν + log det (νI + V_Oᵀ V_O),

so that no matrix is larger than m × m, and no digits are lost if ν is small.
"""

import math

import numpy as np

from kmpe.arrays import ROUNDING, Array
from kmpe.foreign import Foreign, asarray

__all__ = ["floored_noise", "log_likelihood"]


def floored_noise(variances: Array, noise: float) -> float:
    """Return the noise variance, at least the rounding error of the largest variance."""
    return max(noise, ROUNDING * float(variances.max(initial=0.0)), float(np.finfo(float).tiny))


def log_likelihood(Y: Array, W: Array, variances: Array, noise: float) -> Array:
    """Return the log density of the observed columns of each centred row; NaN is missing."""
    noise = floored_noise(variances, noise)
    V = W * np.sqrt(np.maximum(variances - noise, 0.0))
    m = V.shape[1]
    if isinstance(Y, Foreign):
        return _of_whole_rows(Y, V, noise)
    known = ~np.isnan(Y)
    Y = np.where(known, Y, 0.0)
    whole = known.all(axis=1)
    n_known = np.count_nonzero(known, axis=1)
    squares, logdet = np.empty(len(Y)), np.empty(len(Y))
    for complete in (True, False):
        some = np.flatnonzero(whole == complete)
        if not len(some):
            continue
        M = V.T @ V if complete else _products(known[some], V)
        M = M + noise * np.eye(m)
        z = np.linalg.solve(np.broadcast_to(M, (len(some), m, m)), (Y[some] @ V)[:, :, None])[
            ..., 0
        ]
        e = np.where(known[some], Y[some] - z @ V.T, 0.0)
        squares[some] = np.einsum("ij,ij->i", e, e) / noise + np.einsum("ij,ij->i", z, z)
        logdet[some] = np.linalg.slogdet(M)[1]
    logdet += (n_known - m) * math.log(noise)
    return np.asarray(-0.5 * (squares + logdet + n_known * math.log(2 * math.pi)))


def _of_whole_rows(Y: Array, V: Array, noise: float) -> Array:
    """Return the log density of rows without missing values."""
    d, m = V.shape
    M = V.T @ V + noise * np.eye(m)
    z = Y @ np.linalg.solve(M, V.T).T
    e = Y - z @ V.T
    squares = np.einsum("ij,ij->i", e, e) / noise + np.einsum("ij,ij->i", z, z)
    logdet = float(np.linalg.slogdet(M)[1]) + (d - m) * math.log(noise)
    return asarray(-0.5 * (squares + (logdet + d * math.log(2 * math.pi))))


def _products(known: Array, V: Array) -> Array:
    """Return V_Oᵀ V_O for the observed columns O of each row."""
    d, m = V.shape
    products = (V[:, :, None] * V[:, None, :]).reshape(d, m * m)
    return np.asarray((known @ products).reshape(-1, m, m))
