"""The stages of a linear regression, in memory, on Dask collections and on devices."""

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from kmpe.arrays import ROUNDING, Array
from kmpe.choice.adaptive import AdaptiveLoss, looked
from kmpe.choice.scale import GivenLoss
from kmpe.estimators.collections import Given, given_rows
from kmpe.estimators.devices import GivenArrays
from kmpe.foreign import Foreign
from kmpe.inference.elsewhere import RegressionRows, of_all_rows
from kmpe.inference.intervals import mean_radius
from kmpe.inference.outliers import outlier_limit
from kmpe.inference.quantiles import middle_of
from kmpe.inference.regression import report
from kmpe.losses import Loss
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import Projected
from kmpe.rows.files import Reader
from kmpe.rows.source import Rows, is_sparse
from kmpe.rows.standardised import Standardised
from kmpe.rows.threads import team
from kmpe.solvers.minimise import SURE_ROWS, solve
from kmpe.solvers.walk import Walked, walk
from kmpe.starts.linear import LinearStart

__all__ = ["OF_ROWS", "fit_collections", "radius_of_mean", "walk_of"]

#: What a fit says of single rows, as `RegressionRows` has it.
OF_ROWS = ("weights_", "outlier_scores_", "leverages_", "cook_distances_", "loo_residuals_")


def walk_of(
    model: Any, rows: Rows, unit: float, n: float | None
) -> tuple[Standardised, Walked[Ridge, Array]]:
    """Return the map to standardised columns, and the fit; ``n`` is the number of rows."""
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
    """Fit a RobustLinearRegression to collections or device arrays; row attributes stay there."""
    with team(), given_rows(model, X, y, sample_weight) as given:
        if given.are_few(SURE_ROWS * (X.shape[1] + 1)):
            rows, T, weights = given.in_memory()
            model._fit(rows, T, weights, single=y.ndim == 1)
            for name in (*OF_ROWS, "outliers_", "trust_"):
                setattr(model, name, given.lazy(getattr(model, name), X))
        else:
            _fit_elsewhere(model, given, X, y, sample_weight)
        given.finish(model)


def _fit_elsewhere(
    model: Any, given: Given | GivenArrays, X: Any, y: Any, sample_weight: Any
) -> None:
    """Fit where the rows are; ``trust_``, which needs a sort of all residuals, is left out."""
    rows = given.rows
    centre = middle_of(rows) if model.fit_intercept else np.zeros(rows.n_targets)
    standard, walked = walk_of(model, rows.centred(centre), given.unit, None)
    chosen, fit = walked.chosen, walked.fit
    parts = chosen.sample, chosen.sample, fit, standard, given.unit
    found = report(*parts, chosen.scale, looked(chosen).density)
    of_sample = found.loo, chosen.sample.sample_weight, found.scores
    blind = bool(np.isinf(found.loo).any())
    found, psi2 = of_all_rows(found, chosen.problem, fit.theta, fit.criterion, chosen.scale)
    basis = chosen.problem.basis
    features = standard if basis is None else Projected(standard, basis)
    found = replace(found, intercept=found.intercept + centre)
    rounding = ROUNDING * (rows.largest_target + float(np.abs(centre).max()))
    # Rows on a device are kept with the weights that the rules have made 0.
    dropped = chosen.problem.rows.dropped if isinstance(given, Given) else ()
    judged = found.scale, rounding, found.root, psi2, blind
    facts = RegressionRows(fit.theta, fit.criterion, dropped, *judged)
    of_given = facts, features, X, y, sample_weight, centre
    lazy = given.of_rows(*of_given, kept=chosen.problem.rows)
    model._set_attributes(fit, found, single=y.ndim == 1)
    model._of_sample = of_sample
    for column, name in enumerate(OF_ROWS):
        setattr(model, name, lazy[:, column])
    model.loo_residuals_ = lazy[:, len(OF_ROWS) - 1 :]
    model.outliers_ = model.outlier_scores_ > outlier_limit(chosen.sample.dim)
    del model.trust_
    model._conclude(walked, found, standard, given.unit)


def radius_of_mean(model: Any, X: Any, coverage: float) -> Array:
    """Return the half width of the confidence interval of the mean of each row."""
    if isinstance(X, Foreign):
        raise ValueError('interval="confidence" takes X as a NumPy array')
    H = np.asarray(X.toarray() if is_sparse(X) else X, dtype=np.float64)
    H = np.column_stack([H, np.ones(len(H))]) if model.fit_intercept else H
    return mean_radius(H, model._seen_cov, model._unseen, model.df_, coverage)
