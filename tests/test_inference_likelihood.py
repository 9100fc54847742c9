"""The log-likelihood of PCA is that of its Gaussian, of whole rows and of those with holes."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.decomposition import PCA

from kmpe import PCAL1, RobustPCA, Squared
from kmpe.inference.likelihood import log_likelihood

RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 6)) * [5, 3, 1, 1, 1, 1] + 2


@pytest.mark.parametrize("m", [1, 2, 6])
def test_least_squares_have_the_likelihood_of_scikit_learn(m):
    ours, theirs = RobustPCA(m, loss=Squared()).fit(X), PCA(m).fit(X)
    np.testing.assert_allclose(ours.score_samples(X), theirs.score_samples(X), rtol=1e-9)
    assert ours.score(X) == pytest.approx(theirs.score(X), rel=1e-9)
    np.testing.assert_allclose(ours.get_precision(), theirs.get_precision(), atol=1e-9)


@pytest.mark.parametrize("scale", [None, "mad", "qn"])
@pytest.mark.parametrize("model", [RobustPCA(2), PCAL1(2)], ids=["RobustPCA", "PCAL1"])
def test_it_is_that_of_mean_and_covariance(model, scale):
    if isinstance(model, RobustPCA):
        model = RobustPCA(2, scale=scale)
    model.fit(X)
    gauss = multivariate_normal(model.mean_, model.get_covariance())
    np.testing.assert_allclose(model.score_samples(X), gauss.logpdf(X), rtol=1e-9)
    unit = model.get_precision() @ model.get_covariance()
    np.testing.assert_allclose(unit, np.eye(6), atol=1e-9)


@pytest.mark.parametrize("scale", [None, "mad"])
def test_of_a_row_with_holes_it_is_that_of_what_is_known(scale):
    model = RobustPCA(2, scale=scale).fit(X)
    Z = X[:3].copy()
    Z[0, 1] = Z[1, [0, 2, 3]] = np.nan
    for z, found in zip(Z, model.score_samples(Z), strict=True):
        known = ~np.isnan(z)
        C = model.get_covariance()[np.ix_(known, known)]
        gauss = multivariate_normal(model.mean_[known], C)
        assert found == pytest.approx(gauss.logpdf(z[known]))
    assert model.score_samples(np.full((1, 6), np.nan))[0] == pytest.approx(0)


def test_rows_in_the_subspace_have_a_finite_likelihood():
    plane = RNG.standard_normal((30, 2)) @ RNG.standard_normal((2, 5))
    model = RobustPCA(2).fit(plane)
    assert np.isfinite(model.score_samples(plane)).all()
    assert np.isfinite(model.get_precision()).all()
    off = model.score_samples(plane + np.eye(5)[4])
    assert off.max() < model.score_samples(plane).min()
    no_directions = log_likelihood(np.ones((2, 3)), np.zeros((3, 0)), np.zeros(0), 1.0)
    np.testing.assert_allclose(no_directions, multivariate_normal(np.zeros(3)).logpdf(np.ones(3)))
