"""Which rows are outliers: residuals over their robust scale."""

import numpy as np
from scipy.special import chdtr, chdtri

from kmpe.arrays import Array
from kmpe.losses.scale import mad

__all__ = [
    "FALSE_POSITIVES",
    "inlier_sums",
    "outlier_limit",
    "reweighted_scale",
    "robust_r2",
    "row_scores",
    "scale_of_inliers",
    "scaled_residuals",
]

#: Share of the rows that `outliers_` marks on clean Gaussian data.
FALSE_POSITIVES = 0.01


def outlier_limit(dim: int) -> float:
    """Return the scaled residual norm that one clean Gaussian row in a hundred exceeds."""
    return float(np.sqrt(chdtri(dim, FALSE_POSITIVES)))


def scaled_residuals(R: Array, a: Array, n_parameters: float) -> tuple[Array, float]:
    """Return residual norms over their scale, and the scale.

    The scale is the MAD, with a correction for the parameters: fitted rows lie too near.
    """
    s = np.einsum("ij,ij->i", R, R)
    n = float(a.sum())
    scale = mad(s, a, R.shape[1]) * float(np.sqrt(n / max(n - n_parameters, 1.0)))
    return np.sqrt(s) / scale, scale


def reweighted_scale(s: Array, a: Array, scale: float, n_parameters: float, dim: int) -> float:
    """Return the scale of residuals by the rows that a first scale does not call outliers.

    The reweighting step of Rousseeuw and Leroy (1987): the root mean square over those rows, with
    n - k degrees of freedom, over what is left of it when Gaussian rows are cut off there.

    Parameters
    ----------
    s : array of shape (n,)
        Squared residual norms.
    a : array of shape (n,)
        How often each counts.
    scale : float
        The first scale.
    n_parameters : float
        The number of coefficients.
    dim : int
        The number of components of a residual.
    """
    return scale_of_inliers(*inlier_sums(s, a, scale, dim), scale, n_parameters, dim)


def inlier_sums(s: Array, a: Array, scale: float, dim: int) -> tuple[Array, Array]:
    """Return how many rows a scale does not call outliers, and the sum of their squares."""
    inside = a * (s <= (outlier_limit(dim) * scale) ** 2)
    return inside.sum(), inside @ s


def scale_of_inliers(
    count: Array, squares: Array, scale: float, n_parameters: float, dim: int
) -> float:
    """Return the scale by the sums of `inlier_sums`; the first scale where rows are too few."""
    limit2 = outlier_limit(dim) ** 2
    freedom = float(count) - n_parameters
    if freedom < 1:
        return scale
    cut = float(chdtr(dim + 2, limit2) / chdtr(dim, limit2))
    return float(np.sqrt(squares / (dim * freedom * cut)))


def row_scores(s: Array, scale: float, rounding: float) -> Array:
    """Return residual norms over their scale; those of rounding size are 0."""
    scores = np.zeros(len(s))
    beyond = s > rounding**2
    scores[beyond] = np.sqrt(s[beyond]) / scale if scale > 0 else np.inf
    return scores


def robust_r2(T: Array, R: Array, a: Array) -> float:
    """Return R² over the rows that count: those that are not outliers."""
    if not a.any():
        return float("nan")
    total = float(np.sum(a @ (T - a @ T / a.sum()) ** 2))
    return 1 - float(np.sum(a @ R**2)) / total if total > 0 else 0.0
