"""Starts of a ridge fit: annealed, plain or zero, on a sample where rows are many."""

import numpy as np
import pytest

from kmpe.losses import KMPE, MPE, Correntropy, Squared
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.annealing import anneal
from kmpe.solvers.minimise import has_many_rows
from kmpe.starts.ridge import INITS, RidgeStart

TRUTH = np.arange(1.0, 7)[:, None]


def contaminated(n, share=0.3, alpha=1e-3, a=None, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, 6))
    T = H @ TRUTH + 0.3 * rng.normal(size=(n, 1))
    T[rng.permutation(n)[: int(share * n)]] += 30
    return Ridge.of(Rows.of(H, T, a), alpha)


def least_squares(problem):
    return problem.solve(problem.weighted(problem.zero, Squared()))


@pytest.mark.parametrize("n", [100, 20_000], ids=["few", "many"])
@pytest.mark.parametrize("loss", [KMPE(p=4, sigma=1.0), Correntropy(), KMPE(p=2)], ids=repr)
def test_a_robust_start_is_near_the_clean_fit(n, loss):
    begun = RidgeStart(loss, "robust")(contaminated(n))
    assert np.abs(begun.theta - TRUTH).max() < 0.3
    assert np.abs(least_squares(contaminated(n)) - TRUTH).max() > 0.3 or n > 1000
    assert not begun.loss.has_rule


def test_a_ridge_start_is_the_ridge_fit():
    problem = contaminated(100)
    begun = RidgeStart(KMPE(p=4, sigma=1.0), "ridge")(problem)
    np.testing.assert_allclose(begun.theta, least_squares(problem), rtol=1e-9)


def test_a_robust_start_of_few_rows_is_the_annealed_one():
    problem, loss = contaminated(100), KMPE(p=4, sigma=1.0)
    begun = RidgeStart(loss, "robust")(problem)
    np.testing.assert_array_equal(begun.theta, anneal(problem, loss, least_squares(problem))[1])
    assert begun.sample is begun.problem is problem


@pytest.mark.parametrize("n", [100, 20_000])
def test_zero_is_where_algorithm_1_starts(n):
    problem = contaminated(n)
    begun = RidgeStart(KMPE(p=4, sigma=1.0), "zero")(problem)
    assert not begun.theta.any()
    assert begun.sample is problem


def test_many_rows_start_on_a_sample_that_stands_for_all():
    problem = contaminated(20_000)
    assert has_many_rows(problem)
    begun = RidgeStart(Correntropy(), "robust")(problem)
    assert len(begun.sample.rows) < 10_000
    assert begun.sample.rows.n == pytest.approx(20_000)
    np.testing.assert_allclose(begun.sample.penalties, problem.penalties)


@pytest.mark.parametrize("n", [100, 20_000])
def test_neither_the_order_nor_the_unit_of_the_rows_matters(n):
    rng = np.random.default_rng(1)
    a = rng.integers(1, 4, n).astype(float)
    problem = contaminated(n, a=a)
    order = rng.permutation(n)
    rows = problem.rows
    turned = Ridge.of(Rows.of(rows.X[order], rows.T[order], a[order]), 1e-3)
    unit = Ridge.of(Rows.of(rows.X, rows.T, 1e3 * a), 1.0)
    one, *others = (RidgeStart(Correntropy(), "robust")(p).theta for p in (problem, turned, unit))
    for other in others:
        np.testing.assert_allclose(other, one, rtol=1e-6)


@pytest.mark.parametrize("init", INITS)
def test_least_squares_need_no_start(init):
    begun = RidgeStart(Squared(), init)(contaminated(100))
    assert not begun.theta.any()


@pytest.mark.parametrize("n", [100, 20_000], ids=["few", "many"])
@pytest.mark.parametrize("p", [1.0, 4.0])
def test_the_start_of_a_loss_without_sigma_knows_no_unit(n, p):
    problem = contaminated(n, alpha=30.0)
    begun = RidgeStart(MPE(p), "robust")(problem)
    # The weights |r|^(p - 2), and with them the penalty, have a unit.
    rows = Rows.of(problem.rows.X, 1e3 * problem.rows.T)
    other = RidgeStart(MPE(p), "robust")(Ridge.of(rows, 30.0 * 1e3 ** (p - 2)))
    np.testing.assert_allclose(other.theta, 1e3 * begun.theta, rtol=1e-6)
