"""The walk of a linear regression, and its fit to Dask collections, where the rows are."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from kmpe.arrays import ROUNDING, Array
from kmpe.choice.adaptive import AdaptiveLoss, looked
from kmpe.choice.scale import GivenLoss
from kmpe.estimators.collections import given_rows, of_rows
from kmpe.inference.elsewhere import RegressionRows, of_all_rows
from kmpe.inference.outliers import outlier_limit
from kmpe.inference.regression import report
from kmpe.losses import Loss
from kmpe.losses.scale import quantile
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import Projected
from kmpe.rows.dask import DaskRows
from kmpe.rows.files import Reader
from kmpe.rows.source import Block, Rows
from kmpe.rows.standardised import Standardised
from kmpe.rows.threads import team
from kmpe.solvers.minimise import SURE_ROWS, solve
from kmpe.solvers.walk import Walked, walk
from kmpe.starts.linear import LinearStart
from kmpe.starts.weighted import count

__all__ = ["centre_of", "fit_collections", "walk_of"]


def walk_of(
    model: Any, rows: Rows, unit: float, n: float | None
) -> tuple[Standardised, Walked[Ridge, Array]]:
    """Return the map to standardised columns, and the fit to rows that stand for n."""
    standard = Standardised.of(rows, intercept=model.fit_intercept)
    rows = replace(rows, features=standard)
    if not isinstance(rows.X, Reader):
        rows = rows.stored()
    given = isinstance(model.loss, Loss)
    choose = GivenLoss(model.loss) if given else AdaptiveLoss(model.max_iter)
    problem = Ridge(rows, standard.penalties(float(model.alpha) / unit))
    end = partial(solve, max_iter=model.max_iter, tol=model.tol)
    return standard, walk(problem, LinearStart(n), choose, end)


def fit_collections(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a RobustLinearRegression; weights, scores and outliers are lazy arrays.

    What else is said of single rows in memory is left out: ``trust_`` needs all of them in order,
    and the others are seldom wanted of so many.
    """
    with team(), given_rows(model, X, y, sample_weight) as given:
        rows = given.near(SURE_ROWS, X.shape[1] + 1)
        centre = centre_of(rows) if model.fit_intercept else np.zeros(rows.n_targets)
        rows = replace(rows, T=rows.T - centre)
        n = None if isinstance(rows, DaskRows) else count(rows.a)
        standard, walked = walk_of(model, rows, given.unit, n)
        chosen, fit = walked.chosen, walked.fit
        problem = chosen.sample if isinstance(rows, DaskRows) else chosen.problem
        parts = problem, chosen.sample, fit, standard, given.unit
        found = report(*parts, chosen.scale, looked(chosen).plain)
        of_sample = found.loo, problem.sample_weight, found.scores
        if isinstance(rows, DaskRows):
            found = of_all_rows(found, chosen.problem, fit.theta, chosen.scale)
        basis = chosen.problem.basis
        features = standard if basis is None else Projected(standard, basis)
        found = replace(found, intercept=found.intercept + centre)
        largest = max(part.largest for part in given.rows.X.summaries)
        rounding = ROUNDING * (largest + float(np.abs(centre).max()))
        dropped = chosen.problem.rows.dropped
        facts = RegressionRows(fit.theta, fit.criterion, dropped, found.scale, rounding)
        lazy = of_rows(facts, features, given, X, y, sample_weight, centre)
    model._set_attributes(fit, found, single=y.ndim == 1)
    model.weights_, model.outlier_scores_ = lazy[:, 0], lazy[:, 1]
    model.outliers_ = model.outlier_scores_ > outlier_limit(problem.dim)
    model._of_sample = of_sample
    for name in ("trust_", "loo_residuals_", "leverages_", "cook_distances_"):
        delattr(model, name)
    model._conclude(walked, found, standard, given.unit)


@dataclass(frozen=True)
class _Target:
    """One target of each row, or minus that."""

    j: int
    sign: float

    def __call__(self, block: Block) -> Array:
        return np.asarray(self.sign * block.T[:, self.j])


def centre_of(rows: Rows) -> Array:
    """Return the median of each target; of two middle values their mean: -y has minus that of y."""
    low, high = (
        [_median(rows, _Target(j, sign)) for j in range(rows.n_targets)] for sign in (1.0, -1.0)
    )
    return np.asarray((np.array(low) - np.array(high)) / 2)


def _median(rows: Rows, target: _Target) -> float:
    if isinstance(rows, DaskRows):
        return rows.quantile(target, 0.5)
    return quantile(target.sign * rows.T[:, target.j], 0.5, rows.a)
