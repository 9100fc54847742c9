"""The end of a ridge fit: the minimiser of the fixed point, from any sample, on any threads."""

from itertools import pairwise

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from every_loss import LOSSES, name
from kmpe.choice.scale import GivenLoss
from kmpe.losses import KMPE, MPE, Cauchy, Correntropy, Huber, Squared, Tukey
from kmpe.problems.factor import Factor
from kmpe.problems.ridge import Ridge
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.sample import draw
from kmpe.rows.source import Rows
from kmpe.solvers.annealing import anneal
from kmpe.solvers.minimise import has_many_rows, minimise, refine, sample_of
from kmpe.solvers.record import Status
from kmpe.solvers.reweighted import floored, reweight
from kmpe.solvers.walk import walk
from kmpe.starts.ridge import RidgeStart

N, L = 9000, 20


def problem(alpha=1e-3, q=1, a=None, n=N):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 4))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    y[rng.uniform(size=n) < 0.1] += 7
    T = np.stack([(1 + k) * y for k in range(q)], axis=1) + 0.1 * rng.normal(size=(n, q))
    return Ridge.of(Rows.of(HiddenLayer.draw(4, L, "sigmoid", rng)(X), T, a), alpha)


def fit(problem, loss, *, max_iter=300, tol=1e-10):
    """Return the fit by the path of the estimators: start, scale of the loss, solver."""

    def solve(c):
        return minimise(c.problem, c.sample, c.loss, c.theta, max_iter=max_iter, tol=tol)

    return walk(problem, RidgeStart(loss, "robust"), GivenLoss(loss), solve).fit


def fixed_point(problem, loss):
    ridge = problem.solve(problem.weighted(problem.zero, Squared()))
    loss, theta = anneal(problem, loss, ridge)
    return reweight(problem, loss, theta, max_iter=1000, tol=1e-12)


def excess(fit, reference):
    return fit.history[-1] / reference.history[-1] - 1


def test_these_rows_are_many_enough_for_a_sample():
    assert has_many_rows(problem())
    assert len(sample_of(problem()).rows) < N / 2


# -- both solvers end at the same minimiser --------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_from_one_start_both_solvers_descend_to_the_same_minimiser(loss):
    whole = problem()
    sample = sample_of(whole)
    # Within reach of one minimum, also for losses with several.
    start = fixed_point(sample, loss if loss.sup < np.inf else Huber(0.5)).theta
    passes = minimise(whole, sample, loss, start, max_iter=500, tol=1e-11)
    steps = reweight(whole, floored(sample, loss, start), start, max_iter=1000, tol=1e-12)
    for found in (passes, steps):
        assert found.status.converged
        assert np.all(np.diff(found.history) <= 0)
        cost = whole.cost(found.theta, found.criterion)
        assert found.history[-1] == pytest.approx(cost, rel=1e-12)
    # A power below 1 has a minimum at every few rows, and each solver its own.
    if loss.convex or not loss.singular:
        assert abs(excess(passes, steps)) < 1e-7


@pytest.mark.parametrize("p", [1.5, 2, 4, 10])
@pytest.mark.parametrize("alpha", [0.0, 1e-7, 1e-3])
def test_the_whole_path_has_the_cost_of_the_fixed_point(p, alpha):
    loss = KMPE(p=p, sigma=0.5)
    found = fit(problem(alpha), loss)
    assert found.status is Status.CONVERGED
    assert abs(excess(found, fixed_point(problem(alpha), loss))) < 1e-8


@pytest.mark.parametrize("loss", [Correntropy(1.0), KMPE(p=4, sigma=1.0), Huber(0.5)], ids=repr)
def test_with_several_outputs_as_well(loss):
    found = fit(problem(q=3), loss)
    assert abs(excess(found, fixed_point(problem(q=3), loss))) < 1e-8


@pytest.mark.parametrize("p", [2, 4])
def test_with_sample_weight_as_well(p):
    a = np.random.default_rng(0).uniform(size=N) ** 3
    a[::3] = 0
    loss = KMPE(p=p, sigma=0.5)
    assert abs(excess(fit(problem(a=a), loss), fixed_point(problem(a=a), loss))) < 1e-8


