"""The weighted ridge problem against textbook formulas, scikit-learn and numpy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import linear_model

from every_loss import LOSSES, name
from kmpe.losses import KMPE, Correntropy, Huber, Squared
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import weighted_gram
from kmpe.rows.source import Rows

SHAPES = pytest.mark.parametrize("shape", [(60, 7), (5, 20)], ids=["tall", "wide"])
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=name)


def problem(n=60, L=7, q=2, alpha=0.3, seed=0):
    rng = np.random.default_rng(seed)
    H, T, a = rng.normal(size=(n, L)), rng.normal(size=(n, q)), rng.uniform(0.5, 2, n)
    return Ridge.of(Rows.of(H, T, a), alpha), H, T, a


def solved(ridge, loss, theta):
    return ridge.solve(ridge.weighted(theta, loss))


def least_squares(ridge):
    return ridge.coefficients(solved(ridge, Squared(), ridge.zero))


# -- solve -----------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [Squared(), Huber(0.8), Correntropy(1.0)], ids=repr)
def test_solve_is_equation_23_from_any_start(loss):
    ridge, H, T, a = problem()
    for start in (ridge.zero, np.random.default_rng(1).normal(size=ridge.zero.shape)):
        w = loss.weight(((T - H @ start) ** 2).sum(axis=1))
        WH = (a * w)[:, None] * H
        expected = np.linalg.solve(H.T @ WH + 0.3 * np.eye(7), WH.T @ T)
        np.testing.assert_allclose(solved(ridge, loss, start), expected, rtol=1e-9)


def test_where_the_weights_do_not_bound_the_curvature_the_step_is_shorter_the_same_way():
    ridge, H, T, a = problem()
    loss, start = KMPE(p=6, sigma=2.0), np.full((7, 2), 0.1)
    s = ((T - H @ start) ** 2).sum(axis=1)
    B = H.T @ ((a * loss.metric(s, loss.weight(s)))[:, None] * H) + 0.3 * np.eye(7)
    g = H.T @ ((a * loss.weight(s))[:, None] * (T - H @ start)) - 0.3 * start
    np.testing.assert_allclose(solved(ridge, loss, start), start + np.linalg.solve(B, g), rtol=1e-9)


@SHAPES
def test_agrees_with_scikit_learn(shape):
    ridge, H, T, a = problem(*shape)
    theirs = linear_model.Ridge(alpha=0.3, fit_intercept=False).fit(H, T, sample_weight=a)
    np.testing.assert_allclose(least_squares(ridge).T, theirs.coef_, rtol=1e-9)


def test_every_feature_may_have_its_own_penalty():
    _, H, T, a = problem()
    alphas = np.r_[0.0, np.geomspace(1e-3, 1e3, 6)]
    ours = least_squares(Ridge(Rows.of(H, T, a), alphas))
    expected = np.linalg.solve(H.T @ (a[:, None] * H) + np.diag(alphas), H.T @ (a[:, None] * T))
    np.testing.assert_allclose(ours, expected, rtol=1e-9)


@SHAPES
@pytest.mark.parametrize("kind", ["full rank", "twice", "sum", "zero", "tiny", "sparse"])
def test_without_penalty_it_is_the_minimum_norm_solution_of_numpy(shape, kind):
    """One treatment of singular systems: numpy.linalg.lstsq's."""
    _, H, T, _ = problem(*shape)
    if kind == "twice":
        H[:, -1] = H[:, 0]
    elif kind == "sum":
        H[:, -1] = H[:, 0] + 2 * H[:, 1] - H[:, 2]
    elif kind == "zero":
        H[:, 3] = 0
    elif kind == "tiny":
        H[:, 3] *= 1e-9
        H[:, -1] = H[:, 0]
    elif kind == "sparse":
        H = H * (np.abs(H) > 1)
        H[:, -1] = H[:, 0]
    rows = Rows.of(sparse.csr_array(H) if kind == "sparse" else H, T)
    expected = np.linalg.lstsq(H, T, rcond=None)[0]
    found = least_squares(Ridge.of(rows))
    np.testing.assert_allclose(H @ found, H @ expected, atol=1e-8 * np.abs(T).max())
    norms = (np.linalg.norm(beta, axis=0) for beta in (found, expected))
    np.testing.assert_allclose(*norms, rtol=1e-6)
    # If the sizes of columns differ by 1e9, the null space is known to 1e-7, and the coefficients
    # along it to that share of the largest, here as in NumPy: it differs between processors.
    if not (kind == "tiny" and shape == (60, 7)):
        atol = 1e-9 * np.abs(expected).max()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=atol)


