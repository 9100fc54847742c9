"""The sandwich covariance is a jackknife: compared with fits without each row, and with HC3."""

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from kmpe import RobustLinearRegression
from kmpe.estimators.inputs import RobustnessWarning
from kmpe.inference.covariance import model_based, sandwich
from kmpe.losses import KMPE, MPE, Cauchy, Correntropy, Huber, Squared, Trimmed, Tukey
from kmpe.losses.density import LogDensity
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.record import Density
from kmpe.solvers.reweighted import reweight


def rows(n=60, k=3, q=1, seed=0, spread=0.0):
    rng = np.random.default_rng(seed)
    H = np.column_stack([rng.normal(size=(n, k - 1)), np.ones(n)])
    noise = rng.normal(size=(n, q)) * np.exp(spread * H[:, :1])
    return Rows.of(H, H @ np.ones((k, q)) + noise)


def minimiser(problem, loss, theta=None):
    start = problem.zero if theta is None else theta
    return reweight(problem, loss, start, max_iter=2000, tol=1e-14).theta


def covariance(problem, loss):
    return sandwich(problem, loss, minimiser(problem, loss)).blocks


def jackknife(problem, loss):
    """Return Σ (β₋ᵢ - β)(β₋ᵢ - β)ᵀ for each target, by as many fits as there are rows."""
    whole = minimiser(problem, loss)
    moves = []
    for i in range(len(problem.rows)):
        rest = problem.rows.take(np.delete(np.arange(len(problem.rows)), i))
        moves.append(minimiser(Ridge(rest, problem.penalties), loss, whole) - whole)
    return np.einsum("ikq,ilq->qkl", moves, moves)


@pytest.mark.parametrize("q", [1, 2])
@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_for_least_squares_and_ridge_it_is_the_jackknife_exactly(alpha, q):
    problem = Ridge.of(rows(q=q, spread=0.5), alpha)
    np.testing.assert_allclose(
        covariance(problem, Squared()), jackknife(problem, Squared()), rtol=1e-8, atol=1e-12
    )


def test_for_least_squares_it_is_hc3():
    whole = rows(spread=0.5)
    theirs = sm.OLS(whole.T[:, 0], whole.X).fit(cov_type="HC3").cov_params()
    np.testing.assert_allclose(covariance(Ridge.of(whole), Squared())[0], theirs, rtol=1e-9)


R = np.geomspace(1e-4, 1e4, 1000)
SMOOTH = [
    Huber(1.345),
    Cauchy(2.385),
    Correntropy(2.11),
    KMPE(p=3, sigma=3.0),
    LogDensity.of(R, -2 * np.log1p(R**2 / 3)),
]


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("loss", SMOOTH, ids=str)
def test_for_smooth_losses_it_is_nearly_the_jackknife(loss, spread):
    problem = Ridge.of(rows(250, spread=spread))
    ours, theirs = covariance(problem, loss)[0], jackknife(problem, loss)[0]
    np.testing.assert_allclose(np.diagonal(ours), np.diagonal(theirs), rtol=0.15)
    # And in every direction: eigenvalues of one in the metric of the other.
    ratios = np.linalg.eigvals(np.linalg.solve(theirs, ours)).real
    assert 0.8 < ratios.min() <= ratios.max() < 1.25


@pytest.mark.parametrize("loss", [Squared(), Correntropy(2.11)], ids=str)
def test_it_is_the_variance_of_the_coefficients_over_many_draws(loss):
    errors, fits = [], []
    for seed in range(300):
        problem = Ridge.of(rows(80, seed=seed, spread=0.3))
        theta = minimiser(problem, loss)
        errors.append(np.diagonal(sandwich(problem, loss, theta).blocks[0]))
        fits.append(theta[:, 0])
    # The variance of 300 draws has a standard error of 8%; HC3 is a little too large by design.
    ratio = np.mean(errors, axis=0) / np.var(fits, axis=0)
    assert np.all((ratio > 0.85) & (ratio < 1.4))


PEAKED = LogDensity.of(R, -np.abs(R))
EDGED = LogDensity.of(R, np.logaddexp(-np.minimum(R**12, 1e3), -6 - np.log1p(R**2)))


