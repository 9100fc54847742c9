"""The high-breakdown start: constants from theory, breakdown, equivariance, exact fits."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import quad

from kmpe.losses.scale import quantile
from kmpe.rows.source import Block, Rows
from kmpe.starts.bisquare import consistent, efficiency, efficient, m_scales
from kmpe.starts.regression import BadLeverage, Status, high_breakdown
from kmpe.starts.weighted import count, cross_products, sample, steps

REFERENCE = Path(__file__).parent / "reference"


def rows(n=100, d=3, seed=0):
    rng = np.random.default_rng(seed)
    H = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    theta = rng.normal(size=(d + 1, 1))
    return H, H @ theta + rng.normal(size=(n, 1)), theta


# -- the bisquare ----------------------------------------------------------------------------


def rho(x):
    return 1 - (1 - np.minimum(x**2, 1)) ** 3


def test_the_constant_of_the_s_scale_halves_the_mean_of_rho():
    c = consistent(1)
    mean = quad(lambda x: rho(x / c) * stats.norm.pdf(x), -12, 12)[0]
    assert mean == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("q", [1, 2, 5])
def test_the_constant_of_the_m_step_has_its_efficiency(q):
    assert efficiency(q, efficient(q)) == pytest.approx(0.95)


def test_efficiency_is_that_of_the_asymptotic_variance():
    c = 3.0
    psi2 = quad(lambda x: (x * (1 - (x / c) ** 2) ** 2) ** 2 * stats.norm.pdf(x), -c, c)[0]
    slope = quad(lambda x: (1 - (x / c) ** 2) * (1 - 5 * (x / c) ** 2) * stats.norm.pdf(x), -c, c)[
        0
    ]
    assert efficiency(1, c) == pytest.approx(slope**2 / psi2)


def test_the_m_scale_solves_its_equation():
    s = np.random.default_rng(0).normal(size=(3, 200)) ** 2
    a = np.full(200, 1 / 200)
    v = m_scales(s, a, 0.5, 1, 30)
    np.testing.assert_allclose(rho(np.sqrt(s / v[:, None]) / consistent(1)) @ a, 0.5, atol=1e-6)


# -- weighted samples ------------------------------------------------------------------------


def test_counts_do_not_depend_on_the_unit():
    assert count(np.array([1.0, 2.0, 3.0])) == count(np.array([0.1, 0.2, 0.3])) == 6
    assert count(np.full(5, 7.0)) == 5


def test_a_quantile_of_weights_is_that_of_repeats():
    values, a = np.array([3.0, 1.0, 2.0]), np.array([1.0, 5.0, 2.0])
    for share in (0.2, 0.5, 0.7, 0.9):
        repeated = np.repeat(values, a.astype(int))
        assert quantile(values, share, a) == quantile(repeated, share, np.ones(8))


def test_a_systematic_sample_has_rows_by_their_weight():
    a = np.ones(1000)
    a[:10] = 100
    assert np.mean(sample(a, 400) < 10) == pytest.approx(0.5, abs=0.02)


def test_weighted_steps_are_least_squares():
    H, T, _ = rows()
    W = np.random.default_rng(1).uniform(size=(6, 100))
    found = steps(H, W, np.broadcast_to(T.T, (6, 1, 100)))
    for w, theta in zip(W, found, strict=True):
        expected = np.linalg.lstsq(np.sqrt(w)[:, None] * H, np.sqrt(w)[:, None] * T)[0]
        np.testing.assert_allclose(theta, expected, rtol=1e-6)
    np.testing.assert_allclose(
        cross_products(H, W[:2])[1], H.T @ (W[1][:, None] * H), rtol=1e-6, atol=1e-6
    )


@pytest.mark.parametrize("seed", [32, 35, 37, 38])
def test_one_row_far_out_leaves_the_other_directions_alone(seed):
    # Its product is 1e8 for one unit of weight: a ridge of a share of the weights is rounding.
    Z = np.zeros((40, 4))
    Z[0] = 1e4 * np.random.default_rng(seed).normal(size=4)
    (step,) = steps(Z, np.full((1, 40), 1 / 40), np.ones((1, 1, 40)))
    np.testing.assert_allclose(Z[0] @ step, 1, rtol=1e-4)


def test_no_columns_take_no_step():
    assert steps(np.empty((5, 0)), np.ones((1, 5)), np.ones((1, 1, 5))).shape == (1, 0, 1)


# -- the start -------------------------------------------------------------------------------


@pytest.mark.parametrize("distance", [8, 100])
@pytest.mark.parametrize(("d", "share"), [(1, 0.3), (3, 0.3), (8, 0.2)])
def test_clustered_leverage_points_do_not_hold_it(share, distance, d):
    rng = np.random.default_rng(d)
    H, T, theta = rows(300, d, seed=d)
    bad = int(share * 300)
    H[:bad, :d] = distance + 0.1 * rng.normal(size=(bad, d))
    T[:bad] = H[:bad] @ theta + 10 * distance
    start = high_breakdown(H, T, np.ones(300))
    assert start.status is Status.GUARDED
    assert np.linalg.norm(start.theta - theta) < 1
    assert 0.7 < start.scale < 1.8
    marked = BadLeverage.of(Rows.of(H, T), start)(Block(H, T, np.ones(300)))
    assert marked[:bad].all()
    assert marked[bad:].mean() < 0.02


@pytest.mark.parametrize("distance", [3, 5])
@pytest.mark.parametrize("d", [40, 100])
def test_with_many_columns_a_fifth_in_a_cluster_does_not_hold_it(d, distance):
    n, bad = 5 * (d + 1), d + 1
    apart = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    correlated = np.linalg.cholesky(0.9**apart).T
    for seed in range(4):
        rng = np.random.default_rng([seed, d])
        H, T, theta = rows(n, d, seed)
        towards = rng.normal(size=d)
        # Half as wide as the data: 3 units away it is nearer to the centre than most rows.
        H[:bad, :d] = 0.5 * H[:bad, :d] + distance * towards / np.linalg.norm(towards)
        T[:bad] = H[:bad] @ theta + 3 * distance + rng.normal(size=(bad, 1))
        H[:, :d] = H[:, :d] @ correlated
        start = high_breakdown(H, T, np.ones(n))
        assert start.status is Status.DIRECTIONS
        assert np.median(T[:bad] - H[:bad] @ start.theta) > 2 * distance


@pytest.mark.parametrize(("n", "d"), [(24, 4), (104, 20), (60, 20)])
def test_few_rows_for_each_coefficient(n, d):
    lost = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        H, T, theta = rows(n, d, seed)
        bad = n // 10
        H[:bad, :d] = 10 + 0.1 * rng.normal(size=(bad, d))
        T[:bad] = H[:bad] @ theta + 100
        start = high_breakdown(H, T, np.ones(n))
        lost += bool(np.abs(T[:bad] - H[:bad] @ start.theta).min() < 20)
    assert lost <= 1


def test_the_order_of_the_rows_changes_nothing():
    H, T, _ = rows()
    order = np.random.default_rng(1).permutation(100)
    one, other = (
        high_breakdown(H, T, np.ones(100)),
        high_breakdown(H[order], T[order], np.ones(100)),
    )
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-10)


def test_it_is_equivariant():
    H, T, _ = rows()
    shift = np.arange(4.0)[:, None]
    one = high_breakdown(H, T, np.ones(100))
    other = high_breakdown(H, 3 * T + H @ shift, np.ones(100))
    np.testing.assert_allclose(other.theta, 3 * one.theta + shift, rtol=1e-6)
    assert other.scale == pytest.approx(3 * one.scale)


def test_weights_are_repeats_and_their_unit_does_not_matter():
    H, T, _ = rows(60)
    a = np.random.default_rng(2).integers(1, 4, 60)
    weighed = high_breakdown(H, T, a * 0.01)
    repeated = high_breakdown(np.repeat(H, a, axis=0), np.repeat(T, a, axis=0), np.ones(a.sum()))
    np.testing.assert_allclose(weighed.theta, repeated.theta, rtol=1e-6)


def test_too_few_rows_are_said():
    H, T, _ = rows(5, 3)
    start = high_breakdown(H, T, np.ones(5))
    assert start.status is Status.FEW_ROWS
    assert "5 rows for 4 coefficients" in start.sentence
    assert np.isfinite(start.theta).all()


def test_an_exact_plane_is_found_and_said():
    H, _, theta = rows(50)
    T = H @ theta
    T[:15] += np.random.default_rng(0).normal(size=(15, 1))
    start = high_breakdown(H, T, np.ones(50))
    assert start.status is Status.EXACT
    assert start.scale == 0
    assert start.exact == pytest.approx(0.7)
    np.testing.assert_allclose(start.theta, theta, rtol=1e-10)


def test_dummies_give_finite_coefficients():
    rng = np.random.default_rng(0)
    D = np.eye(8)[rng.integers(0, 8, 200)]
    H = np.column_stack([D, np.ones(200)])
    T = D @ np.arange(8.0)[:, None] + rng.normal(size=(200, 1))
    start = high_breakdown(H, T, np.ones(200))
    assert np.abs(start.theta).max() < 20
    np.testing.assert_allclose(np.diff((np.eye(8) @ start.theta[:8])[:, 0]), 1, atol=1.5)


def test_good_leverage_points_are_not_bad():
    H, T, theta = rows(200)
    H[:10, :3] *= 20
    T[:10] = H[:10] @ theta + np.random.default_rng(0).normal(size=(10, 1))
    start = high_breakdown(H, T, np.ones(200))
    assert not BadLeverage.of(Rows.of(H, T), start)(Block(H, T, np.ones(200)))[:10].any()


@pytest.mark.parametrize(
    ("name", "outliers"),
    [("stackloss", {4, 21}), ("hbk", set(range(1, 11))), ("stars", {11, 20, 30, 34})],
)
def test_classic_data(name, outliers):
    data = pd.read_csv(REFERENCE / f"{name}.csv").to_numpy()
    H = np.column_stack([data[:, :-1], np.ones(len(data))])
    start = high_breakdown(H, data[:, -1:], np.ones(len(data)))
    r = np.abs(data[:, -1:] - H @ start.theta)[:, 0]
    assert outliers <= set(np.flatnonzero(r > 2.5 * start.scale) + 1)


@pytest.mark.parametrize("unit", [1.0, 1e-60, 1e60])
def test_rows_of_zeros_may_be_the_most(unit):
    """Their squared norm, 0, is no measure for the others: these kept no weight in the metric."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(100, 3)) * unit
    H[:60] = 0.0
    T = H @ np.ones((3, 1)) / unit + 0.1 * rng.normal(size=(100, 1))
    T[60:66] += 50
    found = high_breakdown(H, T, np.ones(100))
    np.testing.assert_allclose(found.theta * unit, 1.0, atol=0.15)


