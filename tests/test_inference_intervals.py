"""Prediction intervals: residuals of refits without a row, ranks of the definition."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmpe import RobustLinearRegression
from kmpe.inference.intervals import (
    GROSS,
    around,
    check_coverage,
    cross_validated,
    leave_one_out,
    radius,
)
from kmpe.losses import Squared
from kmpe.problems.leverage import root_of_inverse
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows

# -- leave one out ---------------------------------------------------------------------------


def least_squares(problem):
    return problem.coefficients(problem.solve(problem.weighted(problem.zero, Squared())))


@pytest.mark.parametrize("alpha", [0.0, 0.1, 20.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("q", [1, 2])
def test_residuals_without_a_row_are_those_of_a_fit_without_it(alpha, weighted, q):
    rng = np.random.default_rng(0)
    H, T = rng.normal(size=(40, 5)), rng.normal(size=(40, q))
    k = rng.integers(1, 4, 40) if weighted else np.ones(40, dtype=int)
    problem = Ridge.of(Rows.of(H, T, k.astype(float)), alpha)
    R = problem.residuals(least_squares(problem))
    ours = leave_one_out(R, problem.leverages(root_of_inverse(problem.gram())))
    for i in range(40):
        # Of a row of weight k one of the k is left out.
        a = k - (np.arange(40) == i).astype(float)
        rest = Ridge(Rows.of(H[a > 0], T[a > 0], a[a > 0]), np.full(5, alpha))
        expected = T[i] - H[i] @ least_squares(rest)
        np.testing.assert_allclose(ours[i], expected, rtol=1e-8)


def test_the_estimators_residuals_are_those_of_refits():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)) * [1, 100, 1e-3], rng.normal(size=30)
    for alpha in (0.0, 2.0):
        model = RobustLinearRegression(Squared(), alpha=alpha)
        ours = model.fit(X, y).loo_residuals_[:, 0]
        for i in range(30):
            rest = np.arange(30) != i
            refit = RobustLinearRegression(Squared(), alpha=alpha).fit(X[rest], y[rest])
            assert ours[i] == pytest.approx(y[i] - refit.predict(X[i : i + 1])[0], rel=1e-5)


def test_a_row_that_alone_decides_a_coefficient_has_a_bound():
    np.testing.assert_allclose(leave_one_out(np.ones((2, 1)), np.array([1.0, 0.5])), [[100], [2]])
    np.testing.assert_allclose(leave_one_out(np.ones((2, 1)), 0.5), 2)


# -- radius ----------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    coverage=st.floats(0.05, 0.95),
)
def test_the_radius_is_the_conformal_quantile_of_what_is_not_gross(seed, n, coverage):
    rng = np.random.default_rng(seed)
    R, a = rng.standard_cauchy((n, 2)), rng.integers(0, 3, n).astype(float)
    a[0] = 1.0
    scores = np.abs(rng.standard_cauchy(n))
    scores[0] = 0.0
    found = radius(R, a, scores, coverage)
    for j in range(2):
        kept = scores <= GROSS
        values = np.sort(np.repeat(np.abs(R[kept, j]), a[kept].astype(int)))
        rank = int(np.ceil((len(values) + 1) * coverage))
        # With fewer rows than the rank nothing is sure to be enough.
        assert found[j] == (values[rank - 1] if rank <= len(values) else np.inf)


@pytest.mark.parametrize("coverage", [0.5, 0.9])
def test_new_rows_are_covered_as_often_as_is_asked(coverage):
    rng, covered = np.random.default_rng(0), []
    for _ in range(200):
        H, t = rng.normal(size=(30, 5)), rng.normal(size=(30, 1))
        problem = Ridge.of(Rows.of(H, t))
        beta = least_squares(problem)
        leverages = problem.leverages(root_of_inverse(problem.gram()))
        R = leave_one_out(problem.residuals(beta), leverages)
        half = radius(R, np.ones(30), np.zeros(30), coverage)[0]
        new = rng.normal(size=(200, 5))
        covered.append(np.mean(np.abs(rng.normal(size=200) - new @ beta[:, 0]) <= half))
    assert np.mean(covered) == pytest.approx(coverage, abs=0.03)


@pytest.mark.parametrize("coverage", [0, 1, -0.1, 90])
def test_what_is_no_share_is_refused(coverage):
    with pytest.raises(ValueError, match=f"return_interval={coverage} must lie between 0 and 1"):
        check_coverage(coverage)


def test_intervals_lie_around_the_predictions():
    one = around(np.array([1.0, 2.0]), np.array([0.5]))
    np.testing.assert_array_equal(one, [[1, 2], [0.5, 1.5], [1.5, 2.5]])
    _, low, high = around(np.ones((3, 2)), np.array([0.5, 2.0]))
    np.testing.assert_array_equal(high - low, [[1, 4]] * 3)


# -- CV+ -------------------------------------------------------------------------------------


def by_sorting(P, R, folds, a, coverage):
    """Return the ends of the intervals by the definition."""
    R, folds = np.repeat(np.abs(R), a), np.repeat(folds, a)
    rank = int(np.ceil((len(R) + 1) * coverage))
    if rank > len(R):
        return np.full(len(P), -np.inf), np.full(len(P), np.inf)
    return (
        -np.sort(R - P[:, folds], axis=1)[:, rank - 1],
        np.sort(P[:, folds] + R, axis=1)[:, rank - 1],
    )


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 6), st.floats(0.01, 0.99))
def test_ends_are_the_order_statistics_of_the_definition(seed, n, K, coverage):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-8, 8)
    R, P = scale * rng.standard_cauchy(n), scale * rng.normal(size=(7, K))
    folds, a = rng.integers(0, K, n), rng.integers(1, 4, n)
    ours = cross_validated(P, R, folds, a.astype(float), coverage)
    for end, expected in zip(ours, by_sorting(P, R, folds, a, coverage), strict=True):
        np.testing.assert_allclose(end, expected, rtol=1e-13, atol=1e-12 * np.abs(R).max())


def test_ties_and_an_end_at_zero():
    P, R = np.zeros((3, 2)), np.zeros(20)
    low, high = cross_validated(P, R, np.arange(20) % 2, np.ones(20), 0.9)
    np.testing.assert_array_equal([low, high], np.zeros((2, 3)))
