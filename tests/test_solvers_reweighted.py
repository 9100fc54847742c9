"""Reweighted least squares: it descends, stops, says why, and finds what others find."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from every_loss import LOSSES, name
from kmpe import KMPE, MPE, Cauchy, Correntropy, Huber, RiskSensitive, Squared, Tukey
from kmpe.losses.floored import Floored
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.annealing import anneal
from kmpe.solvers.record import Status
from kmpe.solvers.reweighted import floored, reweight

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=name)


def least_squares(problem):
    return problem.solve(problem.weighted(problem.zero, Squared()))


def fit(problem, loss, **options):
    loss, theta = anneal(problem, loss, least_squares(problem))
    return reweight(problem, loss, theta, **options)


def weights(problem, found):
    return found.criterion.weight(problem.squared_residuals(found.theta))


def contaminated(n=80, L=4, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, L))
    T = H @ np.arange(1.0, L + 1)[:, None] + 0.3 * rng.normal(size=(n, 1))
    T[: int(share * n)] += 50
    return Rows.of(H, T)


SOME_LOSS = st.one_of(
    st.just(Squared()),
    st.builds(MPE, p=st.floats(0.5, 12)),
    *(
        st.builds(cls, sigma=st.floats(-3, 3).map(lambda e: 10.0**e))
        for cls in (Huber, Cauchy, Tukey, RiskSensitive, Correntropy)
    ),
    st.builds(KMPE, p=st.floats(0.5, 12), sigma=st.floats(-3, 3).map(lambda e: 10.0**e)),
)


@settings(max_examples=300)
@given(
    loss=SOME_LOSS,
    n=st.integers(1, 200),
    L=st.integers(1, 100),
    q=st.integers(1, 3),
    alpha=st.sampled_from([0.0, 1e-7, 1e-3, 1.0]),
    seed=st.integers(0, 10**6),
)
@example(loss=KMPE(12, 1e-3), n=200, L=100, q=1, alpha=1e-7, seed=0)
@example(loss=MPE(0.5), n=20, L=100, q=2, alpha=0.0, seed=0)
@example(loss=RiskSensitive(1e-3), n=200, L=2, q=1, alpha=1.0, seed=0)
def test_the_cost_never_rises_and_nothing_overflows(loss, n, L, q, alpha, seed):
    rng = np.random.default_rng(seed)
    H = 1 / (1 + np.exp(-rng.normal(size=(n, 3)) @ rng.normal(size=(3, L))))
    T = np.sin(5 * H[:, :1]) + 0.3 * rng.standard_t(1.5, size=(n, q))
    problem = Ridge.of(Rows.of(H, T), alpha)
    try:
        found, refusal = fit(problem, loss, max_iter=40), ""
    except ValueError as error:
        found, refusal = None, str(error)
    if found is None:
        assert "gives every sample zero weight" in refusal
        assert loss.scale < 0.5  # the data have scale 1
        return
    assert np.isfinite(found.theta).all()
    assert np.isfinite(weights(problem, found)).all()
    assert np.isfinite(found.history).all()
    assert np.all(np.diff(found.history) <= 0)
    assert found.history[-1] == pytest.approx(problem.cost(found.theta, found.criterion), rel=1e-12)


@every_loss
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_it_ends_where_the_gradient_is_zero(loss, alpha):
    problem = Ridge.of(contaminated(), alpha)
    found = fit(problem, loss, max_iter=3000, tol=1e-15)
    assert found.status.converged
    R = problem.residuals(found.theta)
    pulls = weights(problem, found)[:, None] * np.abs(R)
    gradient = problem.point(found.theta, found.criterion).gradient
    # Rows that a singular loss fits exactly have weights of 1e10: five digits are rounding.
    digits = 1e-4 if loss.singular else 1e-5
    assert np.abs(gradient).max() < digits * (np.abs(problem.rows.X).T @ pulls).max()


@pytest.mark.parametrize(
    ("loss", "scipys"), [(Huber(0.4), "huber"), (Cauchy(0.4), "cauchy")], ids=["Huber", "Cauchy"]
)
def test_agrees_with_scipy_least_squares(loss, scipys):
    rows = contaminated()
    H, t = rows.X, rows.T[:, 0]
    found = fit(Ridge.of(rows, 0.0), loss, tol=1e-14, max_iter=500)
    theirs = optimize.least_squares(
        lambda b: H @ b - t,
        np.ones(4),
        jac=lambda _: H,
        loss=scipys,
        f_scale=0.4,
        ftol=1e-15,
        xtol=1e-15,
        gtol=1e-15,
    )
    # scipy's Huber is linear beyond f_scale as ours; both have ½ Σ f² ρ(r²/f²).
    assert found.history[-1] == pytest.approx(theirs.cost, rel=1e-9)
    np.testing.assert_allclose(found.theta[:, 0], theirs.x, rtol=1e-6)


@pytest.mark.parametrize(
    ("norm", "ours"),
    [
        (sm.robust.norms.HuberT(1.345), Huber),
        (sm.robust.norms.StudentT(c=2.385, df=1), Cauchy),  # one degree of freedom: Cauchy
        (sm.robust.norms.TukeyBiweight(4.685), Tukey),
    ],
    ids=["Huber", "Cauchy", "Tukey"],
)
def test_agrees_with_statsmodels_at_its_scale(norm, ours):
    rows = contaminated()
    theirs = sm.RLM(rows.T[:, 0], rows.X, M=norm).fit(tol=1e-13, maxiter=500)
    found = fit(Ridge.of(rows, 0.0), ours(ours.efficient * theirs.scale), tol=1e-15, max_iter=500)
    np.testing.assert_allclose(found.theta[:, 0], theirs.params, rtol=1e-6)


def test_least_absolute_deviations_agree_with_linear_programming():
    rows = contaminated(n=31)
    H, t = rows.X, rows.T[:, 0]
    n, k = H.shape
    program = optimize.linprog(
        np.r_[np.zeros(k), np.ones(2 * n)],
        A_eq=np.hstack([H, np.eye(n), -np.eye(n)]),
        b_eq=t,
        bounds=[(None, None)] * k + [(0, None)] * (2 * n),
    )
    found = fit(Ridge.of(rows, 0.0), MPE(p=1), tol=1e-14, max_iter=5000)
    assert np.abs(t - H @ found.theta[:, 0]).sum() == pytest.approx(program.fun, rel=1e-5)


def test_squared_needs_one_solve():
    found = reweight(Ridge.of(contaminated(), 0.1), Squared(), np.zeros((4, 1)))
    assert found.n_iter <= 2
    assert found.status in (Status.CONVERGED, Status.STALLED)


def test_algorithm_1_as_printed():
    rows, loss, alpha = contaminated(), KMPE(3, 8.0), 0.2
    H, T = rows.X, rows.T
    problem = Ridge.of(rows, alpha)
    found = reweight(problem, loss, problem.zero, max_iter=7, tol=1e-300, as_printed=True)
    beta, J = np.zeros((4, 1)), []
    for _ in range(8):
        e = T - H @ beta
        kernel = np.exp(-(e**2) / (2 * 8.0**2))
        lam = alpha * 3 / (4 * 8.0**2 * len(T))  # λ' = 4σ²Nλ / p
        J.append(np.mean((1 - kernel) ** 1.5) + lam * (beta**2).sum())
        phi = (1 - kernel) ** 0.5 * kernel
        last = beta
        beta = np.linalg.solve(H.T @ (phi * H) + alpha * np.eye(4), H.T @ (phi * T))
    np.testing.assert_allclose(found.theta, last, rtol=1e-9)
    scale = 3 / (2 * 8.0**2 * len(T))
    np.testing.assert_allclose(scale * np.array(found.history), J, rtol=1e-9)
    changes = np.abs(np.diff(J))
    # Stop at the first change below tol, not before and not after.
    for k in (2, 3):
        tol = 1.01 * changes[k]
        first = int(np.argmax(changes < tol)) + 1
        stopped = reweight(problem, loss, problem.zero, tol=tol, as_printed=True)
        assert stopped.n_iter == first
        assert stopped.status is Status.CONVERGED


def test_a_large_power_oscillates_as_printed_and_descends_when_safe():
    rng = np.random.default_rng(3)
    H = rng.normal(size=(40, 2))
    problem = Ridge.of(Rows.of(H, H @ [[1.0], [2.0]] + rng.uniform(-1, 1, (40, 1))), 1e-9)
    loss, start = KMPE(12, 2.0), least_squares(problem)
    printed = reweight(problem, loss, start, max_iter=30, tol=1e-15, as_printed=True)
    safe = reweight(problem, loss, start, max_iter=500)
    assert np.any(np.diff(printed.history) > 0)
    assert np.all(np.diff(safe.history) <= 0)
    assert safe.history[-1] <= min(printed.history) * (1 + 1e-9)


# -- how it stops ----------------------------------------------------------------------------


def test_running_out_of_iterations_is_not_convergence():
    found = fit(Ridge.of(contaminated(), 0.1), KMPE(4, 1.0), max_iter=1)
    assert found.status is Status.MAX_ITER
    assert not found.status.converged
    assert found.n_iter == 1
    assert "raise max_iter" in found.message
    assert "max_iter=1" in found.message


@pytest.mark.parametrize("loss", [Huber(0.4), Cauchy(0.4), Correntropy(1.0)], ids=repr)
def test_steps_that_lower_nothing_are_not_running_out_of_iterations(loss):
    """Where rounding decides no step lowers the cost any more: the status says so."""
    problem = Ridge.of(contaminated(), 0.1)
    found = reweight(problem, loss, least_squares(problem), max_iter=200, tol=1e-30)
    assert found.history[-1] < found.history[-50] if found.n_iter == 200 else found.status.converged


def test_every_other_way_to_stop_is_convergence_and_a_sentence():
    for status in Status:
        assert status.converged == (status is not Status.MAX_ITER)
        assert status.value.endswith(".")


def test_a_perfect_fit_is_said_to_be_one():
    problem = Ridge.of(Rows.of(np.eye(3), np.array([[1.0], [2.0], [4.0]])), 0.0)
    found = fit(problem, KMPE(4, 1.0))
    assert found.status is Status.EXACT
    np.testing.assert_allclose(found.theta[:, 0], [1, 2, 4])


def test_a_width_that_leaves_no_weight_is_refused_with_advice():
    rng = np.random.default_rng(0)
    problem = Ridge.of(Rows.of(rng.normal(size=(50, 2)), 3 + rng.uniform(size=(50, 1))), 1.0)
    with pytest.raises(ValueError, match=r'sigma=0.01 gives .* use sigma="mad" or a value near'):
        reweight(problem, KMPE(2, 0.01), problem.zero, as_printed=True)


def test_a_cost_that_overflows_is_refused_with_advice():
    problem = Ridge.of(Rows.of(np.ones((3, 1)), np.array([[1e60], [0.0], [0.0]])), 1.0)
    with pytest.raises(ValueError, match=r"the cost overflows.*rescale the targets"):
        reweight(problem, MPE(12), problem.zero)


# -- invariance ------------------------------------------------------------------------------


def test_rows_may_come_in_any_order():
    rows = contaminated(seed=5)
    order = np.random.default_rng(0).permutation(len(rows))
    a = fit(Ridge.of(rows, 0.1), KMPE(4, 1.0)).theta
    b = fit(Ridge.of(Rows.of(rows.X[order], rows.T[order]), 0.1), KMPE(4, 1.0)).theta
    np.testing.assert_allclose(a, b, rtol=1e-8)


@pytest.mark.parametrize("loss", [Correntropy(1.0), KMPE(4, 1.0), MPE(1.5), Huber(0.3)], ids=repr)
def test_a_weight_of_k_is_k_equal_rows(loss):
    rows, k = contaminated(), np.random.default_rng(0).integers(0, 4, 80)
    weighted = Rows.of(rows.X, rows.T, k.astype(float))
    repeated = Rows.of(np.repeat(rows.X, k, axis=0), np.repeat(rows.T, k, axis=0))
    problems = [Ridge.of(rows, 0.1) for rows in (weighted, repeated)]
    one, other = (fit(problem, loss, tol=1e-13, max_iter=999) for problem in problems)
    np.testing.assert_allclose(one.theta, other.theta, rtol=1e-5)
    assert one.history[-1] == pytest.approx(other.history[-1], rel=1e-10)


def test_the_floor_is_that_of_the_start_and_may_be_given():
    problem = Ridge.of(contaminated(), 0.1)
    start = least_squares(problem)
    own = reweight(problem, MPE(p=1), start)
    assert own.criterion == floored(problem, MPE(p=1), start)
    high = reweight(problem, Floored(MPE(p=1), 0.5), start)
    assert high.criterion.floor == 0.5
    assert high.loss == MPE(p=1)


def test_residuals_that_are_rounding_have_the_weight_of_each_other():
    """Of a singular loss, for which a residual of 1e-16 would outweigh one of 1e-14 tenfold."""
    rng = np.random.default_rng(0)
    H = rng.normal(size=(30, 3))
    T = H @ np.ones((3, 1))
    T[:5] += 9.0
    criterion = floored(Ridge.of(Rows.of(H, T)), KMPE(p=1, sigma=1.0), np.full((3, 1), 1 + 1e-13))
    w = criterion.weight(np.array([1e-32, 1e-28, 1e-20]))
    np.testing.assert_array_equal(w, w[0])


def test_rounding_decides_on_no_step_between_minima_of_the_same_cost():
    # With p = 4 a row that is met has weight 0, so that the other row of its column alone pulls.
    H = np.repeat(np.eye(2), [2, 4], axis=0)
    T = np.array([[2.0], [-2.0], [0.5], [-0.1], [0.2], [0.1]])
    ends = []
    for unit in np.linspace(1, 8, 50):
        problem = Ridge.of(Rows.of(H, unit * T))
        loss, theta = KMPE(p=4, sigma=0.3 * unit), unit * np.array([[2.0], [0.1]])
        ends.append(reweight(problem, loss, theta).theta / unit)
    np.testing.assert_allclose(ends, [ends[0]] * 50, rtol=1e-3)
