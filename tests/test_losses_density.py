"""The loss of a tabulated density: its ψ is the score, and ρ, ρ' agree to rounding."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, interpolate, stats

from kmpe import Correntropy
from kmpe.losses.density import KNOTS, LogDensity

R = np.geomspace(1e-4, 1e5, 3000)
DENSITIES = {
    "normal": stats.norm,
    "logistic": stats.logistic,
    "t3": stats.t(3),
    "cauchy": stats.cauchy,
    "laplace": stats.laplace,
}
every_density = pytest.mark.parametrize("name", DENSITIES)


def table(name, sigma=1.0, **options):
    # Beyond 30 the normal density has no logarithm worth fitting.
    r = R[R < 30]
    return LogDensity.of(r, DENSITIES[name].logpdf(r), sigma, **options)


def score(name, r, h=1e-6):
    f = DENSITIES[name].logpdf
    return -(f(r + h) - f(r - h)) / (2 * h)


@every_density
@given(r=st.floats(0.02, 20))
def test_psi_is_the_score_of_the_density(name, r):
    assert table(name).psi(r) == pytest.approx(score(name, r), rel=2e-3)


@every_density
def test_rho_is_twice_the_fall_of_the_log_density(name):
    r = np.geomspace(0.1, 20, 50)
    f = DENSITIES[name].logpdf
    # The peak of Laplace's density is cut off at σ / 1000, where the table begins.
    np.testing.assert_allclose(table(name).rho(r**2), 2 * (f(0) - f(r)), rtol=1e-3, atol=2e-3)


T3 = table("t3")


@settings(max_examples=15)
@given(t=st.floats(-30, 30).map(lambda e: 2.0**e))
def test_rho_is_the_integral_of_the_weight_to_rounding(t):
    """Cell by cell Gauss-Legendre of order 4 is exact for cubics."""
    loss = T3
    ends = np.concatenate([[0.0], KNOTS[np.less(KNOTS, t)], [t]])
    total = sum(integrate.fixed_quad(loss.weight, a, b, n=4)[0] for a, b in pairwise(ends))
    assert loss.rho(t) == pytest.approx(total, rel=1e-9)


def test_the_knots_are_reached_exactly():
    w = np.linspace(2, 1, len(KNOTS))
    loss = LogDensity(1.0, w)
    np.testing.assert_allclose(loss.weight(KNOTS[1:-1]), w[1:-1], rtol=1e-12)
    assert loss.weight(0.0) == loss.weight(KNOTS[0]) == loss.weight(KNOTS[1])
    assert not loss.weight([KNOTS[-1], 2 * KNOTS[-1], np.inf]).any()


def test_between_knots_it_is_the_interpolant_of_scipy():
    w = np.random.default_rng(0).uniform(0, 2, len(KNOTS))
    w[0], w[-1] = w[1], 0.0
    w[-2] = 0.0  # without slope at either end, as the loss is
    theirs = interpolate.PchipInterpolator(KNOTS, w)
    t = np.geomspace(KNOTS[0], KNOTS[-1], 5000)[:-1]
    np.testing.assert_allclose(LogDensity(1.0, w).weight(t), theirs(t), rtol=1e-9, atol=1e-12)


@settings(max_examples=20)
@given(st.lists(st.floats(0, 10), min_size=len(KNOTS) // 20, max_size=len(KNOTS) // 20))
def test_between_knots_the_weight_lies_between_theirs(values):
    """PCHIP is monotone: no overshoot, so that no weight is negative."""
    w = np.resize(np.repeat(values, 20), len(KNOTS))
    loss = LogDensity(1.0, w)
    between = np.sqrt(KNOTS[:-1] * KNOTS[1:])
    w[0], w[-1] = w[1], 0.0  # as the class says of both ends
    low, high = np.minimum(w[:-1], w[1:]), np.maximum(w[:-1], w[1:])
    assert np.all(loss.weight(between) >= low - 1e-12)
    assert np.all(loss.weight(between) <= high + 1e-12)


def test_the_values_do_not_depend_on_how_many_are_asked_for():
    loss, t = table("t3"), np.geomspace(1e-8, 1e10, 30_000)
    alone = [loss.weight(x) for x in t[::1000]]
    np.testing.assert_array_equal(loss.weight(t)[::1000], alone)
    np.testing.assert_array_equal(loss.weight(t.reshape(3, -1)), loss.weight(t).reshape(3, -1))


def test_a_density_that_grows_has_no_weight_there():
    """Two humps at ±3: towards them from zero log f grows, and the weight would be negative."""
    r = R[R < 30]
    humps = np.logaddexp(stats.norm.logpdf(r, 3), stats.norm.logpdf(r, -3))
    loss = LogDensity.of(r, humps)
    inside = loss.weight(np.linspace(0.5, 2.5, 20) ** 2)
    assert np.all(inside > 0)  # enough to tell where all rows are within the humps
    assert inside.max() < 1e-5 * loss.weight(6.0**2)
    assert loss.psi(6.0) == pytest.approx(3.0, rel=1e-2)


def test_within_the_grain_the_weight_stays_what_it_is():
    sharp, blunt = table("laplace"), table("laplace", least=0.3)
    inside, outside = np.array([0.01, 0.1, 0.2]) ** 2, np.array([0.5, 2.0]) ** 2
    np.testing.assert_allclose(blunt.weight(inside), blunt.weight(0.28**2), rtol=0.1)
    np.testing.assert_allclose(blunt.weight(outside), sharp.weight(outside), rtol=1e-2)
    assert sharp.weight(1e-4) > 10 * blunt.weight(1e-4)


def test_the_unit_is_that_of_the_residuals():
    r = np.array([0.3, 1.0, 4.0])
    np.testing.assert_allclose(table("t3", 7.0).psi(7 * r), 7 * table("t3").psi(r), rtol=1e-9)


def test_a_falling_weight_is_concave_and_a_rising_one_is_not():
    assert table("cauchy").concave
    flat = LogDensity.of(R[R < 3], -(R[R < 3] ** 8))
    assert not flat.concave


def test_at_a_large_scale_it_is_the_correntropic_loss():
    assert table("t3").relaxed(5.0) == Correntropy(5.0)


@pytest.mark.parametrize(
    ("sigma", "weights", "sentence"),
    [
        (1.0, np.ones(3), f"weights must be {len(KNOTS)} numbers of at least 0"),
        (1.0, -np.ones(len(KNOTS)), "of at least 0"),
        (1.0, np.full(len(KNOTS), np.nan), "weights must be"),
        (0.0, np.ones(len(KNOTS)), "sigma=0.0 must be a number above 0"),
        (np.inf, np.ones(len(KNOTS)), "sigma=inf must be a number above 0"),
    ],
)
def test_tables_that_are_none_are_refused(sigma, weights, sentence):
    with pytest.raises(ValueError, match=sentence):
        LogDensity(sigma, weights)
