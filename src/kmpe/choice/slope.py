"""The mean slope E[ψ'] of a loss: what a row counts for beside a penalty."""

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss

__all__ = ["mean_slope"]


def mean_slope(loss: Loss, s: Array, a: Array, dim: int) -> float:
    """Return E[ψ'] at squared residuals ``s``.

    For least squares it is 1. Where ψ' is hardly positive on average, the weights tell it.
    """
    w = loss.weight(s)
    slope = float(np.average(w + 2 / dim * s * loss.curvature(s), weights=a))
    return max(slope, 0.25 * float(np.average(w, weights=a)))