@pytest.mark.parametrize(
    ("loss", "noise"),
    [(PEAKED, lambda g, n: g.laplace(size=n)), (EDGED, lambda g, n: g.uniform(-1, 1, n))],
    ids=["peak", "edge"],
)
def test_where_psi_has_a_cliff_as_well(loss, noise):
    """Few rows are near it: their own slopes are hundreds of times the mean, or none."""
    errors, fits = [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        H = rng.normal(size=(500, 3))
        problem = Ridge.of(Rows.of(H, H.sum(axis=1, keepdims=True) + noise(rng, 500)[:, None]))
        theta = minimiser(problem, loss, np.ones((3, 1)))
        errors.append(np.diagonal(sandwich(problem, loss, theta).blocks[0]))
        fits.append(theta[:, 0])
    ratio = np.mean(errors, axis=0) / np.var(fits, axis=0)
    assert np.all((ratio > 0.7) & (ratio < 1.6))


@settings(max_examples=10)
@given(seed=st.integers(0, 99))
def test_a_weight_of_k_is_k_equal_rows(seed):
    whole, k = rows(), np.random.default_rng(seed).integers(0, 4, 60)
    weighted = Rows.of(whole.X, whole.T, k.astype(float))
    repeated = Rows.of(np.repeat(whole.X, k, axis=0), np.repeat(whole.T, k, axis=0))
    for loss in (Squared(), Correntropy(2.0)):
        one, other = (covariance(Ridge.of(r), loss) for r in (weighted, repeated))
        np.testing.assert_allclose(one, other, rtol=1e-5)


@pytest.mark.parametrize("loss", [Squared(), Huber(1.0), Correntropy(2.0)], ids=str)
@pytest.mark.parametrize("n", [60, 600])
def test_it_follows_the_units(loss, n):
    whole = rows(n)
    D = np.array([1e-3, 10.0, 1.0])
    scaled = Rows.of(whole.X * D, 7 * whole.T)
    loss7 = loss.at(7 * loss.scale) if hasattr(loss, "sigma") else loss
    one, other = covariance(Ridge.of(whole), loss)[0], covariance(Ridge.of(scaled), loss7)[0]
    np.testing.assert_allclose(other, 49 * one / np.outer(D, D), rtol=1e-4)


@pytest.mark.parametrize("n", [250, 350])
def test_few_and_many_rows_have_the_same_formula(n):
    """From 100 rows per coefficient on fewer passes are taken, with nearly the same answer."""
    problem = Ridge.of(rows(n))
    theirs = jackknife(problem, Correntropy(2.11))[0]
    ours = covariance(problem, Correntropy(2.11))[0]
    np.testing.assert_allclose(np.diagonal(ours), np.diagonal(theirs), rtol=0.15)


def test_dependent_columns_have_the_covariance_of_what_they_predict():
    whole = rows()
    twice = Rows.of(np.column_stack([whole.X, whole.X[:, 0]]), whole.T)
    plain, doubled = (
        covariance(Ridge.of(whole), Squared())[0],
        covariance(Ridge.of(twice), Squared())[0],
    )
    x = np.array([0.7, -1.2, 1.0])
    assert np.r_[x, x[0]] @ doubled @ np.r_[x, x[0]] == pytest.approx(x @ plain @ x, rel=1e-6)


@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("loss", [Squared(), Correntropy(2.0)], ids=str)
def test_the_root_gives_leverages_that_add_up_to_the_number_of_coefficients(loss, n):
    problem = Ridge.of(rows(n))
    root = sandwich(problem, loss, minimiser(problem, loss)).root
    assert problem.leverages(root).sum() == pytest.approx(3, rel=1e-9 if loss == Squared() else 0.1)


def test_without_any_slope_nothing_is_known():
    """All residuals lie where the loss is flat: the covariance is NaN, not a number."""
    problem = Ridge.of(rows())
    far = np.full((3, 1), 1e6)
    assert np.isnan(sandwich(problem, Trimmed(sigma=1e-3), far).blocks).all()


@pytest.mark.parametrize("loss", [MPE(1.0), KMPE(1.0), KMPE(1.01), KMPE(1.2), MPE(1.5)], ids=repr)
@pytest.mark.parametrize("n", [30, 150])
def test_errors_of_losses_whose_slope_has_no_bound_cover(loss, n):
    """ψ' at the rows that the fit meets exactly is infinite, or minus that."""
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, 3))
        y = X @ [1.0, 2.0, 3.0] + rng.laplace(size=n)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = RobustLinearRegression(loss).fit(X, y)
        low, high = model.confidence_intervals(0.9)[:3].T
        covered.append((low <= [1, 2, 3]) & (high >= [1, 2, 3]))
    # Two standard errors of 120 intervals below 90%; few rows are given wider ones.
    assert np.mean(covered) >= 0.84
    assert np.median(high - low) < (6.0 if n == 30 else 0.8)


def gaussian(sigma=1.0):
    """Return the density of Gaussian noise, as masses."""
    x = np.linspace(0.0005, 8, 8000)
    mass = np.exp(-(x**2) / 2)
    return Density(sigma, sigma * x, mass / mass.sum())


@pytest.mark.parametrize("alpha", [0.0, 5.0])
def test_under_a_density_least_squares_has_its_classical_covariance(alpha):
    problem = Ridge.of(rows(spread=0.5), alpha)
    H = problem.rows.X
    inverse = np.linalg.inv(H.T @ H + np.diag(problem.penalties))
    ours = model_based(problem, Squared(), gaussian(2.0))
    np.testing.assert_allclose(ours, 4 * inverse @ H.T @ H @ inverse, rtol=1e-4)


@pytest.mark.parametrize("loss", [Huber(1.345), Tukey(4.685), Correntropy(2.11)], ids=str)
def test_under_a_density_many_rows_have_the_asymptotic_covariance(loss):
    """These losses have an efficiency of 95% on Gaussian noise."""
    problem = Ridge.of(rows(20_000))
    H = problem.rows.X
    theirs = np.linalg.inv(H.T @ H) / 0.95
    np.testing.assert_allclose(model_based(problem, loss, gaussian()), theirs, rtol=0.01)


def test_a_loss_without_a_mean_slope_leaves_the_sandwich_alone():
    far = Density(1.0, np.array([1e6]), np.array([1.0]))
    assert not model_based(Ridge.of(rows()), Trimmed(sigma=1e-3), far).any()


@pytest.mark.parametrize("n", [60, 1000])
@pytest.mark.parametrize("noise", ["uniform", "normal"])
def test_intervals_of_skewed_inputs_cover(noise, n):
    """Few rows determine the slopes: of uniform noise the sandwich alone covers 78% of n = 1000."""
    covered = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = np.exp(rng.normal(size=(n, 5)))
        model = RobustLinearRegression().fit(X, X.sum(axis=1) + getattr(rng, noise)(-1, 1, n))
        low, high = model.confidence_intervals()[:5].T
        covered.append((low <= 1) & (high >= 1))
    # Two standard errors of 200 intervals below 92%.
    assert np.mean(covered) >= 0.88


def test_a_loss_without_errors_says_so():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=60)
    with pytest.warns(RobustnessWarning, match="has no standard errors here: ψ is unbounded"):
        model = RobustLinearRegression(KMPE(0.5)).fit(X, y)
    assert np.isnan(model.coef_cov_).all()
