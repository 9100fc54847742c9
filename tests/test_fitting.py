"""The accelerated solver: the answer of the fixed point, from any sample, on any threads."""

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from kmpe.losses import KMPE, MPE, Cauchy, Correntropy, Huber, Squared, Tukey
from kmpe.problems.ridge import Factor, Ridge
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.source import Rows
from kmpe.rows.threads import team
from kmpe.solvers import ridge as fitting
from kmpe.solvers.reweighted import Status, reweight
from kmpe.solvers.ridge import fit_ridge

N, L = 3000, 30


def problem(alpha=1e-3, q=1, a=None, d=4, seed=0, activation="sigmoid"):
    rng = np.random.RandomState(seed)
    X = rng.normal(size=(N, d))
    y = np.sin(X[:, 0]) + X[:, 1 % d] * X[:, 2 % d] + 0.1 * rng.normal(size=N)
    y[rng.uniform(size=N) < 0.1] += 7
    T = np.stack([(1 + k) * y for k in range(q)], axis=1) + 0.1 * rng.normal(size=(N, q))
    H = HiddenLayer.draw(d, L, activation, rng)(X)
    return Ridge.of(Rows.of(H, T, a), alpha)


def fixed_point(problem, loss):
    loss, theta = fitting._start(problem, loss, "robust")
    return reweight(problem, loss, theta, max_iter=2000, tol=1e-14)


def excess(fit, reference):
    return fit.history[-1] / reference.history[-1] - 1


@pytest.mark.parametrize("p", [1.5, 2, 4, 10])
@pytest.mark.parametrize("alpha", [1e-3, 1e-7])
def test_cost_is_that_of_the_fixed_point(p, alpha):
    loss = KMPE(p=p, sigma=0.5)
    fit = fit_ridge(problem(alpha), loss)
    assert fit.status is Status.CONVERGED
    assert abs(excess(fit, fixed_point(problem(alpha), loss))) < 1e-8


@pytest.mark.parametrize("loss", [Correntropy(1.0), KMPE(p=4, sigma=1.0), Huber(0.5)])
def test_cost_with_several_outputs_is_that_of_the_fixed_point(loss):
    fit = fit_ridge(problem(q=3), loss)
    assert abs(excess(fit, fixed_point(problem(q=3), loss))) < 1e-8


@pytest.mark.parametrize("p", [2, 4])
def test_cost_with_sample_weight_is_that_of_the_fixed_point(p):
    a = np.random.default_rng(0).uniform(size=N) ** 3
    a[::3] = 0
    loss = KMPE(p=p, sigma=0.5)
    fit = fit_ridge(problem(a=a), loss)
    assert abs(excess(fit, fixed_point(problem(a=a), loss))) < 1e-8


def test_without_penalty_cost_is_that_of_the_fixed_point():
    loss = KMPE(p=2, sigma=0.5)
    fit = fit_ridge(problem(0.0), loss)
    assert abs(excess(fit, fixed_point(problem(0.0), loss))) < 1e-8


def test_without_penalty_repeated_features_share_the_coefficient():
    whole = problem(0.0)
    H = whole.rows.features(slice(None))
    twice = Ridge.of(Rows.of(np.hstack([H, H[:, :3]]), whole.rows.T), 0.0)
    theta = fit_ridge(twice, KMPE(p=2, sigma=0.5)).theta
    np.testing.assert_allclose(theta[:3], theta[L:], rtol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [KMPE(p=1), KMPE(p=4), Cauchy(), Tukey(), MPE(p=1.5), Squared(), KMPE(sigma="silverman")],
)
def test_cost_never_rises(loss):
    fit = fit_ridge(problem(), loss)
    assert np.all(np.diff(fit.history) <= 0)
    assert fit.n_iter >= 1


@pytest.mark.parametrize("loss", [KMPE(p=2), KMPE(p=1.5), KMPE(p=4, sigma=0.4)])
def test_weights_belong_to_the_solution(loss):
    fit = fit_ridge(problem(), loss)
    s = problem().squared_residuals(fit.theta)
    np.testing.assert_allclose(fit.weights, fit.loss.weight(s), rtol=1e-10, atol=1e-14)


