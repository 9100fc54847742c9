"""Fits of ELMs where the rows are: on a cluster, or on a device."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from kmpe.arrays import Array
from kmpe.choice.penalty import WIDTHS
from kmpe.choice.self_tuning import RightLabels
from kmpe.estimators.collections import Given, given_rows
from kmpe.estimators.devices import GivenArrays
from kmpe.estimators.elm.fitting import Settings, walk_drawn, walk_tuned
from kmpe.foreign import Foreign
from kmpe.inference.elsewhere import Freedom, MachineRows, SquaredResidual
from kmpe.inference.outliers import outlier_limit
from kmpe.inference.quantiles import mad_of
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import squared_norms
from kmpe.rows.device import DeviceRows
from kmpe.rows.elsewhere import RowsElsewhere
from kmpe.rows.sample import draw
from kmpe.rows.source import Block, Rows
from kmpe.rows.threads import team
from kmpe.solvers.minimise import LEAST_ROWS, START_ROWS
from kmpe.solvers.walk import Walked

__all__ = ["fit_collections"]


def fit_collections(model: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit an ELM; values of single rows stay where the rows are."""
    model._check_parameters()
    settings: Settings = model._settings()
    with team(), given_rows(model, X, y, sample_weight, labels=model._classifies) as given:
        if given.classes is not None:
            check_classification_targets(given.classes)
            model._keep_classes(given.classes)
        if given.are_few(2 * START_ROWS * _most_features(model, settings, X.shape[1])):
            inputs, T, weights = given.in_memory()
            model._fit(inputs, T, weights)
            for name in ("weights_", "outlier_scores_", "outliers_"):
                setattr(model, name, given.lazy(getattr(model, name), X))
        elif model._tunes_itself:
            _fit_tuned(model, settings, given, X, y, sample_weight)
        else:
            _fit_drawn(model, settings, given, X, y, sample_weight)
        given.finish(model)


def _most_features(model: Any, settings: Settings, d: int) -> int:
    """Return the largest number of features with 20 000 rows or more."""
    if model._tunes_itself:
        # The number of nodes of `kmpe.choice.widths` for 20 000 rows, and the linear part.
        return (settings.n_hidden or 316) + d + 1
    return settings.n_hidden or WIDTHS[-1]


def _fit_tuned(
    model: Any, settings: Settings, given: Given | GivenArrays, X: Any, y: Any, sample_weight: Any
) -> None:
    found = walk_tuned(given.rows, settings, classes=model._classifies)
    of_targets, machine, walked = found.unit, found.machine, found.walked
    problem, fit, decided = walked.chosen.problem, walked.fit, walked.chosen.details
    root = problem.factor(problem.weighted(fit.theta, fit.criterion)).root_of_inverse()
    weigh = decided.weights if isinstance(decided.weights, RightLabels) else None
    of_each = MachineRows(fit.theta, fit.criterion, of_targets.size, root, weigh)
    freedom = float(found.rows.total(Freedom(of_each))[0])
    model.hidden_layer_ = machine.features.plain()
    model._keep_coef(found.beta, given.rows.X.dtype)
    unit = given.unit * machine.unit
    model.loss_, model.alpha_ = of_targets.of_loss(decided.loss), decided.alpha * unit
    model.noise_ = of_targets.of_noise(decided.noise)
    model.tuning_, model._labels = machine.table, machine.labels
    model._keep_record(of_targets.of_fit(fit), freedom, given.unit)
    model.scale_ = mad_of(found.rows, SquaredResidual(of_each), problem.dim)
    facts = of_each, machine.features, X, y, sample_weight, of_targets.centre, unit
    lazy = given.of_rows(*facts, kept=found.rows)
    _set_rows(model, lazy, problem.dim)
    _set_sample(model, walked, of_each)


def _fit_drawn(
    model: Any, settings: Settings, given: Given | GivenArrays, X: Any, y: Any, sample_weight: Any
) -> None:
    rows = replace(given.rows, features=model._draw_layer(given.rows.X))
    layer, walked = walk_drawn(rows, given.unit, settings)
    problem, fit, tuned = walked.chosen.problem, walked.fit, walked.chosen.details
    of_each = MachineRows(fit.theta, fit.criterion)
    model.hidden_layer_ = layer
    model._keep_coef(problem.coefficients(fit.theta), given.rows.X.dtype)
    model.loss_, model.alpha_, model.noise_ = fit.loss, tuned.alpha * given.unit, tuned.noise
    model.tuning_, model._labels = [], None
    model._keep_record(fit, tuned.degrees_of_freedom, given.unit)
    n = rows.n
    shrunk = np.sqrt(n / max(n - tuned.degrees_of_freedom, 1.0))
    lazy = given.of_rows(of_each, layer, X, y, sample_weight, kept=problem.rows)
    if isinstance(lazy, Foreign):  # the residuals of all rows are there
        seen = DeviceRows.bare(lazy, problem.rows.a)
        scale = mad_of(seen, _squared, problem.dim)
    else:
        scale = mad_of(problem.rows, SquaredResidual(of_each), problem.dim)
    model.scale_ = scale * float(shrunk)
    _set_rows(model, lazy, problem.dim)
    _set_sample(model, walked, of_each)


def _squared(seen: Block) -> Array:
    """Return the squared residual norms of rows whose weights and residuals are known."""
    return squared_norms(seen.H[:, 1:])


def _set_rows(model: Any, lazy: Any, dim: int) -> None:
    """Set the row attributes."""
    model.weights_ = lazy[:, 0]
    model.outlier_scores_ = (lazy[:, 1:] ** 2).sum(axis=1) ** 0.5 / model.scale_
    model.outliers_ = model.outlier_scores_ > outlier_limit(dim)
    if model._labels is not None and model._given_loss() is None:
        model.outliers_ = model.weights_ < 0.5


def _set_sample(model: Any, walked: Walked[Ridge, Array], of_each: MachineRows) -> None:
    """Keep residuals of a sample, for intervals."""
    rows: Rows = walked.chosen.sample.rows
    if isinstance(rows, RowsElsewhere):  # least squares, and Algorithm 1 as printed, need no sample
        rows = draw(rows, LEAST_ROWS)
    # Weights of a sample add up to all rows, but leverages are those of single rows.
    alone = rows.per(rows.n / rows.n_counted)
    T = of_each.size * rows.T
    values = Rows(rows.X, T, alone.a, rows.features).column(of_each, 1 + T.shape[1])
    scores = np.linalg.norm(values[:, 1:], axis=1) / model.scale_
    model._of_sample = values[:, 1:], rows.a, scores
