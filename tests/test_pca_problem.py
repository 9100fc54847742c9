"""Weighted PCA: three forms of one problem, and the steps between subspaces."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.decomposition import PCA

from kmpe import KMPE, RobustPCA, Squared
from kmpe.problems.pca import Dual, Iterated, Points, Scatter, weighted_pca
from kmpe.problems.pca.eigen import leading_eigenvectors
from kmpe.problems.pca.forms import _MANY_COLUMNS
from kmpe.problems.pca.subspace import between, distance
from kmpe.solvers.reweighted import reweight


def points(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [9, 7, 5, 3] @ rng.standard_normal((4, d))
    return Points(X + rng.standard_normal((n, d)) + 3, rng.integers(1, 3, n).astype(float))


def projector(theta):
    return theta.W @ theta.W.T


@pytest.mark.parametrize("shape", [(90, 30), (30, 90)])
def test_the_three_forms_agree(shape):
    data = points(*shape)
    w = np.random.default_rng(1).uniform(size=shape[0])
    forms = [Iterated(data, 4).final(4), Scatter(data, 4), Dual.of(data, 4)]
    if shape[0] > shape[1]:
        forms.pop()
    solved = [form.lift(form.solve(w, form.origin)) for form in forms]
    for theta in solved[1:]:
        np.testing.assert_allclose(theta.mean, solved[0].mean, atol=1e-10)
        np.testing.assert_allclose(projector(theta), projector(solved[0]), atol=1e-6)
        np.testing.assert_allclose(theta.variances, solved[0].variances, rtol=1e-9)
        assert theta.total == pytest.approx(solved[0].total, rel=1e-10)


@pytest.mark.parametrize("shape", [(90, 30), (30, 90)])
def test_robust_fits_of_the_three_forms_agree(shape):
    data = points(*shape)
    forms = [
        Iterated(data, 3),
        Scatter(data, 3),
        *([Dual.of(data, 3)] if shape[0] < shape[1] else []),
    ]
    ends = []
    for form in forms:
        theta = form.solve(np.ones(shape[0]), form.origin)
        fit = reweight(form, KMPE(p=4, sigma=6.0), theta, tol=1e-15, max_iter=500)
        ends.append(form.lift(fit.theta))
    for theta in ends[1:]:
        np.testing.assert_allclose(projector(theta), projector(ends[0]), atol=1e-6)


@pytest.mark.parametrize("form", [Scatter, Iterated, Dual.of])
def test_squared_residuals_are_those_of_the_reconstruction(form):
    data = points(20, 40)
    problem = form(data, 3)
    theta = problem.solve(np.ones(20), problem.origin)
    s, lifted = problem.squared_residuals(theta), problem.lift(theta)
    Y = data.X - lifted.mean
    E = Y - Y @ lifted.W @ lifted.W.T
    np.testing.assert_allclose(s, (E**2).sum(axis=1), rtol=1e-9)


def test_the_form_follows_the_shape():
    many = _MANY_COLUMNS + 1
    assert isinstance(weighted_pca(points(30, 10), 2), Scatter)
    assert isinstance(weighted_pca(points(10, 30), 2), Dual)
    assert isinstance(weighted_pca(points(many, many), 2), Iterated)
    assert isinstance(weighted_pca(points(many, many), 2, most=many), Dual)


def test_many_rows_and_columns_agree_with_scikit_learn():
    n = _MANY_COLUMNS + 50
    X = points(n, n).X
    ours = RobustPCA(4, loss=Squared()).fit(X)
    theirs = PCA(4, svd_solver="arpack", random_state=0).fit(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-8)


def test_a_sketch_ends_where_the_whole_scatter_matrix_does():
    data = points(400, 40)
    w = np.random.default_rng(1).uniform(size=400)
    exact = Scatter(data, 4)
    some = Scatter(data.some(np.arange(100)), 4)
    S, _ = some.scatter(some.sample_weight)
    sketched = replace(exact, sketch=S)
    wanted = exact.solve(w, exact.origin)
    theta = exact.solve(np.ones(400), exact.origin)
    for _ in range(8):
        sketched.squared_residuals(theta)
        theta = sketched.solve(w, theta)
    np.testing.assert_allclose(projector(theta), projector(wanted), atol=1e-6)
    np.testing.assert_allclose(theta.variances, wanted.variances, rtol=1e-9)
    np.testing.assert_allclose(theta.mean, wanted.mean)


def test_many_rows_settle_on_a_sample_and_end_on_all_of_them():
    rng = np.random.default_rng(0)
    U = np.linalg.qr(rng.standard_normal((20, 2)))[0]
    X = (rng.standard_normal((12_000, 2)) * [9, 5]) @ U.T + rng.standard_normal((12_000, 20))
    X[:1200] = 40 + rng.standard_normal((1200, 20))
    model = RobustPCA(2, random_state=0, tol=1e-12).fit(X)
    clean = PCA(2, svd_solver="full").fit(X[model.weights_ > 0.5])
    np.testing.assert_allclose(abs(model.components_ @ clean.components_.T), np.eye(2), atol=1e-2)
    assert model.outliers_[:1200].all()
    assert model.outliers_[1200:].mean() < 0.01


def test_between_begins_here_and_ends_there():
    data = points(50, 10)
    problem = Scatter(data, 3)
    here = problem.solve(np.ones(50), problem.origin)
    there = problem.solve(np.random.default_rng(0).uniform(size=50), here)
    assert between(here, there, 1.0) is there
    assert distance(here, between(here, there, 1e-6), data.spread) < 1e-5
    steps = [distance(here, between(here, there, t), data.spread) for t in (0.25, 0.5, 1.0)]
    assert steps == sorted(steps)
    for t in (0.1, 0.5):
        W = between(here, there, t).W
        np.testing.assert_allclose(W.T @ W, np.eye(3), atol=1e-12)


def test_leading_eigenvectors_restart_and_repeat():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((60, 60)))[0]
    values = np.r_[3.0, 3.0, 2.0, 1.0, np.linspace(0.9, 0, 56)]
    S = (Q * values) @ Q.T
    found, W = leading_eigenvectors(
        S.__matmul__, rng.standard_normal((60, 5)), 4, tol=1e-10, max_passes=200
    )
    np.testing.assert_allclose(found, values[:4], rtol=1e-12)
    np.testing.assert_allclose(S @ W, W * found, atol=1e-9)
