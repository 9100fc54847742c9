"""Missing values: their conditional means in a PCA model.

In the Gaussian model of PCA (Tipping and Bishop 1999) the scores of a row, given its observed
columns O, have the mean

    t = (W_Oᵀ W_O + σ² Λ⁻¹)⁻¹ W_Oᵀ (x_O - μ_O),

and the missing values have the mean μ + Wt. Fitting and imputing alternate, as in the expectation-
maximisation of Serneels and Verdonck (2008), with the conditional mean of the scores in place of
their projection, so that scores of rows with few observed columns are shrunk towards zero.
"""

import numpy as np

from kmpe.arrays import ROUNDING, Array, Mask
from kmpe.inference.pca import OutlierMap

__all__ = ["column_medians", "filled", "inflation"]


def column_medians(X: Array) -> Array:
    """Return the medians of the observed values of each column."""
    known = ~np.isnan(X)
    if not known.any(axis=0).all():
        column = int(np.flatnonzero(~known.any(axis=0))[0])
        raise ValueError(f"column {column} of X has no value at all: leave it out")
    return np.asarray(np.nanmedian(X, axis=0))


def filled(X: Array, by: OutlierMap, at_once: int = 1024) -> Array:
    """Return a copy of rows with missing values imputed by the model.

    They are processed ``at_once`` rows at a time, as each row needs its own m × m matrix.
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
    """Return the conditional means of the scores of rows, given their observed columns."""
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
    """Return the factor from the observed to the expected full orthogonal distance of each row.

    Its square has d - m components, of which d - m - k are observed if k values are missing.
    """
    q = missing.shape[1] - m
    shown = np.maximum(q - np.count_nonzero(missing, axis=1), 1)
    return np.asarray(np.sqrt(max(q, 1) / shown))
