"""The loss is minus the log density of the noise; two losses are told apart by their slopes."""

import numpy as np
import pytest

import kmpe
from kmpe import Correntropy, LogDensity, RobustLinearRegression, Tukey
from kmpe.choice.loss import Choice, choose_loss, hausman
from kmpe.rows.source import Rows


def test_what_users_import_is_the_same_function():
    assert kmpe.choose_loss is choose_loss
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


def slopes(noise, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    y = X @ [1.0, -1.0] + noise(rng, X)
    losses = Correntropy(1.5), Tukey(4.7)
    fits = [RobustLinearRegression(loss).fit(X, y) for loss in losses]
    residuals = [y - fit.predict(X) for fit in fits]
    return hausman(Rows.of(X, y[:, None]), residuals[0], losses[0], residuals[1], losses[1])


def test_the_test_of_slopes_keeps_its_level():
    p = [slopes(lambda rng, X: rng.standard_t(3, len(X)), seed=seed) for seed in range(60)]
    assert np.mean(np.array(p) < 0.05) < 0.15
    assert min(p) > 1e-4


def test_noise_that_depends_on_the_inputs_is_noticed():
    def skewed(rng, X):
        return rng.exponential(np.exp(X[:, 0]))

    assert slopes(skewed, 3000) < 1e-3


def test_equal_fits_do_not_differ():
    X, r = np.random.default_rng(0).normal(size=(50, 2)), np.random.default_rng(1).normal(size=50)
    assert hausman(Rows.of(X, r[:, None]), r, Tukey(4.0), r, Tukey(4.0)) == 1


def test_dependent_columns_do_no_harm():
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(60, 2)), rng.normal(size=60)
    other = r + 0.1 * X[:, 0]
    wide = np.column_stack([X, X.sum(axis=1), np.ones(60)])
    rows = [Rows.of(H, r[:, None]) for H in (X, wide)]
    p = [hausman(some, r, Tukey(4.0), other, Tukey(5.0)) for some in rows]
    assert p[0] == pytest.approx(p[1])


def test_residuals_alone_tell_that_slopes_agree():
    rng = np.random.default_rng(0)
    X, r = rng.normal(size=(60, 2)), rng.normal(size=60)
    rows, other = Rows.of(X, r[:, None]), r + 0.01 * X[:, 0]
    quick = hausman(rows, r, Tukey(4.0), other, Tukey(5.0), level=0.001)
    assert 0.001 < quick <= hausman(rows, r, Tukey(4.0), other, Tukey(5.0))
