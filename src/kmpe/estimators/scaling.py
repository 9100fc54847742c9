"""Robust scales of columns, for tables in mixed units."""

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.estimators.inputs import RobustnessWarning
from kmpe.losses.qn import qn
from kmpe.losses.scale import middle
from kmpe.rows.checks import repeats

__all__ = ["SCALES", "column_scales"]

SCALES = ("mad", "qn")


def column_scales(X: Any, scale: str, a: Array) -> npt.NDArray[Any]:
    """Return a robust scale of each column from its observed values, with weights ``a``.

    If the scale is 0, since half of the values are equal, it is replaced by the standard deviation,
    or by 1 for a constant column.
    """
    if not isinstance(X, np.ndarray):
        raise ValueError(f'scale="{scale}" needs X in memory: scale the columns beforehand')
    counted = a > 0
    X, a = X[counted], a[counted]
    times = _times(a) if scale == "qn" else None
    deviations = np.ones(X.shape[1])
    for j, x in enumerate(np.asarray(X.T, dtype=np.float64)):
        known = ~np.isnan(x)
        x, weights = x[known], a[known]
        if not len(x):
            continue
        value = _mad(x, weights) if times is None else qn(np.repeat(x, times[known]))
        deviations[j] = value if value > 0 else _standard_deviation(x, weights, j, scale)
    return np.asarray(deviations.astype(X.dtype))


def _mad(x: Array, a: Array) -> float:
    """Return the median absolute deviation, scaled to the deviation of Gaussian values."""
    return 1.4826 * middle(np.abs(x - middle(x, a)), a)


def _times(a: Array) -> npt.NDArray[np.intp]:
    """Return weights as integers."""
    counts = repeats(a)
    if counts is None:
        raise ValueError(
            'scale="qn" counts pairs of rows, which needs integer sample_weight: round it, or use '
            'scale="mad"'
        )
    return counts.astype(np.intp)


def _standard_deviation(x: Array, a: Array, column: int, scale: str) -> float:
    """Return the standard deviation, with a warning, or 1 if all values are equal."""
    if x.min() == x.max():
        return 1.0
    warnings.warn(
        f"at least half of the values of column {column} are equal: its {scale} is 0, and the "
        "standard deviation, which is not robust, is used instead",
        RobustnessWarning,
        stacklevel=4,
    )
    mean = float(np.average(x, weights=a))
    return float(np.sqrt(np.average((x - mean) ** 2, weights=a)))
