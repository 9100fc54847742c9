"""The mean slope E[ψ'] of a loss, which relates its penalty to that of least squares."""

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss

__all__ = ["mean_slope"]


def mean_slope(loss: Loss, s: Array, a: Array, dim: int) -> float:
    """Return E[ψ'] at squared residuals ``s``.

    For least squares it is 1. If the mean of ψ' is hardly positive, the mean weight bounds it.
    """
    w = loss.weight(s)
    slope = float(np.average(w + 2 / dim * s * loss.curvature(s), weights=a))
    return max(slope, 0.25 * float(np.average(w, weights=a)))