def test_without_penalty_repeated_features_share_the_coefficient():
    whole = problem(0.0)
    H = whole.rows.whole()
    twice = Ridge.of(Rows.of(np.hstack([H, H[:, :3]]), whole.rows.T), 0.0)
    theta = fit(twice, KMPE(p=2, sigma=0.5)).theta
    np.testing.assert_allclose(theta[:3], theta[L:], rtol=1e-6)


@pytest.mark.parametrize(
    "loss",
    [KMPE(p=1), KMPE(p=4), Cauchy(), Tukey(), MPE(p=1.5), Squared(), KMPE(sigma="silverman")],
    ids=repr,
)
def test_cost_never_rises(loss):
    found = fit(problem(), loss)
    assert np.all(np.diff(found.history) <= 0)
    assert found.n_iter >= 1


# -- which solver, which rows ----------------------------------------------------------------


def test_least_squares_takes_one_factor_of_all_rows(monkeypatch):
    factored = []
    of = Factor.of
    monkeypatch.setattr(Factor, "of", lambda B: factored.append(B) or of(B))
    whole = problem()
    found = minimise(whole, whole, Squared(), whole.zero, max_iter=100, tol=1e-12)
    H, T = whole.rows.whole(), whole.rows.T
    expected = np.linalg.solve(H.T @ H + 1e-3 * np.eye(L), H.T @ T)
    np.testing.assert_allclose(found.theta, expected, rtol=1e-7)
    assert len(factored) == 1


def test_a_robust_loss_takes_the_factor_of_the_sample(monkeypatch):
    """The Gram matrix of all rows is what passes save."""
    whole = problem()
    sample, seen = sample_of(whole), []
    weighted = Ridge.weighted
    monkeypatch.setattr(
        Ridge, "weighted", lambda self, *a: seen.append(len(self.rows)) or weighted(self, *a)
    )
    start = fixed_point(sample, Correntropy(0.5)).theta
    seen.clear()
    found = minimise(whole, sample, Correntropy(0.5), start, max_iter=100, tol=1e-10)
    assert found.status is Status.CONVERGED
    assert seen == [len(sample.rows)]


