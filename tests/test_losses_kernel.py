"""KMPE and the correntropic loss: limits, digits, and the paper's properties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmpe import KMPE, MPE, Correntropy
from kmpe.losses import kernel_gap
from kmpe.metrics import kmpe_loss

GRID = np.geomspace(1e-8, 300, 100)


@pytest.mark.parametrize("p", [0.5, 1, 3, 4, 10])
def test_a_wide_kernel_makes_kmpe_a_power(p):
    s = np.geomspace(1e-6, 10, 30)
    sigma = 1e5
    same_slope = (2 * sigma**2) ** (p / 2 - 1)  # KMPE's weight is (s / 2σ²)^(p/2 - 1)
    np.testing.assert_allclose(KMPE(p, sigma).weight(s) * same_slope, MPE(p).weight(s), 1e-6)


def test_kmpe_with_power_two_is_the_correntropic_loss():
    for f in ("rho", "weight", "curvature"):
        ours, theirs = getattr(KMPE(2, 0.7), f)(GRID), getattr(Correntropy(0.7), f)(GRID)
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_small_residuals_keep_their_digits():
    s = 1e-20
    assert Correntropy(1.0).rho(s) == pytest.approx(s, rel=1e-14)
    assert KMPE(4, 1.0).weight(s) == pytest.approx(s / 2, rel=1e-14)


def test_smallest_numbers_give_a_finite_weight_that_falls():
    s = np.array([0, 1e-320, 1e-200, 1e-100, 1e-20])
    for loss in (KMPE(0.5, 1.0), MPE(1.0)):
        assert np.all(np.diff(loss.weight(s)) <= 0)
        assert np.all(np.diff(loss.rho(s)) > 0) or loss.rho(1e-320) == pytest.approx(0, abs=1e-80)


# -- the paper's properties ------------------------------------------------------------------

powers = st.floats(0.5, 12)
widths = st.floats(0.05, 20)
# Squares of numbers below 1e-150 are no longer normal numbers: those are zero here.
vectors = st.lists(st.floats(-5, 5), min_size=1, max_size=20).map(
    lambda values: np.where(np.abs(values) < 1e-100, 0.0, values)
)


@given(x=vectors, p=powers, sigma=widths, seed=st.integers(0, 99))
def test_property_1_symmetric(x, p, sigma, seed):
    y = np.random.default_rng(seed).permutation(x)
    assert kmpe_loss(x, y, p=p, sigma=sigma) == kmpe_loss(y, x, p=p, sigma=sigma)


@given(x=vectors, y=vectors, p=powers, sigma=widths)
def test_property_2_between_zero_and_one(x, y, p, sigma):
    n = min(len(x), len(y))
    value = kmpe_loss(x[:n], y[:n], p=p, sigma=sigma)
    assert 0 <= value <= 1  # 1 itself only by rounding
    assert kmpe_loss(x, x, p=p, sigma=sigma) == 0
    if np.abs(x[:n] - y[:n]).max() > sigma:
        assert value > 0


@given(e=vectors.filter(lambda e: np.abs(e).min() > 1e-3), sigma=st.floats(0.1, 5))
def test_property_3_small_power(e, sigma):
    p = 1e-5
    first_order = 1 + p / 2 * np.mean(np.log(-np.expm1(-(e**2) / (2 * sigma**2))))
    assert kmpe_loss(e, 0 * e, p=p, sigma=sigma) == pytest.approx(first_order, abs=1e-7)


@given(e=vectors, p=st.floats(0.5, 6))
def test_properties_4_and_7_a_wide_kernel_gives_the_p_norm(e, p):
    sigma = 1e4
    norm = np.mean(np.abs(e) ** p) / (np.sqrt(2) * sigma) ** p
    assert kmpe_loss(e, 0 * e, p=p, sigma=sigma) == pytest.approx(norm, rel=1e-6)


def test_property_7_small_errors_give_the_p_norm():
    e = np.array([1e-6, -3e-6])
    norm = np.mean(np.abs(e) ** 3) / np.sqrt(2) ** 3
    assert kmpe_loss(e, 0 * e, p=3, sigma=1) == pytest.approx(norm, rel=1e-9)


@given(e=st.floats(-5, 5), p=powers, sigma=st.floats(0.2, 5))
def test_equation_8_is_the_derivative_of_psi(e, p, sigma):
    kernel = np.exp(-(e**2) / (2 * sigma**2))
    gap = -np.expm1(-(e**2) / (2 * sigma**2))
    if gap < 1e-12:
        return
    braces = (p - 2) * e**2 * kernel - 2 * e**2 * gap + 2 * sigma**2 * gap
    xi = p / (4 * sigma**4) * gap ** ((p - 4) / 2) * kernel * braces
    ours = p / (2 * sigma**2) * KMPE(p, sigma).psi_derivative(e)
    size = p / sigma**4 * gap ** ((p - 4) / 2) * kernel * (e**2 + sigma**2) * gap
    assert ours == pytest.approx(xi, rel=1e-8, abs=1e-9 * size)


@given(e=st.floats(-1, 1), p=st.floats(2, 12), sigma=widths)
def test_property_5_convex_within_sigma(e, p, sigma):
    assert KMPE(p, sigma).psi_derivative(sigma * e) >= -1e-12


@given(t=st.floats(1.01, 6), sigma=widths, more=st.floats(0, 5))
def test_property_6_a_large_power_is_convex_beyond_sigma(t, sigma, more):
    e2, kernel, gap = (t * sigma) ** 2, np.exp(-(t**2) / 2), -np.expm1(-(t**2) / 2)
    least = 2 * (e2 - sigma**2) * gap / (e2 * kernel) + 2  # (9)
    assert KMPE(least * (1 + 1e-9) + more, sigma).psi_derivative(t * sigma) >= 0
    assert KMPE(least * (1 - 1e-3), sigma).psi_derivative(t * sigma) <= 0


@given(x=st.lists(st.sampled_from([0.0, 0.5, -1.0, 3.0]), min_size=1, max_size=12), p=powers)
def test_property_8_a_narrow_kernel_counts_what_is_not_zero(x, p):
    x = np.array(x)
    assert kmpe_loss(x, 0 * x, p=p, sigma=1e-2) == pytest.approx(np.mean(x != 0))


@given(t=st.floats(1e-300, 50))
def test_the_kernel_gap_is_half_the_squared_distance_in_kernel_space(t):
    """‖φ(x) - φ(y)‖² = κ(x, x) - 2 κ(x, y) + κ(y, y), with all digits where that cancels."""
    series = t / 2 - t**2 / 8 + t**3 / 48
    exact = series if t < 1e-5 else (2 - 2 * np.exp(-t / 2)) / 2
    assert kernel_gap(t) == pytest.approx(exact, rel=1e-10)
