"""The penalty by cross-validation, and robust fits as ridge fits to pseudo-targets."""

import numpy as np
import pytest

from kmpe import ELMRegressor
from kmpe.choice.penalty import WIDTHS, Tuning, _Path, choose_width, tune
from kmpe.choice.slope import mean_slope
from kmpe.losses import KMPE, Correntropy, Huber, Squared
from kmpe.problems.ridge import Ridge
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.source import Rows
from kmpe.solvers.reweighted import reweight


def rows(n=200, L=15, noise=0.3, share=0.0, seed=0, a=None):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, L)) @ np.diag(np.geomspace(1, 0.05, L))
    T = H @ rng.normal(size=(L, 1)) + noise * rng.normal(size=(n, 1))
    T[: int(share * n)] += 20
    return Rows.of(H, T, a)


# -- pseudo-targets (Cox, 1983) --------------------------------------------------------------


@pytest.mark.parametrize("loss", [Huber(0.4), Correntropy(0.8), KMPE(p=3, sigma=1.0)], ids=repr)
@pytest.mark.parametrize("alpha", [0.1, 5.0])
def test_a_robust_ridge_fit_is_the_ridge_fit_to_its_pseudo_targets(loss, alpha):
    """Hᵀψ(r) = αβ, so least squares on z = Hβ + ψ(r) / E[ψ'] with α / E[ψ'] gives β back."""
    whole = rows(share=0.05)
    H, T = whole.X, whole.T
    problem = Ridge.of(whole, alpha)
    start = problem.solve(problem.weighted(problem.zero, Huber(0.4)))
    beta = reweight(problem, loss, start, max_iter=3000, tol=1e-15).theta
    R = T - H @ beta
    slope = mean_slope(loss, (R**2)[:, 0], np.ones(200), 1)
    z = H @ beta + loss.weight(R**2) * R / slope
    again = np.linalg.solve(H.T @ H + alpha / slope * np.eye(15), H.T @ z)
    np.testing.assert_allclose(again, beta, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("loss", [Huber(0.4), Correntropy(0.8), KMPE(p=3, sigma=1.0)], ids=repr)
@pytest.mark.parametrize("alpha", [None, 1.0])
def test_tuning_ends_at_the_robust_fit_with_the_penalty_that_it_names(loss, share, alpha):
    whole = rows(share=share)
    tuned = tune(whole, loss=loss, alpha=alpha)
    problem = Ridge.of(whole, tuned.alpha)
    fit = reweight(problem, loss, tuned.beta, max_iter=3000, tol=1e-15)
    np.testing.assert_allclose(tuned.beta, fit.theta, atol=2e-3 * np.abs(fit.theta).max())
    s = problem.squared_residuals(fit.theta)
    if alpha is not None:  # it is that of least squares, and weighs on the loss as it does there
        slope = mean_slope(loss, s, np.ones(200), 1)
        assert tuned.alpha == pytest.approx(alpha * slope, rel=1e-2)


# -- generalised cross-validation ------------------------------------------------------------


def gcv(whole, alpha):
    """Return (RSS / n) / (1 - 1.4 df / n)² by the hat matrix."""
    H, a = whole.X, whole.a
    G = np.linalg.solve(H.T @ (a[:, None] * H) + alpha * np.eye(H.shape[1]), (a[:, None] * H).T)
    r = whole.T - H @ (G @ whole.T)
    n, df = a.sum(), np.trace(G @ H)
    return float(a @ r[:, 0] ** 2) / n / (1 - 1.4 * df / n) ** 2, df


@pytest.mark.parametrize("noise", [0.03, 0.3, 3.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_least_squares_have_the_penalty_of_least_cross_validation(noise, weighted):
    a = np.random.default_rng(1).integers(1, 4, 200).astype(float) if weighted else None
    whole = rows(noise=noise, a=a)
    tuned = tune(whole, loss=Squared(), alpha=None)
    best = min(gcv(whole, alpha)[0] for alpha in np.geomspace(1e-10, 1e5, 400))
    value, df = gcv(whole, tuned.alpha)
    assert value < best * (1 + 1e-3)
    assert tuned.degrees_of_freedom == pytest.approx(df, rel=1e-6)


def test_more_noise_needs_more_penalty():
    alphas = [tune(rows(noise=noise), loss=Squared(), alpha=None).alpha for noise in (0.03, 0.3, 3)]
    assert alphas == sorted(alphas)
    assert alphas[0] < 0.1 * alphas[-1]


def test_outliers_do_not_choose_the_penalty():
    clean, spoilt = (
        tune(rows(share=share), loss=Correntropy(), alpha=None).alpha for share in (0.0, 0.1)
    )
    least_squares = tune(rows(share=0.1), loss=Squared(), alpha=None).alpha
    assert spoilt == pytest.approx(clean, rel=3)
    assert least_squares > 3 * spoilt


def test_no_more_than_half_a_parameter_per_row_is_spent():
    """30 rows, 200 features, no noise to speak of: the fit could have every row."""
    tuned = tune(rows(30, 200, noise=1e-3), loss=None, alpha=None)
    assert tuned.degrees_of_freedom <= 15 * (1 + 1e-9)


@pytest.mark.parametrize("T", [np.zeros((50, 1)), None], ids=["zero", "exact"])
def test_without_noise_there_is_no_loss_to_choose(T):
    whole = rows(50, 5, noise=0.0)
    tuned = tune(whole if T is None else Rows.of(whole.X, T), loss=None, alpha=None)
    assert tuned.noise is None
    assert isinstance(tuned.loss, Squared if T is not None else Correntropy)


def test_the_unit_of_the_targets_changes_nothing_but_the_unit():
    whole = rows(share=0.1)
    scaled = Rows.of(whole.X, 1e3 * whole.T)
    one, other = (tune(r, loss=Correntropy(), alpha=None) for r in (whole, scaled))
    assert other.alpha == pytest.approx(one.alpha, rel=1e-6)
    np.testing.assert_allclose(other.beta, 1e3 * one.beta, rtol=1e-5, atol=1e-5)


# -- width and path --------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.0, 0.1])
def test_the_width_predicts_next_to_best(share):
    """A wavy function of three inputs needs many nodes, and outliers do not hide it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1400, 3))
    t = (np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] ** 2)[:, None]
    noisy = t + 0.05 * rng.normal(size=t.shape) + 20 * (rng.uniform(size=t.shape) < share)
    layer = HiddenLayer.draw(3, WIDTHS[-1], "sigmoid", np.random.RandomState(0))
    train = Rows(X[:400], noisy[:400], np.ones(400), layer)
    chosen = choose_width(train, loss=None, alpha=None)

    def error(width):
        H = layer.first(width)(X)
        beta = tune(Rows.of(H[:400], noisy[:400]), loss=Correntropy(0.3), alpha=None).beta
        return np.sqrt(np.mean((t[400:] - H[400:] @ beta) ** 2))

    assert chosen > 100
    assert error(chosen) < 1.2 * min(error(width) for width in WIDTHS)


def test_a_given_loss_and_penalty_are_left_alone():
    problem = Ridge.of(rows())
    tuning = Tuning(Correntropy(0.7), 0.3)
    chosen = tuning.choose(tuning.start(problem))
    assert chosen.loss == Correntropy(0.7)
    np.testing.assert_array_equal(chosen.problem.penalties, 0.3)
    assert chosen.details.alpha == 0.3


def test_the_choice_is_the_start_of_the_fit():
    problem = Ridge.of(rows(share=0.1))
    tuning = Tuning(None, None)
    begun = tuning.start(problem)
    chosen = tuning.choose(begun)
    np.testing.assert_array_equal(begun.theta, chosen.details.beta)
    np.testing.assert_array_equal(chosen.problem.penalties, chosen.details.alpha)
    assert not chosen.loss.has_rule


@pytest.mark.parametrize("alpha", [None, 0.0, 1e-3])
def test_more_features_than_rows_have_the_path_of_their_products(alpha):
    """β = Hᵀ(HHᵀ + αI)⁻¹T, of the least norm without a penalty."""
    whole = rows(n=12, L=40)
    H, T, a = whole.X, whole.T, np.arange(1.0, 13.0)
    found = _Path(H, T, a).fit(T, alpha)
    G, R = np.sqrt(a)[:, None] * H, np.sqrt(a)[:, None] * T
    expected = G.T @ np.linalg.solve(G @ G.T + found.alpha * np.eye(12), R)
    np.testing.assert_allclose(found.beta, expected, rtol=1e-6)
    assert found.degrees_of_freedom == pytest.approx(
        np.trace(np.linalg.solve(G @ G.T + found.alpha * np.eye(12), G @ G.T))
    )


def test_widths_that_one_row_does_not_tell_apart_are_equally_good_in_any_unit():
    layer = HiddenLayer.draw(15, WIDTHS[-1], "rbf", np.random.RandomState(0), np.float64)
    for seed in range(5):
        X = np.random.default_rng(seed).integers(0, 2, (1, 15)).astype(float)
        ones = [Rows(X, np.full((1, 1), f * 556.3), np.ones(1), layer) for f in (1.0, 2.9, 3.7)]
        assert len({choose_width(one, loss=None, alpha=None) for one in ones}) == 1


# 9 among three rows: no residual was near σ, and a pseudo-value overflowed.
# 45 among two: the floor of exact residuals was far above σ, so that all weights were zero.
@pytest.mark.parametrize(("seed", "n"), [(5, 3), (12, 3), (9, 3), (258, 4), (45, 2), (199, 2)])
def test_targets_of_any_size_have_a_penalty(seed, n):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 1)), rng.uniform(-1, 1, size=n)
    model = ELMRegressor(KMPE(p=1, sigma="mad"), activation="fourier", random_state=seed)
    near, far = (model.fit(X, unit * y).predict(X) / unit for unit in (1.0, 9e149))
    np.testing.assert_allclose(far, near, rtol=1e-9)
