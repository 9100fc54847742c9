"""Weighted PCA: three forms of one problem, and the steps between subspaces."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA

from kmpe import KMPE, Correntropy, Huber, RobustPCA, Squared
from kmpe.problems.pca import Dual, Iterated, Points, Scatter, weighted_pca
from kmpe.problems.pca.eigen import leading_eigenvectors
from kmpe.problems.pca.subspace import between, distance
from kmpe.solvers.reweighted import reweight

SHAPES = pytest.mark.parametrize("shape", [(90, 30), (30, 90)], ids=["tall", "wide"])


def points(n, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) * [9, 7, 5, 3] @ rng.standard_normal((4, d))
    return Points(X + rng.standard_normal((n, d)) + 3, rng.integers(1, 3, n).astype(float))


def forms(data, m):
    """Return every form that these rows can have."""
    dual = [Dual.of(data, m)] if len(data) <= data.d else []
    return [Iterated(data, m), Scatter(data, m), *dual]


def projector(theta):
    return theta.W @ theta.W.T


def plain_pca(problem):
    return problem.solve(problem.weighted(problem.origin, Squared()))


def weighted_by_hand(data, theta, loss, m):
    """Return (28) and (29) of the paper: the mean and the eigenvectors of the weighted rows."""
    Y = data.X - theta.mean
    aw = data.a * loss.weight(((Y - Y @ projector(theta)) ** 2).sum(axis=1))
    mean = np.average(data.X, axis=0, weights=aw)
    S = (aw[:, None] * (data.X - mean)).T @ (data.X - mean) / aw.sum()
    values, vectors = np.linalg.eigh(S)
    return mean, vectors[:, : -m - 1 : -1], values[: -m - 1 : -1], np.trace(S)


@SHAPES
@pytest.mark.parametrize("loss", [Squared(), Correntropy(6.0), Huber(4.0)], ids=repr)
def test_every_form_is_equations_28_and_29(shape, loss):
    data = points(*shape)
    for form in forms(data, 4):
        final = form.final(4)
        theta = plain_pca(final)
        mean, W, values, total = weighted_by_hand(data, form.lift(theta), loss, 4)
        found = form.lift(final.solve(final.weighted(theta, loss)))
        np.testing.assert_allclose(found.mean, mean, atol=1e-9)
        np.testing.assert_allclose(projector(found), W @ W.T, atol=1e-6)
        np.testing.assert_allclose(found.variances, values, rtol=1e-8)
        assert found.total == pytest.approx(total, rel=1e-9)


@SHAPES
def test_robust_fits_of_the_three_forms_agree(shape):
    data, ends = points(*shape), []
    for form in forms(data, 3):
        fit = reweight(form, KMPE(p=4, sigma=6.0), plain_pca(form), tol=1e-13, max_iter=500)
        ends.append(form.lift(fit.theta))
    for theta in ends[1:]:
        np.testing.assert_allclose(projector(theta), projector(ends[0]), atol=1e-5)


@SHAPES
@pytest.mark.parametrize("loss", [Squared(), Correntropy(6.0)], ids=repr)
def test_cost_mass_and_residuals_are_those_of_the_reconstruction(shape, loss):
    data = points(*shape)
    for form in forms(data, 3):
        theta = plain_pca(form)
        lifted = form.lift(theta)
        Y = data.X - lifted.mean
        s = ((Y - Y @ projector(lifted)) ** 2).sum(axis=1)
        np.testing.assert_allclose(form.squared_residuals(theta), s, rtol=1e-9, atol=1e-10)
        at = form.weighted(theta, loss)
        assert at.cost == form.cost(theta, loss) == pytest.approx(0.5 * data.a @ loss.rho(s))
        assert at.mass == pytest.approx(data.a @ loss.weight(s))


def test_the_form_follows_the_shape():
    many = 1001
    assert isinstance(weighted_pca(points(30, 10), 2), Scatter)
    assert isinstance(weighted_pca(points(10, 30), 2), Dual)
    assert isinstance(weighted_pca(points(many, many), 2), Iterated)
    assert isinstance(weighted_pca(points(many, many), 2, most=many), Dual)


def test_many_rows_and_columns_agree_with_scikit_learn():
    n = 1050
    X = points(n, n).X
    ours = RobustPCA(4, loss=Squared()).fit(X)
    theirs = PCA(4, svd_solver="arpack", random_state=0).fit(X)
    np.testing.assert_allclose(ours.components_, theirs.components_, atol=1e-8)
    np.testing.assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-8)


def test_steps_with_a_sketch_come_to_rest_where_those_with_the_whole_matrix_do():
    data = points(400, 40)
    exact, loss = Scatter(data, 4), Correntropy(8.0)
    some = Scatter(data.some(np.arange(100)), 4)
    S, _ = some.scatter(some.weighted(plain_pca(some), Squared()))
    sketched = replace(exact, sketch=S)
    start = plain_pca(exact)
    # The first steps differ: the sketch is used.
    one, other = (form.solve(form.weighted(start, loss)) for form in (exact, sketched))
    assert 1e-9 < distance(one, other, data.spread) < 0.1
    ends = [reweight(p, loss, start, tol=1e-15, max_iter=100).theta for p in (exact, sketched)]
    np.testing.assert_allclose(projector(ends[0]), projector(ends[1]), atol=1e-6)
    np.testing.assert_allclose(ends[0].variances, ends[1].variances, rtol=1e-7)
    np.testing.assert_allclose(ends[0].mean, ends[1].mean, atol=1e-6)


def test_a_sketch_is_taken_only_where_the_gap_is_wide():
    """Steps with the sketch of isotropic rows would not converge."""
    data = points(400, 40)
    S = np.diag(np.append(np.full(4, 50.0), np.ones(36)))
    assert Scatter(data, 4).sketched(S, 100).sketch is S
    assert Scatter(data, 3).sketched(S, 100).sketch is None
    assert Scatter(data, 4).sketched(np.eye(40), 100).sketch is None


def test_the_gain_is_what_the_weighted_sum_of_squares_loses():
    data, loss = points(400, 40), Correntropy(8.0)
    S = np.cov(data.X.T, aweights=data.a, ddof=0)
    problem = Scatter(data, 4, sketch=S)
    here = plain_pca(Scatter(data.some(np.arange(60)), 4))
    at = problem.weighted(here, loss)
    there = problem.solve(at)
    aw = data.a * loss.weight(problem.squared_residuals(here))
    before, after = (aw @ problem.squared_residuals(theta) / 2 for theta in (here, there))
    assert problem.gain(at, there) == pytest.approx(before - after, rel=0.05)
    assert Scatter(data, 4).gain(at, there) == np.inf


def test_rows_of_a_sample_stand_for_all_and_count_alike():
    data = points(40, 5)
    some = data.some(data.sample(10, seed=0))
    np.testing.assert_allclose(some.a, data.n / 10)


def test_rows_without_residual_count_alike_where_none_has_a_weight():
    """A loss with p > 2 has no weight at zero: rows on a plane would have none at all."""
    X = points(50, 2).X @ np.random.default_rng(0).normal(size=(2, 6))
    problem = Scatter(Points(X, np.ones(50)), 2)
    theta = plain_pca(problem)
    exact = replace(theta, mean=X[0])
    at = problem.weighted(exact, KMPE(p=8, sigma=1e3))
    found = problem.solve(replace(at, mass=0.0))
    np.testing.assert_allclose(found.mean, X.mean(axis=0), atol=1e-10)


@settings(max_examples=20)
@given(step=st.floats(1e-6, 1), seed=st.integers(0, 99))
def test_between_is_a_subspace_on_the_way(step, seed):
    data = points(50, 10)
    problem = Scatter(data, 3)
    here = plain_pca(problem)
    there = plain_pca(Scatter(replace(data, a=np.random.default_rng(seed).uniform(size=50)), 3))
    on_the_way = between(here, there, step)
    np.testing.assert_allclose(on_the_way.W.T @ on_the_way.W, np.eye(3), atol=1e-12)
    whole = distance(here, there, data.spread)
    assert distance(here, on_the_way, data.spread) <= (1 + 1e-9) * whole
    assert distance(here, on_the_way, data.spread) <= 2 * step * whole + 1e-9


def test_the_whole_step_is_the_target_and_a_short_one_lowers_the_cost():
    data, loss = points(50, 10), KMPE(p=6, sigma=6.0)
    problem = Scatter(data, 3)
    here = plain_pca(Scatter(replace(data, a=np.random.default_rng(0).uniform(size=50)), 3))
    there = problem.solve(problem.weighted(here, loss))
    assert between(here, there, 1.0) is there
    cost = lambda step: problem.cost(between(here, there, step), loss)  # noqa: E731
    assert cost(1e-3) < problem.cost(here, loss)


def test_a_far_mean_costs_no_digits():
    data = points(200, 20)
    near, far = (plain_pca(Scatter(Points(X, data.a), 3)) for X in (data.X, data.X + 1e8))
    np.testing.assert_allclose(projector(near), projector(far), atol=1e-6)
    np.testing.assert_allclose(far.mean - 1e8, near.mean, atol=1e-6)


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


# -- points ----------------------------------------------------------------------------------


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 40))
def test_a_sample_of_points_depends_on_neither_order_nor_unit(seed, size):
    rng = np.random.default_rng(seed)
    X, a = np.round(rng.normal(size=(60, 3)), 1), rng.integers(1, 4, 60).astype(float)
    order = rng.permutation(60)
    sorted_rows = lambda X: X[np.lexsort(X.T)]  # noqa: E731
    one = X[Points(X, a).sample(size, 1)]
    other = X[order][Points(X[order], a[order]).sample(size, 1)]
    np.testing.assert_array_equal(sorted_rows(one), sorted_rows(other))
    # In twice the unit there are twice as many rows, and the sample is still one of them all.
    twice = X[Points(X, 2 * a).sample(size, 1)]
    np.testing.assert_array_equal(sorted_rows(twice), sorted_rows(one))


def test_a_weight_of_k_is_k_equal_points():
    data = points(40, 6)
    k = data.a.astype(int)
    repeated = Points(np.repeat(data.X, k, axis=0), np.ones(k.sum()))
    assert repeated.n == data.n
    assert repeated.n_whole == data.n_whole
    np.testing.assert_allclose(repeated.mean, data.mean, atol=1e-12)
    for m in (1, 3):
        one, other = (plain_pca(Scatter(rows, m)) for rows in (data, repeated))
        np.testing.assert_allclose(projector(one), projector(other), atol=1e-9)


@pytest.mark.parametrize("n", [300, 1500])
def test_rows_without_weight_do_not_move_the_offset(n):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    far = np.arange(n) % 3 > 0
    X[far] += 1e14
    without, counted = Points(X[~far], np.ones(n - far.sum())), Points(X, 1.0 - far)
    np.testing.assert_array_equal(counted.offset, without.offset)
    assert counted.spread == without.spread


def test_offset_and_spread_depend_on_neither_order_nor_repeats():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) + 1e6
    a = rng.integers(1, 4, 2000)
    order = rng.permutation(2000)
    one = Points(X, a.astype(float))
    for other in (
        Points(X[order], a[order].astype(float)),
        Points(np.repeat(X, a, axis=0), np.ones(a.sum())),
    ):
        np.testing.assert_array_equal(one.offset, other.offset)
        assert one.spread == other.spread
