"""Residuals of any regressor in units of their scale."""

from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from kmpe.arrays import Array
from kmpe.inference.outliers import scaled_residuals

__all__ = ["final_step", "prepared", "residuals_of", "standardised"]


def final_step(estimator: Any) -> Any:
    """Return the estimator itself, or the last one of a pipeline, fitted."""
    check_is_fitted(estimator)
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def prepared(estimator: Any, X: Any) -> Any:
    """Return X as the last step of a pipeline gets it."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return estimator[:-1].transform(X)
    return X


def residuals_of(y_true: Any, y_pred: Any) -> Array:
    """Return the residuals y - ŷ of a single target."""
    y, predicted = (
        np.asarray(check_array(values, dtype=np.float64, ensure_2d=False))
        for values in (y_true, y_pred)
    )
    y, predicted = (v[:, 0] if v.ndim == 2 and v.shape[1] == 1 else v for v in (y, predicted))
    if y.ndim != 1 or y.shape != predicted.shape:
        raise ValueError(
            f"y_true has shape {y.shape} and y_pred {predicted.shape}: both must be (n,); "
            "draw one target at a time"
        )
    return np.asarray(y - predicted)


def standardised(residuals: Array, scale: float | None) -> Array:
    """Return residuals over their scale, which is the MAD where none is given."""
    if scale is None:
        _, scale = scaled_residuals(residuals[:, None], np.ones(len(residuals)), 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(residuals == 0, 0.0, residuals / scale)