@pytest.mark.parametrize("loss", [Huber(0.5), Correntropy(1.0)], ids=repr)
def test_weighted_dependent_features_have_the_minimum_norm_as_well(loss):
    ridge, H, T, a = problem(alpha=0.0)
    H[:, -1] = H[:, 0]
    ridge = Ridge.of(Rows.of(H, T, a))
    start = np.random.default_rng(3).normal(size=(7, 2))  # the start must leave no trace
    root = np.sqrt(a * loss.weight(((T - H @ start) ** 2).sum(axis=1)))[:, None]
    expected = np.linalg.lstsq(root * H, root * T, rcond=None)[0]
    np.testing.assert_allclose(solved(ridge, loss, start), expected, rtol=1e-8)


def test_the_minimum_norm_of_many_blocks_is_that_of_one():
    _, H, T, a = problem(n=40_000, L=30)
    H[:, -1] = H[:, 0]
    rows, root = Rows.of(H, T, a), np.sqrt(a)[:, None]
    assert sum(1 for _ in rows.blocks()) > 4
    expected = np.linalg.lstsq(root * H, root * T, rcond=None)[0]
    np.testing.assert_allclose(least_squares(Ridge.of(rows)), expected, rtol=1e-7, atol=1e-12)


def test_a_singular_matrix_still_gives_a_descent():
    H = np.ones((20, 4))  # one direction only, and a penalty below rounding
    T = np.arange(20.0)[:, None]
    ridge = Ridge.of(Rows.of(1e9 * H, T), 1e-12)
    before = ridge.squared_residuals(ridge.zero).sum()
    after = ridge.squared_residuals(solved(ridge, Squared(), ridge.zero)).sum()
    assert after < before
    assert after == pytest.approx(((T - T.mean()) ** 2).sum(), rel=1e-6)


# -- cost, gradient, residuals ---------------------------------------------------------------


