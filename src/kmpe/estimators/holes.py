"""Fits of rows with holes: fit and fill in turns, until what is filled in stands."""

import warnings
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kmpe.arrays import Array, Mask
from kmpe.estimators.projection import check_rows
from kmpe.inference.missing import column_medians, filled
from kmpe.inference.pca import Inferred
from kmpe.problems.pca import Points

__all__ = ["fit_with_holes"]


class Fitted(Protocol):
    """A fit, and what it says of the rows."""

    @property
    def found(self) -> Inferred:
        """What it says."""


Result = TypeVar("Result", bound=Fitted)


def fit_with_holes(
    fit: Callable[[Points, Mask], Result],
    X: Array,
    holes: Mask,
    a: Array,
    *,
    max_fits: int = 50,
    tol: float = 1e-3,
) -> Result:
    """Return the last of the fits; a row of which nothing is known does not count.

    Fits and fillings take turns until what is filled in changes by less than the share ``tol``.
    """
    middle: Any = column_medians(X)
    Z, a = np.where(holes, middle, X), a * ~holes.all(axis=1)
    for _ in range(max_fits):
        fitted = fit(check_rows(Z, a), holes)
        before, Z = Z, filled(X, fitted.found.map)
        change = np.linalg.norm(Z[holes] - before[holes])
        if change <= tol * np.linalg.norm((Z - middle)[holes]):
            return fitted
    warnings.warn(
        f"missing values still change after {max_fits} fits: too much is missing for "
        f"{fitted.found.map.W.shape[1]} components; ask for fewer",
        ConvergenceWarning,
        stacklevel=4,
    )
    return fitted
