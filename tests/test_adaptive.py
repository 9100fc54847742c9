"""The choice of the loss from residuals, and the noise that it is judged by."""

import numpy as np
import pytest

from kmpe import KMPE, Correntropy, Huber, Squared
from kmpe.choice.loss import CANDIDATES, REFERENCE, choose_loss
from kmpe.choice.noise import GRID, log_evidence, posterior_mass

N = 2000


def draw(noise, n=N, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "Gaussian": lambda: rng.normal(size=n),
        "Laplace": lambda: rng.laplace(size=n),
        "Cauchy": lambda: rng.standard_cauchy(n),
        "uniform": lambda: rng.uniform(-1, 1, n),
        "sine": lambda: np.sin(rng.uniform(0, 2 * np.pi, n)),
        "outliers": lambda: np.where(rng.uniform(size=n) < 0.2, 50.0, rng.normal(size=n)),
    }[noise]()


def true_variance(loss, noise):
    """Return E[ψ²] / E[ψ']² from many draws."""
    r = draw(noise, 200_000, seed=1)
    return np.mean(loss.psi(r) ** 2) / np.mean(loss.psi_derivative(r)) ** 2


@pytest.mark.parametrize(
    ("noise", "variance"),
    # Least squares has the variance of the noise: 1, 2, infinite, 1/3, 1/2, 391.
    [("Gaussian", 1.02), ("Laplace", 1.25), ("Cauchy", 2.2), ("uniform", 0.06), ("sine", 0.01)],
)
def test_the_chosen_loss_is_nearly_the_best(noise, variance):
    chosen = choose_loss(draw(noise)).loss
    assert true_variance(chosen, noise) < variance


def test_gross_outliers_get_no_weight():
    chosen = choose_loss(draw("outliers")).loss
    assert chosen.weight(50.0**2) < 1e-6
    # 20% of the rows carry nothing: 1 / 0.8 is the least that is left.
    assert true_variance(chosen, "outliers") < 1.05 / 0.8


def test_variances_are_those_of_the_candidates():
    selection = choose_loss(draw("Laplace", 20_000))
    assert len(selection.variance) == len(selection.candidates) == len(CANDIDATES)
    for kind in (Squared, Correntropy, Huber):
        i = next(i for i, c in enumerate(selection.candidates) if isinstance(c, kind))
        expected = true_variance(selection.candidates[i], "Laplace")
        assert selection.variance[i] == pytest.approx(expected, rel=0.1)
    assert selection.candidates[0] == REFERENCE.at(selection.candidates[0].scale)
    assert str(selection.loss) in str(selection).splitlines()[1]


def test_the_choice_follows_the_units():
    r = draw("uniform", 300)
    small, large = choose_loss(r), choose_loss(1000 * r)
    assert large.loss.p == small.loss.p
    assert large.loss.sigma == pytest.approx(1000 * small.loss.sigma)


def test_a_weight_is_a_number_of_rows_and_zero_is_none():
    r = draw("Laplace", 60)
    a = np.random.default_rng(0).integers(0, 4, 60)
    weighted, repeated = choose_loss(r, sample_weight=a), choose_loss(np.repeat(r, a))
    np.testing.assert_allclose(weighted.variance, repeated.variance)
    np.testing.assert_allclose(weighted.uncertainty, repeated.uncertainty)


def test_skewed_noise_is_judged_about_its_own_centre():
    """Residuals off centre by a constant are the intercept's affair."""
    r = draw("Gaussian", 5000)
    moved = choose_loss(r + 0.5, candidates=[Squared()])
    assert moved.variance[0] == pytest.approx(np.var(r), rel=0.05)


def test_leverage_makes_up_for_what_was_fitted():
    r = draw("Gaussian", 400)
    plain, fitted = choose_loss(r), choose_loss(0.8 * r, leverage=1 - 0.8**2)
    np.testing.assert_allclose(fitted.variance, plain.variance)


def test_several_targets():
    R = np.random.default_rng(0).normal(size=(N, 3))
    R[:400] += 30
    chosen = choose_loss(R).loss
    assert chosen.weight(3 * 30.0**2) < 1e-6


def test_no_residuals_at_all_choose_the_reference():
    assert choose_loss(np.zeros(10)).loss.scale == REFERENCE.scale
    one = choose_loss(np.zeros((10, 2)), candidates=[KMPE(4, 1.0)])
    assert one.loss == KMPE(4, 1.0)


@pytest.mark.parametrize(("noise", "beyond"), [("Gaussian", 0.0455), ("Cauchy", 0.21)])
def test_the_noise_has_the_tails_of_its_rows(noise, beyond):
    r = np.abs(draw(noise, 300))
    r /= np.median(r) / 0.6745
    mass = posterior_mass(r, np.ones(300))
    assert mass.sum() == pytest.approx(1)
    # Beyond 2 MAD: 4.6% of a Gaussian, and 2 arctan(1 / 2.97) / π of a Cauchy distribution.
    assert mass[GRID > 2].sum() == pytest.approx(beyond, abs=0.035)


def test_sharp_edges_are_more_probable_than_blurred_ones():
    rng = np.random.default_rng(0)
    r = np.abs(rng.uniform(-1.35, 1.35, 100))
    blurred = np.abs(r + rng.normal(0, 0.3, 100))
    ones = np.ones(100)
    assert log_evidence(r, ones) > log_evidence(blurred, ones) + 10


def test_a_weight_of_two_is_evidence_twice():
    r = np.abs(draw("Cauchy", 50))
    once, twice = np.ones(50), np.full(50, 2.0)
    assert log_evidence(r, twice) == pytest.approx(log_evidence(np.tile(r, 2), np.tile(once, 2)))
