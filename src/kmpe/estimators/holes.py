"""Fits to rows with missing values: fitting and imputing alternate until convergence."""

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
    """A fit with its distances of rows."""

    @property
    def found(self) -> Inferred:
        """The inferred PCA."""


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
    """Return the last fit; rows without any observed value have weight 0.

    Fitting and imputing alternate until the relative change of the imputed values is below ``tol``.
    If they cycle (a row is an outlier in every other fit), steps are halved until they converge.
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
        f"missing values still change after {max_fits} fits: too many are missing for "
        f"{fitted.found.map.W.shape[1]} components; use fewer components",
        ConvergenceWarning,
        stacklevel=4,
    )
    return fitted
