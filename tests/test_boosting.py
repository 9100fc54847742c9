"""Objectives and metrics for boosters: slopes, bounds of the curvature, the start."""

import numpy as np
import pytest

from every_loss import LOSSES, name
from kmpe import Huber, Squared, Tukey
from kmpe.boosting import Objective, lightgbm_metric, xgboost_metric
from kmpe.metrics import robust_error


class Rows:
    """What XGBoost's DMatrix and LightGBM's Dataset have in common."""

    def __init__(self, y, weight=None):
        self._y, self._weight = y, weight

    def get_label(self):
        return self._y

    def get_weight(self):
        return self._weight


RNG = np.random.default_rng(0)
Y, F = RNG.normal(size=50), RNG.normal(size=50)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_the_slope_is_that_of_the_loss_and_the_curvature_bounds_it(loss):
    slope, curvature = Objective(loss)(Y, F)
    np.testing.assert_allclose(slope, -loss.psi(Y - F))
    assert np.all(curvature >= np.maximum(loss.psi_derivative(Y - F), 0.0) * (1 - 1e-9))


def test_both_kinds_of_arguments_and_weights():
    a = RNG.integers(1, 4, 50).astype(float)
    objective = Objective(Tukey())
    by_rows, by_arrays = objective(F, Rows(Y, a)), objective(Y, F, a)
    np.testing.assert_array_equal(by_rows, by_arrays)
    counts = a.astype(int)
    slope, _ = objective(np.repeat(Y, counts), np.repeat(F, counts))
    np.testing.assert_allclose(np.repeat(by_arrays[0] / a, counts), slope)
    np.testing.assert_array_equal(objective(F[:, None], Rows(Y))[0], objective(Y, F)[0])


def test_sigma_is_asked_again_in_every_round():
    objective = Objective(Huber())
    objective(Y, F)
    first = objective.sigma_
    objective(Y, Y + 0.1 * (F - Y))
    assert objective.sigma_ == pytest.approx(0.1 * first)


@pytest.mark.parametrize("origin", [-1e6, 0.0, 300.0])
@pytest.mark.parametrize("rate", [0.01, 0.1, 1.0])
def test_two_rounds_lead_to_the_median(origin, rate):
    """Whatever the learning rate, with leaves that are means over all rows."""
    y = origin + np.concatenate([RNG.normal(size=80), 50 + RNG.normal(size=20)])
    objective, predicted = Objective(), np.full(100, 0.5)
    for _ in range(2):
        slope, curvature = objective(y, predicted)
        predicted = predicted - rate * slope.sum() / (curvature.sum() + 1.0)
    assert abs(predicted[0] - np.median(y)) <= rate + 0.1 + 1e-6 * abs(origin)


def test_fits_may_take_turns():
    """As those to the folds of ``xgboost.cv`` and ``lightgbm.cv`` do, with one objective."""

    def rounds(objective, y, predicted):
        slope, curvature = objective(y, predicted)
        return predicted - 0.1 * slope.sum() / curvature.sum() - 1e-3 * np.sign(slope)

    several = [100 + Y, 100 + Y[:40], 100 + Y[10:]]
    alone, together = (
        [np.full(len(y), 0.5) for y in several],
        [np.full(len(y), 0.5) for y in several],
    )
    shared, own = Objective(), [Objective() for _ in several]
    for _ in range(6):
        together = [rounds(shared, y, F) for y, F in zip(several, together, strict=True)]
        alone = [rounds(o, y, F) for o, y, F in zip(own, several, alone, strict=True)]
    for one, other in zip(alone, together, strict=True):
        np.testing.assert_array_equal(one, other)
        assert abs(one.mean() - 100) < 1


def test_by_default_clean_targets_have_squared_error():
    objective = Objective()
    slope, curvature = objective(Y, F)
    np.testing.assert_allclose(slope, F - Y)
    np.testing.assert_array_equal(curvature, 1.0)


def test_by_default_gross_errors_are_bounded_and_then_left_out():
    y = np.where(np.arange(50) < 10, 1e3, Y)
    objective = Objective()
    for k in range(30):
        # Every row in a leaf of its own: no row agrees with another.
        slope, curvature = objective(y, F + 1e-3 * k * np.arange(50))
        assert np.abs(slope[:10]).max() < 5
    np.testing.assert_array_equal(slope[:10], 0.0)
    np.testing.assert_array_equal(curvature[:10], 0.0)
    assert curvature[10:].min() > 0


def test_a_start_that_is_given_is_left_alone():
    for start in (np.full(50, np.sort(Y)[24]), F):
        objective = Objective(Squared())
        np.testing.assert_allclose(objective(Y, start)[0], start - Y)


def test_metrics_say_the_same_in_both_kinds():
    error = xgboost_metric(Y, F)
    assert error == robust_error(Y, F)
    assert xgboost_metric(F, Rows(Y)) == ("robust_error", error)
    assert lightgbm_metric(F, Rows(Y)) == lightgbm_metric(Y, F) == ("robust_error", error, False)
    spoilt = np.where(np.arange(50) < 5, 1e3, Y)
    assert xgboost_metric(spoilt, F) < xgboost_metric(spoilt, 3 * F)


def test_bad_arguments_are_named_with_advice():
    with pytest.raises(ValueError, match="loss='huber' must be 'adaptive' or a loss such as"):
        Objective("huber")
    with pytest.raises(ValueError, match="one target per row is needed"):
        Objective()(np.zeros((5, 2)), np.zeros((5, 2)))
