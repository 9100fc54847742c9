"""Fits of rows with holes: fit and fill in turns, until what is filled in stands."""

import math
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
    Where two fillings make each other (a row is an outlier by one and not by the other), steps are
    halved until they meet.
    """
    middle: Any = column_medians(X)
    Z, a = np.where(holes, middle, X), a * ~holes.all(axis=1)
    step, last = 1.0, math.inf
    for _ in range(max_fits):
        fitted = fit(check_rows(Z, a), holes)
        towards = filled(X, fitted.found.map) - Z
        change = float(np.linalg.norm(towards[holes]))
        step = step if change < last else step / 2
        Z, last = Z + step * towards, change
        if step * change <= tol * np.linalg.norm((Z - middle)[holes]):
            return fitted
    warnings.warn(
        f"missing values still change after {max_fits} fits: too much is missing for "
        f"{fitted.found.map.W.shape[1]} components; ask for fewer",
        ConvergenceWarning,
        stacklevel=4,
    )
    return fitted
