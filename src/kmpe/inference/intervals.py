"""Prediction intervals from leave-one-out residuals.

`radius` is the jackknife from one fit: a Newton step from the fit to all rows gives the leave-one-
out residuals in closed form. `cross_validated` is CV+ (Barber and others 2021): models are fitted
without each fold, and the coverage is guaranteed.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from kmpe.arrays import Array
from kmpe.foreign import asarray
from kmpe.losses.scale import FAR_OUT, quantile

__all__ = [
    "GROSS",
    "around",
    "check_coverage",
    "cook_by_mean",
    "cook_distances",
    "cross_validated",
    "leave_one_out",
    "mean_radius",
    "radius",
]

#: Rows with larger scaled residuals are gross outliers and do not widen prediction intervals.
GROSS = FAR_OUT


def leave_one_out(R: Array, leverage: Array | float) -> Array:
    """Return leave-one-out residuals R / (1 - h)."""
    kept = 1 - np.clip(leverage, 0.0, 0.99)
    return asarray(R / (kept if np.isscalar(leverage) else kept[:, None]))


def cook_distances(psi2: Array, a: Array, leverage: Array, n_parameters: int) -> Array:
    """Return Cook's (1977) distance of each row, for an M-estimator.

    Leaving out row i moves the coefficients by (HᵀH)⁻¹ hᵢ ψᵢ / (1 - hᵢ) / E[ψ']. In the metric of
    their covariance E[ψ²] (HᵀH)⁻¹ / E[ψ']², divided by their number k, the squared length of this
    is hᵢ ψᵢ² / ((1 - hᵢ)² k E[ψ²]). For least squares it is Cook's distance with n instead of n - k
    degrees of freedom.
    """
    return cook_by_mean(psi2, float(a @ psi2) / float(a.sum()), leverage, n_parameters)


def cook_by_mean(psi2: Array, mean: float, leverage: Array, n_parameters: int) -> Array:
    """Return Cook's distances of some rows, given the mean of ψ² over all rows."""
    if mean == 0:
        return np.zeros_like(psi2)
    h = np.clip(leverage, 0.0, 0.99)
    return asarray(h / (1 - h) ** 2 * psi2 / (n_parameters * mean))


def radius(R: Array, a: Array, scores: Array, coverage: float) -> Array:
    """Return the half width of the prediction interval of each target, shape (q,).

    The conformal quantile ⌈(n + 1) coverage⌉ / n of the absolute leave-one-out residuals, over the
    rows that are not gross outliers; infinite if there are too few rows.
    """
    check_coverage(coverage)
    kept = (scores <= GROSS) & (a > 0)
    n = float(a[kept].sum())
    rank = np.ceil((n + 1) * coverage)
    if rank > n:
        return np.full(R.shape[1], np.inf)
    level = rank / n
    return np.array([quantile(np.abs(R[kept, j]), level, a[kept]) for j in range(R.shape[1])])


def mean_radius(H: Array, covs: Array, unseen: Array, df: float, coverage: float) -> Array:
    """Return the half width of the confidence interval of the mean at each row, shape (n, q).

    Infinite for a row with a component in a direction that the data do not determine.

    Parameters
    ----------
    H : array of shape (n, k)
        Inputs, in the order of the coefficients.
    covs : array of shape (q, k, k)
        Covariances of the coefficients of each target; undetermined directions do not matter.
    unseen : array of shape (k, u)
        A basis of the directions of coefficients that the data do not determine.
    df : float
        Degrees of freedom.
    coverage : float
        Between 0 and 1.
    """
    check_coverage(coverage)
    variances = np.einsum("ij,qjk,ik->iq", H, covs, H)
    size = np.abs(H) @ np.abs(unseen)
    blind = np.any(np.abs(H @ unseen) > 1e-8 * np.where(size > 0, size, 1.0), axis=1)
    half = stdtrit(max(df, 1.0), 0.5 + coverage / 2) * np.sqrt(np.maximum(variances, 0.0))
    half[blind | ~np.isfinite(variances).all(axis=1)] = np.inf
    return np.asarray(half)


def check_coverage(coverage: float) -> None:
    """Refuse a coverage that is not between 0 and 1."""
    if not 0 < coverage < 1:
        raise ValueError(f"return_interval={coverage!r} must lie between 0 and 1, such as 0.9")


def cross_validated(
    P: Array, R: Array, folds: npt.NDArray[np.intp], a: Array, coverage: float
) -> tuple[Array, Array]:
    """Return lower and upper ends of CV+ intervals, shape (m,) each.

    The upper end is the order statistic ⌈(n + 1) coverage⌉ of μ₋ₖ(x) + |Rᵢ|, k the fold of row i,
    infinite if there are fewer rows; the lower end is that of μ₋ₖ(x) - |Rᵢ|, counted from above.

    Parameters
    ----------
    P : array of shape (m, K)
        Predictions of new rows, μ₋ₖ(x), by the fits without each fold.
    R : array of shape (n,)
        Residuals of the training rows from the fits without their fold.
    folds : array of int of shape (n,)
        The fold of each.
    a : array of shape (n,)
        Sample weights.
    coverage : float
        Between 0 and 1. With exchangeable rows the intervals cover at least
        2 coverage - 1 - √(2 / n), and typically about ``coverage``.
    """
    rank = np.ceil((float(a.sum()) + 1) * coverage)
    tables = [_table(np.abs(R[folds == k]), a[folds == k]) for k in range(P.shape[1])]
    return -_upper(-P, tables, rank), _upper(P, tables, rank)


def _table(radii: Array, a: Array) -> tuple[Array, Array]:
    """Return sorted distances and their cumulative weights, beginning with 0."""
    order = np.argsort(radii, kind="stable")
    return radii[order], np.concatenate([[0.0], np.cumsum(a[order])])


def _upper(P: Array, tables: list[tuple[Array, Array]], rank: float) -> Array:
    """Return for each row of P the order statistic ``rank`` of P[:, k] + table k, by bisection."""
    if rank > sum(counts[-1] for _, counts in tables):
        return np.full(len(P), np.inf)
    farthest = max(radii[-1] for radii, _ in tables if len(radii))
    low, high = P.min(axis=1), P.max(axis=1) + farthest
    rounding = 2 * np.finfo(np.float64).eps * np.maximum(np.abs(low), np.abs(high))
    while np.any(high - low > rounding):
        middle = low + (high - low) / 2
        below = np.zeros(len(P))
        for k, (radii, counts) in enumerate(tables):
            below += counts[np.searchsorted(radii, middle - P[:, k], side="right")]
        enough = below >= rank
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high)


def around(predicted: Array, half: Array) -> tuple[Array, Array, Array]:
    """Return predictions with the lower and upper ends of their intervals.

    Half widths are given for each target, or for each row and target.
    """
    width = half if predicted.ndim == 2 else half[..., 0]
    return predicted, predicted - width, predicted + width
