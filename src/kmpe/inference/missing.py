"""Rows with holes: what a PCA expects in them.

In the Gaussian model of PCA (Tipping and Bishop 1999) the scores of a row of which the columns O
are known have the mean

    t = (W_Oᵀ W_O + σ² Λ⁻¹)⁻¹ W_Oᵀ (x_O - μ_O),

and what is missing has the mean μ + Wt. Fits and fillings take turns, the expectation-maximisation
of Serneels and Verdonck (2008) with the mean of the scores in place of their projection: a row of
which little is known is not stretched to fit that little.
"""

import numpy as np

from kmpe.arrays import ROUNDING, Array, Mask
from kmpe.inference.pca import OutlierMap

__all__ = ["column_medians", "filled", "inflation"]


def column_medians(X: Array) -> Array:
    """Return the medians of what is known of each column."""
    known = ~np.isnan(X)
    if not known.any(axis=0).all():
        column = int(np.flatnonzero(~known.any(axis=0))[0])
        raise ValueError(f"column {column} of X has no value at all: leave it out")
    return np.asarray(np.nanmedian(X, axis=0))


def filled(X: Array, by: OutlierMap, at_once: int = 1024) -> Array:
    """Return a copy of rows with their holes filled by the model.

    So many rows ``at_once``: each has an m × m matrix of its own.
    """
    X = X.copy()
    some = np.flatnonzero(np.isnan(X).any(axis=1))
    for i in range(0, len(some), at_once):
        rows = some[i : i + at_once]
        missing = np.isnan(X[rows])
        expected = by.mean + _scores(X[rows] - by.mean, ~missing, by) @ by.W.T
        X[rows] = np.where(missing, expected, X[rows])
    return X


def _scores(Y: Array, known: Mask, by: OutlierMap) -> Array:
    """Return the expected scores of rows by what is known of them."""
    d, m = by.W.shape
    noise = max(by.noise, ROUNDING * float(by.variances.max(initial=0.0)))
    if m == 0 or noise == 0:
        return np.zeros((len(Y), m))
    products = (by.W[:, :, None] * by.W[:, None, :]).reshape(d, m * m)
    A = (known @ products).reshape(-1, m, m)
    least = ROUNDING * float(by.variances.max())
    A[:, np.arange(m), np.arange(m)] += noise / np.maximum(by.variances, least)
    b = np.where(known, Y, 0.0) @ by.W
    return np.asarray(np.linalg.solve(A, b[:, :, None])[:, :, 0])


def inflation(missing: Mask, m: int) -> Array:
    """Return by how much an orthogonal distance is larger than what is known of it.

    Squared, it has d - m components, of which a row with k holes shows d - m - k.
    """
    q = missing.shape[1] - m
    shown = np.maximum(q - np.count_nonzero(missing, axis=1), 1)
    return np.asarray(np.sqrt(max(q, 1) / shown))
