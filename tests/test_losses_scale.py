"""Rules for σ: consistent, invariant, never zero."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmpe.losses.scale import RULES, mad, middle, quantile, shortest_half, silverman

every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


@pytest.mark.parametrize("dim", [1, 3, 20])
def test_mad_finds_sigma_of_gaussian_residuals(dim):
    e = 2.5 * np.random.default_rng(0).standard_normal((100_000, dim))
    assert mad((e**2).sum(axis=1), dim=dim) == pytest.approx(2.5, rel=0.01)


def test_mad_is_not_moved_by_a_third_of_garbage():
    s = np.random.default_rng(0).standard_normal(10_000) ** 2
    s[:3000] = 1e12
    assert mad(s) < 2


def test_silverman_is_equation_30():
    s = np.random.default_rng(0).chisquare(3, 999)
    r = np.quantile(s, [0.25, 0.75], method="inverted_cdf")
    expected = 1.06 * min(s.std(), (r[1] - r[0]) / 1.354) * 999**-0.2
    assert silverman(s) ** 2 == pytest.approx(expected, rel=1e-12)


@every_rule
@given(
    rows=st.lists(st.tuples(st.floats(0, 100), st.integers(0, 4)), min_size=1, max_size=30).filter(
        lambda rows: any(count for _, count in rows)
    )
)
def test_a_weight_of_k_is_k_equal_rows(rule, rows):
    s, counts = np.array([s for s, _ in rows]), np.array([float(k) for _, k in rows])
    repeated = np.repeat(s, counts.astype(int))
    assert rule(s, counts, 1) == pytest.approx(rule(repeated, None, 1), rel=1e-9)


@every_rule
@given(scale=st.floats(1e-6, 1e6))
def test_rules_scale_with_the_residuals(rule, scale):
    s = np.random.default_rng(1).chisquare(2, 50)
    assert rule(scale**2 * s, None, 1) == pytest.approx(scale * rule(s, None, 1), rel=1e-9)


@every_rule
@pytest.mark.parametrize("s", [[0.0], [0.0] * 9, [0.0] * 8 + [4.0], [4.0] * 9, [1e-300] * 3])
def test_a_scale_is_always_positive(rule, s):
    assert 0 < rule(np.array(s), None, 1) < np.inf


def test_quantile_is_one_of_the_values():
    assert quantile(np.array([3.0, 1.0, 2.0, 10.0]), 0.5) == 2.0


@pytest.mark.parametrize("n", [1, 2, 5, 30])
@pytest.mark.parametrize("far", [1.0, 1e12])
def test_the_shortest_half_is_the_half_of_least_variance(n, far):
    x = np.random.default_rng(n).standard_normal((3, n))
    x[:, : n // 4] *= -far
    mean, deviation = shortest_half(x)
    h = n // 2 + 1
    for row, centre in zip(np.sort(x), mean, strict=True):
        windows = [row[i : i + h] for i in range(n - h + 1)]
        assert centre == pytest.approx(min(windows, key=np.var).mean(), rel=1e-6)
    assert (deviation >= 0).all()


def test_the_shortest_half_of_gaussian_values_has_their_deviation():
    x = 5 + 2 * np.random.default_rng(0).standard_normal((1, 100_000))
    mean, deviation = shortest_half(x)
    assert mean[0] == pytest.approx(5, abs=0.1)
    assert deviation[0] == pytest.approx(2, rel=0.02)


@pytest.mark.parametrize("a", [None, np.array([1.0, 2.0, 1.0, 2.0])])
def test_minus_the_values_have_minus_their_middle(a):
    x = np.array([1.0, 4.0, 9.0, 16.0])
    assert middle(-x, a) == -middle(x, a)
    assert middle(x) == 6.5


def test_halves_of_the_same_variance_count_alike():
    # 0, 0, 0, 1 and 0, 1, 1, 1 vary least: rounding must not choose one of them.
    x = np.array([[0.0, 0.0, 0.0, 1.0, 1.0, 1.0], [0.1, 0.1, 0.1, 0.4, 0.4, 0.4]])
    mean, deviation = shortest_half(x)
    np.testing.assert_allclose(mean, [0.5, 0.25])
    np.testing.assert_allclose(deviation[1], 0.3 * deviation[0])


def test_the_cutoff_of_eight_times_the_residuals_is_eight_times_as_large():
    for s in np.random.default_rng(0).chisquare(1, size=(2000, 9)):
        assert RULES["cutoff"](64 * s) == 8 * RULES["cutoff"](s)


@pytest.mark.parametrize("dim", [1, 2, 300])
def test_tied_rows_are_within_their_cutoff(dim):
    """With many components it was three scales of one, and every row was beyond it."""
    assert RULES["cutoff"](np.full(4, 7.0), None, dim) > np.sqrt(7.0)
    assert RULES["cutoff"](np.full(4, 7.0)) == pytest.approx(3 * mad(np.full(4, 7.0)))