def poor_sample(whole, size=600):
    """Return a sample whose last features are a hundredth of what they are on all rows."""
    small = np.argsort(np.abs(whole.rows.X[:, L // 2 :]).max(axis=1))[:size]
    return whole.on(whole.rows.take(small))


def uneven(a=None):
    """Return a problem of which some rows say nothing of half of the features."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(N, L))
    H[: N // 4, L // 2 :] *= 1e-3
    T = H @ rng.normal(size=(L, 1)) + 0.1 * rng.standard_t(3, size=(N, 1))
    return Ridge.of(Rows.of(H, T, a), 1e-9)


def spy_on_factors(monkeypatch):
    """Return a list that grows by the number of rows of each factor that is taken."""
    sizes, factor = [], Ridge.factor

    def spied(self, weighted):
        sizes.append(len(self.rows))
        assert len(sizes) < 20, f"samples of {sizes} rows do not grow"
        return factor(self, weighted)

    monkeypatch.setattr(Ridge, "factor", spied)
    return sizes


def test_a_slow_descent_is_followed_by_one_with_more_rows(monkeypatch):
    whole, loss = uneven(), KMPE(p=2, sigma=0.5)
    sample = poor_sample(whole)
    start = fixed_point(sample, loss).theta
    sizes = spy_on_factors(monkeypatch)
    found = minimise(whole, sample, loss, start, max_iter=300, tol=1e-10)
    assert found.status.converged
    assert sizes[0] == len(sample.rows)
    assert len(sizes) > 1, "the poor sample was good enough: the test says nothing"
    assert all(larger > size or larger == N for size, larger in pairwise(sizes))
    steps = reweight(whole, loss, start, max_iter=3000, tol=1e-14)
    assert abs(excess(found, steps)) < 1e-8


def test_rows_of_large_weight_do_not_keep_the_next_sample_small(monkeypatch):
    """A row that counts for most is drawn again and again: the sample has few different rows."""
    a = np.ones(N)
    a[-5:] = 1e6
    whole, loss = uneven(a), KMPE(p=2, sigma=0.5)
    sample = whole.on(draw(whole.rows, 4000))
    # Its few different rows are moved to where they say nothing of the last features.
    H = sample.rows.X * np.repeat([1.0, 1e-3], L // 2)
    sample = whole.on(Rows.of(H, sample.rows.T, sample.rows.a))
    sizes = spy_on_factors(monkeypatch)
    found = minimise(whole, sample, loss, np.zeros((L, 1)), max_iter=300, tol=1e-10)
    assert len(sizes) > 1, "the poor sample was good enough: the test says nothing"
    assert all(larger > size or larger == N for size, larger in pairwise(sizes))
    assert found.status.converged


def test_refine_is_the_fit_of_a_sample_as_far_as_its_rows_can_tell():
    whole, loss = problem(), Correntropy(0.5)
    sample = sample_of(whole)
    start = fixed_point(sample, Huber(0.5)).theta
    factor = sample.factor(sample.weighted(start, loss))
    found = refine(sample, loss, start, factor)
    least = fixed_point(sample, loss).history[-1]
    assert least <= sample.cost(found, loss) * (1 + 1e-9)
    assert sample.cost(found, loss) < least * (1 + L / len(sample.rows))


# -- numbers and ends ------------------------------------------------------------------------


def test_rule_of_sigma_sees_all_rows():
    """σ of the sample, corrected for the freedom of its fit, is that of all rows."""
    found = fit(problem(), Correntropy())
    expected = fixed_point(problem(), Correntropy()).loss.scale
    assert found.loss.scale == pytest.approx(expected, rel=0.05)


def test_result_is_the_same_for_any_number_of_threads():
    whole = problem(n=30_000)
    assert sum(1 for _ in whole.rows.blocks()) > 4
    fits = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            fits.append(fit(whole, KMPE(p=4, sigma=0.5)))
    assert fits[0].history == fits[1].history == fits[2].history
    np.testing.assert_array_equal(fits[0].theta, fits[1].theta)
    np.testing.assert_array_equal(fits[0].theta, fits[2].theta)


def test_any_sample_leads_to_the_same_end():
    whole, loss = problem(), KMPE(p=2, sigma=0.5)
    ends = []
    for seed in (0, 1):
        sample = whole.on(draw(whole.rows, 1000, seed))
        start = fixed_point(sample, loss).theta
        ends.append(minimise(whole, sample, loss, start, max_iter=100, tol=1e-10))
    assert ends[0].history[0] != ends[1].history[0]
    assert abs(excess(*ends)) < 1e-8


def test_few_steps_are_not_called_convergence():
    found = fit(problem(), KMPE(p=2, sigma=0.5), max_iter=2)
    assert found.status is Status.MAX_ITER
    assert found.n_iter == 2
    assert "max_iter=2" in found.message


def test_from_the_solution_there_is_nothing_left_to_do():
    whole, loss = problem(), KMPE(p=2, sigma=0.5)
    found = fit(whole, loss, tol=1e-12)
    again = minimise(whole, sample_of(whole), loss, found.theta, max_iter=100, tol=1e-8)
    assert again.n_iter <= 1
    assert abs(excess(again, found)) < 1e-9


def test_single_precision_rows_give_the_solution_of_double_ones():
    whole, loss = problem(), KMPE(p=2, sigma=0.5)
    H = whole.rows.whole().astype(np.float32)
    single = fit(Ridge.of(Rows.of(H, whole.rows.T), 1e-3), loss)
    double = fit(Ridge.of(Rows.of(H.astype(np.float64), whole.rows.T), 1e-3), loss)
    np.testing.assert_array_equal(single.theta, double.theta)


def test_exact_data_are_fitted_exactly():
    H = problem().rows.whole()
    beta = np.random.default_rng(0).normal(size=(L, 1))
    found = fit(Ridge.of(Rows.of(H, H @ beta), 1e-12), KMPE(p=2, sigma=0.5))
    assert found.status.converged
    np.testing.assert_allclose(H @ found.theta, H @ beta, atol=1e-8)
