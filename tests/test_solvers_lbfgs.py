"""L-BFGS with a factor: Newton's method for quadratics, and honest about its end."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize

from kmpe.problems.factor import Factor
from kmpe.problems.ridge import Point
from kmpe.solvers.lbfgs import Outcome, _Memory, descend


def quadratic(B, b, least=1.0):
    """Return ½ xᵀBx - bᵀx with a minimum of ``least``."""
    floor = -0.5 * b.T @ np.linalg.solve(B, b)

    def evaluate(x):
        gradient = B @ x - b
        return Point(x, float((0.5 * x.T @ B @ x - b.T @ x - floor).item()) + least, gradient)

    return evaluate


A, C = np.random.default_rng(0).normal(size=(40, 4)), np.random.default_rng(1).normal(size=(40, 1))


def log_cosh(x):
    """Σ log cosh(Ax - c), convex and far from quadratic."""
    z = A @ x - C
    value = np.logaddexp(z, -z).sum() - 40 * np.log(2)
    return Point(x, float(value), A.T @ np.tanh(z))


def spd(k, seed, condition=100):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(k, k)))[0]
    return (Q * np.geomspace(1, condition, k)) @ Q.T, rng.normal(size=(k, 1))


@settings(max_examples=30)
@given(k=st.integers(1, 10), seed=st.integers(0, 999))
def test_with_the_hessians_factor_a_quadratic_takes_one_step(k, seed):
    B, b = spd(k, seed)
    evaluate = quadratic(B, b)
    found = descend(evaluate, evaluate(np.zeros((k, 1))), Factor.of(B), max_iter=20, tol=1e-10)
    assert found.outcome is Outcome.CONVERGED
    assert len(found.history) == 2
    np.testing.assert_allclose(found.point.theta, np.linalg.solve(B, b), rtol=1e-8, atol=1e-10)


@settings(max_examples=30)
@given(k=st.integers(2, 8), seed=st.integers(0, 999), tol=st.floats(-12, -4).map(lambda e: 10.0**e))
def test_converged_means_within_tol_of_the_minimum(k, seed, tol):
    B, b = spd(k, seed)
    evaluate = quadratic(B, 10 * b)
    rough = Factor.of(spd(k, seed, 20)[0])
    found = descend(evaluate, evaluate(np.ones((k, 1))), rough, max_iter=200, tol=tol)
    assert np.all(np.diff(found.history) <= 0)
    assert found.history[-1] == found.point.cost
    if found.outcome is Outcome.CONVERGED:
        assert found.point.cost - 1.0 <= tol * found.point.cost


def test_agrees_with_scipy_where_the_cost_is_not_quadratic():
    start = log_cosh(np.full((4, 1), 5.0))
    found = descend(log_cosh, start, Factor.of(A.T @ A), max_iter=100, tol=1e-13)
    theirs = optimize.minimize(
        lambda x: log_cosh(x[:, None]).cost,
        np.zeros(4),
        jac=lambda x: log_cosh(x[:, None]).gradient[:, 0],
        options={"gtol": 1e-10},
    )
    assert found.outcome in (Outcome.CONVERGED, Outcome.STALLED)
    np.testing.assert_allclose(found.point.theta[:, 0], theirs.x, atol=1e-6)
    assert np.all(np.diff(found.history) <= 0)


def test_a_factor_that_says_nothing_is_called_slow():
    B, b = spd(60, 0, 1e8)
    evaluate = quadratic(B, b)
    start = evaluate(np.zeros((60, 1)))
    found = descend(evaluate, start, Factor.of(np.eye(60)), max_iter=500, tol=1e-12)
    assert found.outcome is Outcome.SLOW
    assert len(found.history) < 100
    assert found.left > 1e-10 * found.point.cost


def test_running_out_of_steps_is_said():
    start = log_cosh(np.full((4, 1), 5.0))
    found = descend(log_cosh, start, Factor.of(A.T @ A), max_iter=3, tol=1e-14)
    assert found.outcome is Outcome.MAX_ITER
    assert len(found.history) == 4


def test_at_the_minimum_nothing_is_left_to_do():
    B, b = spd(5, 0)
    evaluate = quadratic(B, b)
    end = evaluate(np.linalg.solve(B, b))
    found = descend(evaluate, end, Factor.of(B), max_iter=5, tol=1e-10)
    assert found.outcome is Outcome.CONVERGED
    assert found.history == (end.cost,)


def test_a_cost_that_does_not_fall_any_more_is_called_stalled():
    """Rounding of the cost hides what is left: 1e-9 of a minimum of 1e9."""
    B, b = spd(5, 0)
    evaluate = quadratic(B, b, least=1e9)
    start = evaluate(np.linalg.solve(B, b) + 1e-6)
    found = descend(evaluate, start, Factor.of(B), max_iter=50, tol=1e-30)
    assert found.outcome in (Outcome.STALLED, Outcome.CONVERGED)


def test_a_step_whose_size_overflows_beside_its_bend_is_no_curvature():
    memory = _Memory(Factor.of(np.eye(2)))
    assert memory.with_step(np.array([1e200, 0.0]), np.array([0.0, 1e200])) is memory


def test_a_step_whose_squares_underflow_is_not_remembered():
    memory = _Memory(Factor.of(1e10 * np.eye(2)))
    step = np.full((2, 1), 1e-160)
    assert memory.with_step(step, step).steps == ()
