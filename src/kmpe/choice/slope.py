"""The mean slope E[ψ'] of a loss, which relates its penalty to that of least squares."""

import numpy as np

from kmpe.arrays import Array, squared
from kmpe.losses import Loss
from kmpe.losses.scale import mad

__all__ = ["mean_slope", "weights_and_slope"]


def mean_slope(loss: Loss, s: Array, a: Array, dim: int) -> float:
    """Return E[ψ'] at squared residuals ``s``; for least squares it is 1."""
    return weights_and_slope(loss, s, a, dim)[1]


def weights_and_slope(loss: Loss, s: Array, a: Array, dim: int) -> tuple[Array, float]:
    """Return the weights and E[ψ'] at squared residuals ``s``.

    If the mean of ψ' is hardly positive, the mean weight bounds it. A singular loss has no bound
    near zero: there residuals are taken at the standard error of a location, σ / √n, as none is
    known more exactly than that.
    """
    if loss.singular:
        s = np.maximum(s, squared(mad(s, a, dim)) / max(float(a.sum()), 1.0))
    w = loss.weight(s)
    slope = float(np.average(w + loss.bend(s) / dim, weights=a))
    return w, max(slope, 0.25 * float(np.average(w, weights=a)))
