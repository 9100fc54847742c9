"""The loss is minus the log density of the noise."""

import numpy as np

import kmpe
from kmpe import Correntropy, LogDensity
from kmpe.choice.loss import Choice, choose_loss


def test_what_users_import_is_the_same_function():
    assert kmpe.choose_loss is choose_loss


def test_gaussian_residuals_get_nearly_least_squares():
    choice = choose_loss(np.random.default_rng(0).normal(size=3000))
    assert isinstance(choice, Choice)
    assert isinstance(choice.loss, LogDensity)
    w = choice.loss.weight(np.linspace(0, 2, 9) ** 2)
    np.testing.assert_allclose(w / w[0], 1, atol=0.1)


def test_an_edge_has_the_weight():
    loss = choose_loss(np.random.default_rng(0).uniform(-1, 1, 2000)).loss
    centre, edge, beyond = loss.weight(np.array([0.1, 0.98, 3.0]) ** 2)
    assert centre < 0.1 * edge
    assert beyond < 0.1 * edge


def test_outliers_lose_their_weight():
    rng = np.random.default_rng(0)
    r = np.where(rng.uniform(size=1000) < 0.1, rng.normal(0, 20, 1000), rng.normal(size=1000))
    loss = choose_loss(r).loss
    assert loss.psi(30.0) < 0.2 * loss.psi(1.5)


def test_several_targets_get_the_plain_loss():
    choice = choose_loss(np.random.default_rng(0).normal(size=(200, 3)))
    assert isinstance(choice.loss, Correntropy)
    assert choice.noise is None


def test_a_peak_has_no_detail_below_a_tenth_of_the_error_of_the_predictions():
    r = np.random.default_rng(0).laplace(size=3000)
    loss = choose_loss(r, leverage=0.04).loss
    at = loss.sigma * np.array([0.001, 0.019, 0.04])
    w = loss.weight(at**2)
    assert w[1] > 0.9 * w[0]
    assert w[2] < 0.7 * w[0]
    sharp = choose_loss(r).loss.weight(at**2)
    assert sharp[1] < 0.2 * sharp[0]


def test_many_rows_of_peaked_noise_beside_a_penalty():
    """Steps towards an unsmoothed peak end early: slopes of two losses seemed to differ."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(50_000, 100))
    noise = rng.laplace(size=50_000) + 20 * (rng.random(50_000) < 0.1)
    # A warning that the noise depends on the inputs would be an error.
    model = kmpe.RobustLinearRegression(alpha=100.0).fit(X, X.sum(axis=1) + noise)
    assert isinstance(model.loss_, LogDensity)
    assert model.n_iter_ < 40
