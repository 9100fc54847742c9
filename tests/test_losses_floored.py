"""The floor below which ρ is its tangent: ρ and ρ' still agree, and weights are bounded."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every_loss import LOSSES, name
from kmpe import KMPE, MPE, Correntropy, Huber
from kmpe.losses.floored import AsPrinted, Floored
from kmpe.losses.scale import mad

S = np.random.default_rng(0).chisquare(1, 200)
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=name)


@every_loss
def test_only_singular_losses_have_a_floor(loss):
    assert (Floored.at(loss, S, None, 1).floor > 0) == loss.singular


@every_loss
def test_above_the_floor_nothing_changes(loss):
    floored = Floored(loss, 1e-3)
    s = np.geomspace(1e-3, 100, 40)
    np.testing.assert_allclose(floored.rho(s), loss.rho(s), rtol=1e-13)
    w = loss.weight(s)
    np.testing.assert_array_equal(floored.weight(s), w)
    np.testing.assert_array_equal(floored.metric(s, w), loss.metric(s, w))


@every_loss
@settings(max_examples=15)
@given(s=st.floats(0, 0.999e-3), h=st.floats(1e-9, 1e-4))
def test_below_the_floor_rho_is_its_tangent(loss, s, h):
    floored = Floored(loss, 1e-3)
    t = min(s + h, 1e-3)
    rise = (floored.rho(np.array(t)) - floored.rho(np.array(s))) / (t - s) if t > s else np.nan
    assert floored.weight(np.array(s)) == loss.weight(1e-3)
    if t - s > 1e-7:
        scale = float(loss.weight(1e-3)) + float(loss.rho(1e-3)) * 1e-12 / (t - s)
        assert rise == pytest.approx(float(loss.weight(1e-3)), abs=1e-6 * scale)


@every_loss
def test_both_at_once_are_both(loss):
    floored = Floored(loss, 1e-3)
    s = np.geomspace(1e-6, 10, 50)
    rho, w = floored.rho_and_weight(s)
    np.testing.assert_allclose(rho, floored.rho(s), rtol=1e-11)
    np.testing.assert_allclose(w, floored.weight(s), rtol=1e-11, atol=1e-15)


@pytest.mark.parametrize("loss", [MPE(p=0.5), MPE(p=1), KMPE(p=0.5, sigma=1), KMPE(p=1.5, sigma=1)])
def test_weights_of_any_residuals_are_in_a_ratio_that_double_precision_holds(loss):
    floored = Floored.at(loss, S, None, 1)
    largest, typical = floored.weight(np.zeros(1)), floored.weight(np.array([mad(S) ** 2]))
    assert largest / typical < 1e14


@pytest.mark.parametrize("loss", [MPE(p=1.0), KMPE(p=1.0, sigma=1)])
def test_the_floor_follows_the_units(loss):
    assert Floored.at(loss, 1e6 * S, None, 1).floor == pytest.approx(
        1e6 * Floored.at(loss, S, None, 1).floor
    )


@pytest.mark.parametrize("dim", [1, 2, 5])
@pytest.mark.parametrize("loss", [Correntropy(1.0), Huber(1.0), MPE(p=3.0)], ids=repr)
def test_the_mean_curvature_is_the_trace_of_the_hessian_over_the_dimension(loss, dim):
    rng = np.random.default_rng(dim)
    for _ in range(20):
        e = rng.normal(size=dim)
        h, s = 1e-5, e @ e
        gradient = lambda x: loss.weight(x @ x) * x  # noqa: E731
        trace = sum(
            (gradient(e + h * axis) - gradient(e - h * axis)) @ axis / (2 * h)
            for axis in np.eye(dim)
        )
        expected = max(trace / dim, 0.1 * loss.weight(s))
        found = Floored(loss, 0.0).curvature(np.array(s), dim)
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-6)


def test_the_printed_algorithm_has_no_metric_but_the_weight():
    loss, s = KMPE(p=10, sigma=1), np.geomspace(1e-3, 10, 30)
    assert np.any(Floored(loss, 0.0).metric(s, loss.weight(s)) > 1.5 * loss.weight(s))
    np.testing.assert_array_equal(AsPrinted(loss, 0.0).metric(s, loss.weight(s)), loss.weight(s))


def test_the_floor_is_below_sigma_where_every_residual_is_zero():
    loss = KMPE(p=1, sigma=1e-10)
    floored = Floored.at(loss, np.zeros(3), None, 1)
    assert 0 < floored.floor < 1e-12 * loss.sigma**2
    assert floored.weight(np.zeros(3)).min() > 0
