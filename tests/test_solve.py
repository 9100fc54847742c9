"""The loop: it descends, stops, says why, and finds what others find."""

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import optimize

from kmpe import KMPE, MPE, Cauchy, Correntropy, Huber, RiskSensitive, Squared, Tukey
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.reweighted import Status, anneal, reweight


def ridge_start(problem):
    return problem.solve(np.ones(len(problem.rows)), problem.zero)


def fit(problem, loss, **options):
    loss, theta = anneal(problem, loss, ridge_start(problem))
    return reweight(problem, loss, theta, **options)


def contaminated(n=80, L=4, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, L))
    T = H @ np.arange(1.0, L + 1)[:, None] + 0.3 * rng.normal(size=(n, 1))
    T[: int(share * n)] += 50
    return Rows.of(H, T)


LOSSES = st.one_of(
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
    loss=LOSSES,
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
    assert np.isfinite(found.weights).all()
    assert np.isfinite(found.history).all()
    assert np.all(np.diff(found.history) <= 0)


@pytest.mark.parametrize("p", [1, 1.5, 2, 3, 4, 10])
def test_it_ends_where_the_gradient_is_zero(p):
    rows = contaminated()
    problem = Ridge.of(rows, 0.1)
    found = fit(problem, KMPE(p, 1.0), max_iter=2000, tol=1e-15)
    H, T = rows.features(slice(None)), rows.T
    R = T - H @ found.theta
    pull = np.abs(H.T @ (found.weights[:, None] * R))
    assert found.status.converged
    balance = H.T @ (found.weights[:, None] * R) - 0.1 * found.theta
    assert np.abs(balance).max() < 1e-5 * np.abs(H).T.dot(found.weights * np.abs(R[:, 0])).max()
    assert pull.max() > 0


@pytest.mark.parametrize(
    ("loss", "name"), [(Huber(0.4), "huber"), (Cauchy(0.4), "cauchy")], ids=["Huber", "Cauchy"]
)
def test_agrees_with_scipy_least_squares(loss, name):
    rows = contaminated()
    H, t = rows.features(slice(None)), rows.T[:, 0]
    found = fit(Ridge.of(rows, 0.0), loss, tol=1e-14, max_iter=500)
    theirs = optimize.least_squares(
        lambda b: H @ b - t,
        found.theta[:, 0] * 0 + 1,
        jac=lambda _: H,
        loss=name,
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
    theirs = sm.RLM(rows.T[:, 0], rows.features(slice(None)), M=norm).fit(tol=1e-13, maxiter=500)
    found = fit(Ridge.of(rows, 0.0), ours(ours.efficient * theirs.scale), tol=1e-15, max_iter=500)
    np.testing.assert_allclose(found.theta[:, 0], theirs.params, rtol=1e-6)


def test_squared_needs_one_solve():
    found = fit(Ridge.of(contaminated(), 0.1), Squared())
    assert found.n_iter <= 2
    assert found.status in (Status.CONVERGED, Status.STALLED)


def test_the_robust_start_is_not_held_by_outliers():
    rows = contaminated(share=0.4)
    problem = Ridge.of(rows, 1e-6)
    robust = fit(problem, KMPE(4, 1.0))
    held = reweight(problem, KMPE(4, 1.0), ridge_start(problem))
    truth = np.arange(1.0, 5)
    assert np.abs(robust.theta[:, 0] - truth).max() < 0.3
    assert robust.history[-1] <= held.history[-1]
    assert robust.weights[: int(0.4 * 80)].max() < 1e-6


def test_sigma_as_a_rule_settles():
    problem = Ridge.of(contaminated(n=400), 0.0)
    found = fit(problem, Correntropy("mad"))
    assert found.loss.sigma == pytest.approx(2.11 * 0.34, rel=0.1)  # a tenth of outliers: 0.34


def test_algorithm_1_as_printed():
    rows, loss, alpha = contaminated(), KMPE(3, 8.0), 0.2
    H, T = rows.features(slice(None)), rows.T
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
    change = abs(J[3] - J[2])
    stopped = reweight(problem, loss, problem.zero, tol=1.01 * change, as_printed=True)
    assert stopped.n_iter <= 3
    assert stopped.status is Status.CONVERGED


def test_a_large_power_oscillates_as_printed_and_descends_when_safe():
    rng = np.random.default_rng(3)
    H = rng.normal(size=(40, 2))
    problem = Ridge.of(Rows.of(H, H @ [[1.0], [2.0]] + rng.uniform(-1, 1, (40, 1))), 1e-9)
    loss, start = KMPE(12, 2.0), ridge_start(problem)
    printed = reweight(problem, loss, start, max_iter=30, tol=1e-15, as_printed=True)
    safe = reweight(problem, loss, start, max_iter=500)
    assert np.any(np.diff(printed.history) > 0)
    assert np.all(np.diff(safe.history) <= 0)
    assert safe.history[-1] <= min(printed.history) * (1 + 1e-9)


def test_running_out_of_iterations_is_not_convergence():
    found = fit(Ridge.of(contaminated(), 0.1), KMPE(4, 1.0), max_iter=1)
    assert found.status is Status.MAX_ITER
    assert not found.status.converged
    assert "raise max_iter" in found.message
    assert "max_iter=1" in found.message


def test_a_perfect_fit_is_said_to_be_one():
    H = np.eye(3)
    problem = Ridge.of(Rows.of(H, np.array([[1.0], [2.0], [4.0]])), 0.0)
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


def test_rows_may_come_in_any_order():
    rows = contaminated(seed=5)
    H, T = rows.features(slice(None)), rows.T
    order = np.random.default_rng(0).permutation(len(T))
    a = fit(Ridge.of(rows, 0.1), KMPE(4, 1.0)).theta
    b = fit(Ridge.of(Rows.of(H[order], T[order]), 0.1), KMPE(4, 1.0)).theta
    np.testing.assert_allclose(a, b, rtol=1e-8)
