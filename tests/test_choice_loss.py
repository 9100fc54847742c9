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
