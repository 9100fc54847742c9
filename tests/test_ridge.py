"""The weighted ridge problem against textbook formulas and scikit-learn."""

import numpy as np
import pytest
from sklearn import linear_model

from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows


def problem(n=60, L=7, q=2, alpha=0.3, seed=0):
    rng = np.random.default_rng(seed)
    H, T, a = rng.normal(size=(n, L)), rng.normal(size=(n, q)), rng.uniform(0.5, 2, n)
    return Ridge.of(Rows.of(H, T, a), alpha), H, T, a


def test_solve_is_equation_23_from_any_start():
    ridge, H, T, a = problem()
    rng = np.random.default_rng(1)
    w = rng.uniform(0, 3, len(H))
    WH = (a * w)[:, None] * H
    expected = np.linalg.solve(H.T @ WH + 0.3 * np.eye(7), WH.T @ T)
    for start in (ridge.zero, rng.normal(size=ridge.zero.shape)):
        np.testing.assert_allclose(ridge.solve(w, start), expected, rtol=1e-10)


@pytest.mark.parametrize("shape", [(60, 7), (5, 20)], ids=["tall", "wide"])
def test_agrees_with_scikit_learn(shape):
    ridge, H, T, a = problem(*shape)
    ours = ridge.coefficients(ridge.solve(np.ones(len(H)), ridge.zero))
    theirs = linear_model.Ridge(alpha=0.3, fit_intercept=False).fit(H, T, sample_weight=a)
    np.testing.assert_allclose(ours.T, theirs.coef_, rtol=1e-9)


@pytest.mark.parametrize("shape", [(60, 7), (5, 20)], ids=["tall", "wide"])
def test_without_penalty_it_is_the_pseudo_inverse(shape):
    ridge, H, T, _ = problem(*shape, alpha=0.0)
    H[:, -1] = H[:, 0]  # and when the features are dependent
    ridge = Ridge.of(Rows.of(H, T), 0.0)
    ours = ridge.coefficients(ridge.solve(np.ones(len(H)), ridge.zero))
    np.testing.assert_allclose(ours, np.linalg.pinv(H) @ T, atol=1e-9)


def test_residuals_do_not_depend_on_the_blocks(monkeypatch):
    ridge, H, T, a = problem(n=50, L=3)
    beta = np.random.default_rng(2).normal(size=(3, 2))
    whole = ((T - H @ beta) ** 2).sum(axis=1)
    np.testing.assert_allclose(ridge.squared_residuals(beta), whole, rtol=1e-13)
    solved = ridge.solve(a, beta)
    monkeypatch.setattr("kmpe.rows.source._BLOCK_BYTES", 8 * 3 * 7)
    assert sum(1 for _ in ridge.rows.blocks()) == 8
    np.testing.assert_allclose(ridge.squared_residuals(beta), whole, rtol=1e-13)
    np.testing.assert_allclose(ridge.solve(a, beta), solved, rtol=1e-10)


def test_a_singular_matrix_still_gives_a_descent():
    H = np.ones((20, 4))  # one direction only, and a penalty below rounding
    T = np.arange(20.0)[:, None]
    ridge = Ridge.of(Rows.of(1e9 * H, T), 1e-12)
    before = ridge.squared_residuals(ridge.zero).sum()
    after = ridge.squared_residuals(ridge.solve(np.ones(20), ridge.zero)).sum()
    assert after < before
    assert after == pytest.approx(((T - T.mean()) ** 2).sum(), rel=1e-6)
