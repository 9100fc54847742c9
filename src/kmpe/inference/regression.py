"""The results of a linear regression: coefficients in the user's units, errors, outliers."""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from kmpe.arrays import ROUNDING, Array, Index, Mask
from kmpe.inference.covariance import model_based, sandwich
from kmpe.inference.intervals import cook_distances, leave_one_out
from kmpe.inference.outliers import outlier_limit, reweighted_scale, robust_r2, row_scores
from kmpe.losses import Loss
from kmpe.losses.scale import quantile
from kmpe.problems.leverage import whitening
from kmpe.problems.ridge import Ridge
from kmpe.rows.standardised import Standardised
from kmpe.solvers.minimise import SURE_ROWS, has_many_rows
from kmpe.solvers.record import Density, Fit

__all__ = ["Report", "cautions", "report"]


@dataclass(frozen=True)
class Report:
    """The results of a fit; q targets, d inputs, k = d + 1 coefficients with an intercept.

    Parameters
    ----------
    coef, intercept : array of shape (q, d) and (q,)
        Coefficients.
    cov : array of shape (q, k, k)
        Their covariance; NaN for a coefficient that the rows do not determine.
    seen_cov : array of shape (q, k, k)
        The same without NaN, for predictions: the variance along ``unseen`` is zero.
    unseen : array of shape (k, u)
        A basis of the directions of coefficients that the data do not determine.
    weights, trust, scores : array of shape (n,)
        Weight, trust and outlier score of each row.
    outliers : array of bool of shape (n,)
        Which rows are outliers.
    scale, df, r2 : float
        Scale of the residuals, degrees of freedom, robust R².
    loo : array of shape (n, q)
        Leave-one-out residuals; infinite if the noise cannot be estimated.
    leverages, cook : array of shape (n,)
        Leverages, and Cook's distances.
    root : array of shape (k, v)
        V, with which the leverage of a row h is ‖hV‖².
    """

    coef: Array
    intercept: Array
    cov: Array
    seen_cov: Array
    unseen: Array
    weights: Array
    trust: Array
    scores: Array
    outliers: Mask
    scale: float
    df: float
    r2: float
    loo: Array
    leverages: Array
    cook: Array
    root: Array

    def of_rows(self, back: Index | slice) -> "Report":
        """Return the report with one entry for each given row, where equal rows were merged."""
        names = "weights", "trust", "scores", "outliers", "loo", "leverages", "cook"
        return replace(self, **{name: getattr(self, name)[back] for name in names})


def report(
    problem: Ridge,
    sample: Ridge,
    fit: Fit[Array],
    standard: Standardised,
    unit: float,
    scale: float,
    density: Density | None,
) -> Report:
    """Return the report of a fit.

    Parameters
    ----------
    problem, sample, fit
        The problem that was solved, on all rows and on a sample, and the solution.
    standard : Standardised
        The map back to the user's units.
    unit : float
        The unit of the sample weights: standard errors count them as repeats.
    scale : float
        The scale of the residuals from the start.
    density : Density, optional
        For a chosen loss, the density of the noise.
    """
    d, k = len(standard.size), problem.rows.n_features
    R, a = problem.residuals(fit.theta), problem.sample_weight
    s = np.einsum("ij,ij->i", R, R)
    # Bad leverage points have weight 0 in the problem that was solved.
    weights = fit.criterion.weight(s) * (a > 0)
    scale = reweighted_scale(s, a, scale, k, problem.dim)
    rounding = ROUNDING * float(np.abs(problem.rows.T[a > 0]).max())
    scale = scale if scale > rounding else 0.0
    scores = row_scores(s, scale, rounding)
    outliers = scores > outlier_limit(problem.dim)
    blocks, root = _covariance(problem, sample, fit, density)
    leverages = problem.leverages(root)
    df = problem.rows.n - k
    back, unseen = standard.back, np.zeros((d + standard.intercept, 0))
    if problem.basis is not None:
        digits = 1e-8  # half of the digits: smaller entries are rounding errors
        null = linalg.null_space(problem.basis.T)
        null[np.abs(null) < digits] = 0.0
        unseen = back @ null
        unseen[np.abs(unseen) < digits * (np.abs(back) @ np.abs(null))] = 0.0
        back = _smallest_slopes(unseen, d) @ back @ problem.basis
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        cov = back @ (blocks / unit) @ back.T
    open_ = np.asarray(unseen.any(axis=1))
    open_[:d] |= ~standard.varies
    # With as many coefficients as rows, or if most rows are fitted exactly and others are not, the
    # noise cannot be estimated.
    blind = df < 1 or (scale == 0 and bool(scores.any()))
    seen_cov = np.full_like(cov, np.inf) if blind else cov.copy()
    open_ |= blind
    cov[:, open_], cov[:, :, open_] = np.nan, np.nan
    # Nor can the error of a coefficient on which no row has influence, or whose variance overflows.
    variances = np.diagonal(cov, axis1=1, axis2=2)
    none: Mask = np.array(
        ~np.isfinite(variances) | ((variances <= 0) & (scale > 0)), dtype=np.bool_
    )
    cov[none[:, :, None] | none[:, None, :]] = np.nan
    # A constant column is determined at its one value, through the intercept.
    unseen[d:] -= (standard.mean * ~standard.varies) @ unseen[:d]
    theta = back @ fit.theta
    return Report(
        coef=np.ascontiguousarray(theta[:d].T),
        intercept=theta[d] if standard.intercept else np.zeros(problem.dim),
        cov=cov,
        seen_cov=seen_cov,
        unseen=unseen,
        weights=weights,
        trust=_trust(weights, s, a),
        scores=scores,
        outliers=outliers,
        scale=scale,
        df=max(df, 0.0),
        r2=robust_r2(problem.rows.T, R, a * ~outliers),
        loo=np.full_like(R, np.inf) if blind else leave_one_out(R, leverages),
        leverages=leverages,
        cook=cook_distances((weights / (weights.max() or 1.0)) ** 2 * s, a, leverages, k),
        root=root,
    )