@every_loss
def test_one_pass_says_what_several_would(loss):
    ridge, H, T, a = problem(n=30)
    theta = 0.1 * np.random.default_rng(1).normal(size=ridge.zero.shape)
    R = T - H @ theta
    s = (R**2).sum(axis=1)
    at, point = ridge.weighted(theta, loss), ridge.point(theta, loss)
    misfit, penalty = 0.5 * a @ loss.rho(s), 0.15 * (theta**2).sum()
    assert at.misfit == pytest.approx(misfit)
    assert at.mass == pytest.approx(a @ loss.weight(s))
    for cost in (at.cost, point.cost, ridge.cost(theta, loss)):
        assert cost == pytest.approx(misfit + penalty, rel=1e-11)
    pull = H.T @ ((a * loss.weight(s))[:, None] * R)
    np.testing.assert_allclose(at.moments[1], pull, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(point.gradient, 0.3 * theta - pull, rtol=1e-9, atol=1e-10)


@every_loss
def test_the_gradient_is_that_of_the_cost(loss):
    ridge, *_ = problem(n=20, L=3)
    theta = 0.1 * np.random.default_rng(1).normal(size=(3, 2))
    gradient, h = ridge.point(theta, loss).gradient, 1e-6
    for i, j in np.ndindex(3, 2):
        step = np.zeros((3, 2))
        step[i, j] = h
        numeric = (ridge.cost(theta + step, loss) - ridge.cost(theta - step, loss)) / (2 * h)
        assert gradient[i, j] == pytest.approx(numeric, rel=1e-4, abs=1e-4 * np.abs(gradient).max())


def test_residuals_do_not_depend_on_the_blocks():
    ridge, H, T, _ = problem(n=40_000, L=30)
    beta = np.random.default_rng(2).normal(size=(30, 2))
    assert sum(1 for _ in ridge.rows.blocks()) > 4
    R = T - H @ beta
    np.testing.assert_allclose(ridge.residuals(beta), R, atol=1e-11)
    np.testing.assert_allclose(ridge.squared_residuals(beta), (R**2).sum(axis=1), atol=1e-10)


# -- forms of one problem --------------------------------------------------------------------


@settings(max_examples=20)
@given(n=st.integers(1, 12), L=st.integers(1, 12), seed=st.integers(0, 99))
def test_the_smallest_form_has_the_same_solution(n, L, seed):
    rng = np.random.default_rng(seed)
    H, T = rng.normal(size=(n, L)), rng.normal(size=(n, 1))
    small, plain = Ridge.of(Rows.of(H, T), 0.2), Ridge(Rows.of(H, T), np.full(L, 0.2))
    assert small.rows.n_features == min(n, L)
    np.testing.assert_allclose(least_squares(small), least_squares(plain), rtol=1e-7, atol=1e-9)


def test_a_basis_of_everything_changes_nothing():
    ridge, *_ = problem(alpha=0.0)
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(7, 7)))[0]
    turned = ridge.in_basis(Q)
    np.testing.assert_allclose(least_squares(turned), least_squares(ridge), rtol=1e-9)
    again = turned.in_basis(Q)
    np.testing.assert_allclose(least_squares(again), least_squares(ridge), rtol=1e-9)


def test_a_sample_has_its_share_of_the_penalty():
    ridge, H, T, a = problem()
    half = ridge.take(np.arange(30))
    np.testing.assert_allclose(half.penalties, 0.3 * a[:30].sum() / a.sum())
    twice = ridge.on(Rows.of(np.vstack([H, H]), np.vstack([T, T]), np.r_[a, a]))
    np.testing.assert_allclose(least_squares(twice), least_squares(ridge), rtol=1e-9)


def test_leverages_are_the_diagonal_of_the_hat_matrix():
    ridge, H, _, a = problem(alpha=0.0)
    root = np.linalg.inv(np.linalg.cholesky(H.T @ (a[:, None] * H))).T
    hat = H @ np.linalg.inv(H.T @ (a[:, None] * H)) @ H.T
    np.testing.assert_allclose(ridge.leverages(root), np.diagonal(hat), rtol=1e-10)
    assert a @ ridge.leverages(root) == pytest.approx(7)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_gram_matrices(kind):
    rng = np.random.default_rng(0)
    H, c = rng.normal(size=(40, 5)) * (rng.uniform(size=(40, 5)) < 0.5), rng.uniform(size=40)
    np.testing.assert_allclose(weighted_gram(kind(H), c), H.T @ np.diag(c) @ H, atol=1e-12)
    ridge = Ridge(Rows.of(kind(H), np.zeros((40, 1)), c), np.arange(5.0))
    expected = H.T @ np.diag(c) @ H + np.diag(np.arange(5.0))
    np.testing.assert_allclose(ridge.gram(), expected, atol=1e-12)


def test_distances_are_relative():
    ridge, *_ = problem()
    one, other = np.ones((7, 2)), 1.01 * np.ones((7, 2))
    assert ridge.change(one, other) == pytest.approx(0.01 / 1.01)
    assert ridge.change(1e9 * one, 1e9 * other) == pytest.approx(0.01 / 1.01)
    assert ridge.change(1e200 * one, 1e200 * other) == pytest.approx(0.01 / 1.01)
    assert ridge.change(ridge.zero, ridge.zero) == 0
    np.testing.assert_allclose(ridge.between(one, other, 0.25), 1.0025)
