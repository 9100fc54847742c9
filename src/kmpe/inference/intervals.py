"""Prediction intervals: a new row is as far from its prediction as rows are from fits without them.

`radius` is the jackknife, for which one fit will do: one Newton step away from the fit to all rows
gives the residuals of the others in closed form. `cross_validated` is CV+ (Barber and others,
2021): folds of rows are left out in fact, and the interval has a guarantee.
"""

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from kmpe.arrays import Array
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

#: Scaled residuals beyond this are no part of the noise to be predicted.
GROSS = FAR_OUT


def leave_one_out(R: Array, leverage: Array | float) -> Array:
    """Return residuals of each row from the fit without it, R / (1 - h)."""
    h = np.clip(np.broadcast_to(leverage, len(R)), 0.0, 0.99)
    return np.asarray(R / (1 - h)[:, None])


def cook_distances(psi2: Array, a: Array, leverage: Array, n_parameters: int) -> Array:
    """Return how far the fit moves without each row: Cook's (1977) distance of an M-estimator.

    Without row i the coefficients move by (HᵀH)⁻¹ hᵢ ψᵢ / (1 - hᵢ) over the mean of ψ'; in their
    covariance E[ψ²] (HᵀH)⁻¹ over its square, and over their number k, that is
    hᵢ ψᵢ² / ((1 - hᵢ)² k E[ψ²]). For least squares it is Cook's own, but for n in place of n - k.
    """
    return cook_by_mean(psi2, float(a @ psi2) / float(a.sum()), leverage, n_parameters)


def cook_by_mean(psi2: Array, mean: float, leverage: Array, n_parameters: int) -> Array:
    """Return Cook's distances of some rows by the mean of ψ² over all of them."""
    if mean == 0:
        return np.zeros(len(psi2))
    h = np.clip(leverage, 0.0, 0.99)
    return np.asarray(h / (1 - h) ** 2 * psi2 / (n_parameters * mean))


def radius(R: Array, a: Array, scores: Array, coverage: float) -> Array:
    """Return the half width of the interval of each target, shape (q,).

    The conformal quantile ⌈(n + 1) coverage⌉ / n of the leave-one-out residuals' absolute
    values, over the rows that are no gross outliers; infinite where there are not so many.
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
    """Return the half width of the confidence interval of each row's mean, shape (n, q).

    Infinite for a row that has a part in a direction of which the fit has seen nothing.

    Parameters
    ----------
    H : array of shape (n, k)
        Inputs, in the order of the coefficients.
    covs : array of shape (q, k, k)
        Covariances of the coefficients of each target; those of unseen directions are of no
        consequence.
    unseen : array of shape (k, u)
        Vectors by which coefficients may move without any row of the fit seeing it.
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
    """Refuse what is no share."""
    if not 0 < coverage < 1:
        raise ValueError(f"return_interval={coverage!r} must lie between 0 and 1, such as 0.9")


def cross_validated(
    P: Array, R: Array, folds: npt.NDArray[np.intp], a: Array, coverage: float
) -> tuple[Array, Array]:
    """Return lower and upper ends of CV+ intervals, shape (m,) each.

    Of the values of μ₋ₖ(x) + |Rᵢ|, k the fold of row i, the upper end is number ⌈(n + 1) coverage⌉
    from below, infinite if there are not so many; the lower end is the same from above with
    μ₋ₖ(x) - |Rᵢ|.

    Parameters
    ----------
    P : array of shape (m, K)
        Predictions of new rows, μ₋ₖ(x), by the fits without each fold.
    R : array of shape (n,)
        Residuals of the training rows from the fits without their fold.
    folds : array of int of shape (n,)
        The fold of each.
    a : array of shape (n,)
        How often each counts.
    coverage : float
        Between 0 and 1. With exchangeable rows the intervals cover at least
        2 coverage - 1 - √(2 / n), and as a rule about as much as is asked.
    """
    rank = np.ceil((float(a.sum()) + 1) * coverage)
    tables = [_table(np.abs(R[folds == k]), a[folds == k]) for k in range(P.shape[1])]
    return -_upper(-P, tables, rank), _upper(P, tables, rank)


def _table(radii: Array, a: Array) -> tuple[Array, Array]:
    """Return distances in order, and how many are no larger than the first 0, 1, 2, ... of them."""
    order = np.argsort(radii, kind="stable")
    return radii[order], np.concatenate([[0.0], np.cumsum(a[order])])


def _upper(P: Array, tables: list[tuple[Array, Array]], rank: float) -> Array:
    """Return for each row of P the value number ``rank`` of all P[:, k] + table k, by bisection."""
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

    Half widths are those of each target, or of each row and target.
    """
    width = half if predicted.ndim == 2 else half[..., 0]
    return predicted, predicted - width, predicted + width