def cautions(found: Report, standard: Standardised, names: list[str], loss: Loss) -> list[str]:
    """Return the warnings of a report, as sentences."""
    sentences = []
    if found.unseen[: len(standard.varies)][standard.varies].any():
        sentences.append(_dependent_columns(found.unseen, names))
    determined: Mask = np.asarray(~found.unseen.any(axis=1))
    determined[: len(standard.varies)] &= standard.varies
    errors = np.diagonal(found.cov, axis1=1, axis2=2)[:, determined]
    if found.df >= 1 and found.scale > 0 and np.isnan(errors).any():
        sentences.append(
            f"{loss} has no standard errors here: ψ is unbounded at the smallest residuals, or has "
            "no slope at the residuals, or squares overflow or underflow in these units."
        )
    return sentences


def _dependent_columns(unseen: Array, names: list[str]) -> str:
    """Return a sentence that names linearly dependent columns."""
    involved = [name for name, row in zip(names, unseen, strict=True) if row.any()]
    shown = ", ".join(involved[:8]) + ", ..." * (len(involved) > 8)
    return (
        f"Columns are linearly dependent ({shown}): their coefficients are those of smallest norm, "
        "without standard errors. Leave out a column, or set alpha."
    )


def _covariance(
    problem: Ridge, sample: Ridge, fit: Fit[Array], density: Density | None
) -> tuple[Array, Array]:
    """Return the covariances of each target, and the matrix V of leverages ‖hV‖².

    That of a chosen loss is the larger one of two: a loss chosen on few residuals looks better on
    them than it is, and few rows may determine a coefficient, so that the sandwich is too small;
    the noise may depend on the inputs, so that the model-based one is. With many rows the sample is
    enough: the relative standard error of a standard error is √(1 / 2m) for m rows, 1% for 4000.
    """
    part = sample if has_many_rows(problem, SURE_ROWS) else problem
    if density is None:
        found = sandwich(part, fit.loss, fit.theta)
        return found.blocks, found.root
    # Beside another covariance the jackknife's excess would count twice.
    found = sandwich(part, fit.loss, fit.theta, power=0.5)
    other = model_based(part, fit.loss, density)
    return np.array([_larger(block, other) for block in found.blocks]), found.root


def _larger(one: Array, other: Array) -> Array:
    """Return the larger of two covariances in each direction.

    Directions are those of the generalised eigenvectors, which do not depend on units.
    """
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return np.full_like(one, np.nan)
    V = whitening(one)
    values, U = linalg.eigh(V.T @ other @ V, check_finite=False)
    W = one @ V @ U
    return np.asarray((W * np.maximum(values, 1.0)) @ W.T)


def _trust(w: Array, s: Array, a: Array) -> Array:
    """Return weights over that of a row with a median residual, at most 1.

    Weights that are unbounded at 0, as for Laplace noise, do not make other rows doubtful. Where
    weights rise with the residual, as for bounded noise, a row has the largest weight of any row
    with at least its residual.
    """
    trust = np.zeros(len(w))
    order = np.argsort(-s, kind="stable")
    trust[order] = np.maximum.accumulate(w[order])
    counted = a > 0
    typical = quantile(trust[counted], 0.5, a[counted]) if counted.any() else 0.0
    # A row of weight 0, such as a bad leverage point, has trust 0.
    return np.asarray(np.minimum(trust / (typical or trust.max() or 1.0), 1.0) * (w > 0))


def _smallest_slopes(unseen: Array, d: int) -> Array:
    """Return the matrix that maps coefficients to those with slopes of smallest norm.

    The component of the slopes along the undetermined directions is removed; the intercept changes
    accordingly.
    """
    k = len(unseen)
    return np.asarray(np.eye(k) - unseen @ linalg.pinv(unseen[:d]) @ np.eye(d, k))