def test_least_squares_takes_one_factor_of_all_rows(monkeypatch):
    factored = []
    of = Factor.of
    monkeypatch.setattr(Factor, "of", lambda B: factored.append(B) or of(B))
    fit = fit_ridge(problem(), Squared())
    H, T = problem().rows.features(slice(None)), problem().rows.T
    expected = np.linalg.solve(H.T @ H + 1e-3 * np.eye(L), H.T @ T)
    np.testing.assert_allclose(fit.theta, expected, rtol=1e-7)
    assert len(factored) == 1


def test_rule_of_sigma_sees_all_rows():
    """σ of the sample, corrected for the freedom of its fit, is that of all rows."""
    fit = fit_ridge(problem(), Correntropy())
    expected = fixed_point(problem(), Correntropy()).loss.scale
    assert fit.loss.scale == pytest.approx(expected, rel=0.05)


def test_result_is_the_same_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr("kmpe.rows.source._BLOCK_BYTES", 1 << 14)  # many parts, for many workers
    fits = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            fits.append(fit_ridge(problem(), KMPE(p=4, sigma=0.5)))
    assert fits[0].history == fits[1].history == fits[2].history
    np.testing.assert_array_equal(fits[0].theta, fits[1].theta)
    np.testing.assert_array_equal(fits[0].theta, fits[2].theta)


def test_seeds_draw_other_samples_and_agree():
    one, other = (fit_ridge(problem(), KMPE(p=2, sigma=0.5), seed=seed) for seed in (0, 1))
    assert one.history[0] != other.history[0]
    assert abs(excess(one, other)) < 1e-8


def test_poor_sample_is_followed_by_a_larger_one(monkeypatch):
    """Half of the features are zero on all but 1% of the rows: small samples miss these."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(N, L))
    H[rng.permutation(N)[N // 100 :], L // 2 :] = 0
    H[:, L // 2 :] *= 30
    T = H @ rng.normal(size=(L, 1)) + 0.1 * rng.normal(size=(N, 1))
    sparse = Ridge.of(Rows.of(H, T), 1e-3)
    sizes = []
    sample = Ridge.sample
    monkeypatch.setattr(
        Ridge, "sample", lambda self, size, rng: sizes.append(size) or sample(self, size, rng)
    )
    loss = KMPE(p=2, sigma=0.5)
    fit = fit_ridge(sparse, loss)
    assert fit.status.converged
    assert abs(excess(fit, fixed_point(sparse, loss))) < 1e-8
    assert max(sizes) > 2 * fitting._START * L


def test_few_steps_are_not_called_convergence():
    fit = fit_ridge(problem(), KMPE(p=2, sigma=0.5), max_iter=2)
    assert fit.status is Status.MAX_ITER
    assert fit.n_iter == 2
    assert "max_iter=2" in fit.message


def test_given_start_is_kept():
    """From the solution itself there is nothing left to do."""
    loss = KMPE(p=2, sigma=0.5)
    fit = fit_ridge(problem(), loss, tol=1e-12)
    again = fit_ridge(problem(), loss, theta=fit.theta)
    assert again.n_iter <= 1
    assert abs(excess(again, fit)) < 1e-9


def test_single_precision_rows_give_the_solution_of_double_ones():
    whole = problem()
    H = whole.rows.features(slice(None)).astype(np.float32)
    loss = KMPE(p=2, sigma=0.5)
    single = fit_ridge(Ridge.of(Rows.of(H, whole.rows.T), 1e-3), loss)
    double = fit_ridge(Ridge.of(Rows.of(H.astype(np.float64), whole.rows.T), 1e-3), loss)
    np.testing.assert_array_equal(single.theta, double.theta)


def test_exact_data_are_fitted_exactly():
    H = problem().rows.features(slice(None))
    beta = np.random.default_rng(0).normal(size=(L, 1))
    fit = fit_ridge(Ridge.of(Rows.of(H, H @ beta), 1e-12), KMPE(p=2, sigma=0.5))
    assert fit.status.converged
    np.testing.assert_allclose(H @ fit.theta, H @ beta, atol=1e-8)


def test_teams_share_the_cores_and_respect_limits():
    with threadpool_limits(2), team() as outer, team() as inner:
        assert inner is outer
        assert outer.size == 2
    with threadpool_limits(1), team() as alone:
        assert alone.size == 1
