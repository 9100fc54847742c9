"""Two distances of a row: limits that let 99% of Gaussian rows pass, in and outside a fit."""

import numpy as np
import pytest
from scipy.stats import chi2

from kmpe.problems.pca.distances import (
    LEVEL,
    Limits,
    RowDistances,
    first_spread,
    kinds,
    score_distances,
    score_limit,
    spread,
    standardised,
    variance_factor,
    within_limits,
)


@pytest.mark.parametrize("m", [1, 2, 5, 20])
def test_the_limit_of_scores_is_that_of_chi_squared_for_many_rows(m):
    assert score_limit(1e7, m) == pytest.approx(np.sqrt(chi2.ppf(LEVEL, m)), rel=1e-4)
    assert score_limit(30 + m, m) > score_limit(100 + m, m)


def test_too_few_rows_have_no_limit():
    assert score_limit(3.0, 5) == score_limit(10.0, 0) == np.inf
    none = np.zeros(4, dtype=bool)
    assert spread(np.ones(4), none, 2).limit == np.inf
    assert first_spread(np.ones(4), none, 2).limit == np.inf


@pytest.mark.parametrize(("k", "m"), [(20, 2), (60, 5)])
def test_new_gaussian_rows_pass_the_limit_of_scores_as_often_as_promised(k, m):
    rng = np.random.default_rng(0)
    beyond = []
    for _ in range(200):
        fit, new = rng.standard_normal((k, m)), rng.standard_normal((500, m))
        beyond.append(np.mean(score_distances(new, fit) > score_limit(k, m)))
    assert np.mean(beyond) == pytest.approx(1 - LEVEL, abs=0.002)


@pytest.mark.parametrize("level", [0.9, 0.99])
@pytest.mark.parametrize("dim", [1, 3, 10])
def test_the_variance_of_trimmed_gaussian_rows_is_made_good(dim, level):
    X = np.random.default_rng(0).standard_normal((400_000, dim))
    inside = np.sum(X**2, axis=1) <= chi2.ppf(level, dim)
    assert variance_factor(dim, level) * X[inside].var() == pytest.approx(1, abs=0.01)
    assert variance_factor(np.inf) == variance_factor(0) == 1


@pytest.mark.parametrize("q", [2, 10, 100])
def test_the_spread_of_gaussian_norms_counts_their_components(q):
    d = np.linalg.norm(np.random.default_rng(0).standard_normal((100_000, q)), axis=1)
    inside = d <= np.sqrt(chi2.ppf(LEVEL, q))
    around = spread(d, inside, 0)
    assert around.dimensions == pytest.approx(q, rel=0.08)
    assert np.mean(d > around.limit) == pytest.approx(1 - LEVEL, abs=0.003)


def test_counts_are_repeated_rows():
    rng = np.random.default_rng(0)
    d, a = rng.chisquare(5, size=50), rng.integers(0, 4, size=50)
    counted = spread(d, a > 0, 2, a.astype(float))
    repeated = spread(np.repeat(d, a), np.ones(a.sum(), dtype=bool), 2)
    np.testing.assert_allclose(counted, repeated)


def test_the_first_limit_is_not_moved_by_outliers():
    d = np.linalg.norm(np.random.default_rng(0).standard_normal((1000, 5)), axis=1)
    half = d <= np.median(d)
    clean = first_spread(d, half, 2).limit
    d[-400:] = 50
    assert first_spread(d, half & (np.arange(1000) < 600), 2).limit < 1.2 * clean


def test_rows_off_the_subspace_and_rows_far_out_inside_it_do_not_pass():
    rng = np.random.default_rng(0)
    T, d = rng.standard_normal((200, 2)), np.abs(rng.standard_normal(200))
    T[:5], d[5:10] = 20, 20
    inside = np.arange(200) >= 10
    passed = within_limits(T, d, inside, first=False)
    assert not passed[:10].any()
    assert passed[10:].mean() > 0.95


def test_a_direction_without_variance_puts_what_varies_far_out():
    T = np.array([[1.0, 0.0], [1.0, 1e-20], [1.0, 1e-3]])
    distance = standardised(T, np.array([1.0, 0.0]))
    np.testing.assert_allclose(distance[:2], 1)
    assert distance[2] > 100


def test_kinds_are_those_of_the_outlier_map():
    rows = RowDistances(np.array([0, 0, 2, 2.0]), np.array([0, 2, 0, 2.0]), np.zeros(4, dtype=bool))
    names = ["regular", "good leverage", "orthogonal", "bad leverage"]
    assert kinds(rows, Limits(1, 1)).tolist() == names