def degenerate(kind, seed):
    """Return inputs that repeat themselves or are few: fits tie in their scale, or are exact."""
    rng = np.random.default_rng(seed)
    X = {
        "equal inputs": lambda: rng.normal(size=(23, 6))[rng.integers(0, 23, 70)],
        "mostly zero": lambda: rng.normal(size=(12, 3)) * (rng.random((12, 3)) < 0.2),
        "binary": lambda: rng.integers(0, 2, (40, 3)).astype(float),
        "few rows": lambda: rng.normal(size=(13, 9)),
    }[kind]()
    noise = rng.normal(size=(len(X), 1))
    T = np.rint(0.6 * noise) if kind == "binary" else X.sum(axis=1, keepdims=True) + noise
    return np.column_stack([X, np.ones(len(X))]), T


@pytest.mark.parametrize("kind", ["equal inputs", "mostly zero", "binary", "few rows"])
def test_fits_that_tie_are_told_apart_in_the_same_way_in_every_unit(kind):
    for seed in range(40):
        H, T = degenerate(kind, seed)
        one, other = (high_breakdown(H, f * T, np.ones(len(H))) for f in (1.0, -3.7))
        moved = H @ (other.theta / -3.7 - one.theta)
        assert np.abs(moved).max() < 1e-6 * np.ptp(T), seed
        assert other.exact == one.exact


def test_of_fits_that_tie_in_all_they_leave_the_smallest_is_taken():
    """Half of the rows of a group are 0, and half are -1."""
    H = np.eye(2)[[0] * 8 + [1] * 5]
    T = np.array([[0.0], [-1.0]])[[0, 1] * 4 + [0] * 5]
    for unit in (1.0, -1.0, -3.7, 1e3):
        assert not np.round(high_breakdown(H, unit * T, np.ones(13)).theta / unit, 9).any()
