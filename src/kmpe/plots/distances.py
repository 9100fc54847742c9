"""Robust Mahalanobis distances of rows."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtri
from sklearn.covariance import MinCovDet
from sklearn.utils import check_array

from kmpe.arrays import Array

__all__ = ["MOST_ROWS", "Distances", "robust_distances"]

#: The most rows that centre and covariance are computed from: each entry to 1 / √1000 = 3%.
MOST_ROWS = 1000


@dataclass(frozen=True)
class Distances:
    """Robust distances of rows.

    Parameters
    ----------
    values : array of shape (n,)
        The distances; NaN if they cannot be computed.
    limit : float
        The distance that 2.5% of Gaussian rows exceed.
    note : str
        Why there are no distances; empty if there are.
    """

    values: Array
    limit: float
    note: str = ""


def robust_distances(X: Any) -> Distances:
    """Return the robust Mahalanobis distances of rows.

    Centre and covariance are those of the minimum covariance determinant (Rousseeuw and Van
    Driessen 1999, FAST-MCD) of the columns that vary in at least half of the rows: a column of 0
    and 1 that is mostly 0 has no robust scale. They need at least two rows for each column.

    Parameters
    ----------
    X : array or data frame of shape (n, d)
        Inputs.
    """
    X = check_array(X, dtype=np.float64, accept_sparse="csr")
    X = X.toarray() if hasattr(X, "toarray") else X
    rng = np.random.RandomState(0)
    some = X if len(X) <= MOST_ROWS else X[rng.choice(len(X), MOST_ROWS, replace=False)]
    middle = np.median(some, axis=0)
    mad = np.median(np.abs(some - middle), axis=0)
    varies = mad > 0
    n, d = len(X), int(varies.sum())
    if d == 0 or n <= 2 * d:
        why = f"{n} rows are too few for {d} columns" if d else "no column varies in most rows"
        return Distances(np.full(len(X), np.nan), np.inf, f"No robust distances: {why}.")
    middle, mad = middle[varies], mad[varies]
    with warnings.catch_warnings():
        # Dependent columns: distances are those in the space that the rows span.
        warnings.simplefilter("ignore")
        found = MinCovDet(random_state=rng).fit((some[:, varies] - middle) / mad)
    Z = (X[:, varies] - middle) / mad
    values = np.sqrt(np.maximum(found.mahalanobis(Z), 0.0))
    return Distances(values, float(np.sqrt(chdtri(d, 0.025))))
