"""Two losses are told apart by their slopes if the noise depends on the inputs."""

import numpy as np
import pytest

from kmpe import Correntropy, RobustLinearRegression, Tukey
from kmpe.inference.hausman import hausman
from kmpe.rows.source import Rows


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


@pytest.mark.parametrize("kind", ["zeros", "targets of other rows", "in another unit"])
def test_outliers_that_depend_on_the_inputs_are_outliers(kind):
    """A monotone loss follows them, and would be told from the chosen one in most draws."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        X, beta = rng.normal(size=(1000, 5)), 3 * rng.normal(size=5)
        y = 5 + X @ beta + rng.uniform(-1, 1, 1000)
        other = {"zeros": 0.0, "targets of other rows": rng.permutation(y)[:200]}
        y[:200] = other.get(kind, 10 * y[:200])
        # A warning that the noise depends on the inputs would be an error.
        model = RobustLinearRegression().fit(X, y)
        assert np.sum((model.coef_ - beta) ** 2) < 2 * 5 / 3 / 800
        assert "uniform" in str(model.noise_)


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
