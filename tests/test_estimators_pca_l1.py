"""PCA-L1: the greedy maximum of absolute projections."""

import itertools

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from kmpe import PCAL1


def rows(n=12, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def best_dispersion(Y):
    """Return the maximum of Σ |wᵀy| over all w by trying all signs: it is max ‖Σ ±y‖."""
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=len(Y))))
    return np.linalg.norm(signs @ Y, axis=1).max()


@pytest.mark.parametrize("seed", range(5))
def test_the_first_component_is_the_maximum_over_all_signs(seed):
    X = rows(10, 3, seed)
    model = PCAL1(1, n_starts=20, random_state=0).fit(X)
    assert model.dispersions_[0] == pytest.approx(best_dispersion(X - X.mean(axis=0)), rel=1e-12)


@pytest.mark.parametrize("shape", [(40, 6), (6, 40)])
def test_each_component_is_a_fixed_point_on_what_the_others_left(shape):
    X = rows(*shape)
    model = PCAL1(3, random_state=0).fit(X)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(3), atol=1e-12)
    Y = X - X.mean(axis=0)
    for w, dispersion in zip(model.components_, model.dispersions_, strict=True):
        P = Y @ w
        assert np.abs(P).sum() == pytest.approx(dispersion)
        again = Y.T @ np.sign(P)
        np.testing.assert_allclose(again / np.linalg.norm(again), w, atol=1e-10)
        Y = Y - np.outer(P, w)


def test_one_far_row_moves_it_less_than_plain_pca():
    rng = np.random.default_rng(0)
    X = np.outer(rng.uniform(-10, 10, 60), [1.0, 0.5]) + 0.1 * rng.standard_normal((60, 2))
    X[0] = [-60, 120]
    true = np.array([1.0, 0.5]) / np.hypot(1, 0.5)
    ours, theirs = (abs(model.fit(X).components_[0] @ true) for model in (PCAL1(1), PCA(1)))
    assert ours > theirs


def test_a_projection_of_zero_is_no_place_to_stop():
    # From the first axis both other rows project to zero: the signs there say nothing.
    X = np.array([[1.0, 0], [-1, 0], [0, 3], [0, -3]])
    model = PCAL1(1, n_starts=1, random_state=0).fit(X)
    assert model.dispersions_[0] == pytest.approx(best_dispersion(X))


def test_attributes_are_those_of_pca():
    X = rows(30, 5)
    model = PCAL1(whiten=True, random_state=0).fit(X)
    T = model.transform(X)
    np.testing.assert_allclose(T.var(axis=0, ddof=1), 1)
    np.testing.assert_allclose(model.inverse_transform(T), X, atol=1e-10)
    np.testing.assert_allclose(model.get_covariance(), np.cov(X.T), atol=5e-1)
    assert model.explained_variance_ratio_.sum() == pytest.approx(1)
    assert list(model.get_feature_names_out()) == [f"pcal1{i}" for i in range(5)]


@pytest.mark.parametrize("X", [np.ones((5, 3)), np.outer(np.arange(6.0), [1, 2, 0]), np.eye(4)[:2]])
def test_degenerate_data_give_orthonormal_components(X):
    model = PCAL1(random_state=0).fit(X)
    k = model.n_components_
    assert k == min(X.shape)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-10)


def test_bad_parameters_and_too_few_steps():
    with pytest.raises(ValueError, match="n_starts=0 must be a whole number"):
        PCAL1(n_starts=0).fit(rows())
    with pytest.raises(ValueError, match=r"n_components=0\.5 must be a whole number from 1 to 5"):
        PCAL1(0.5).fit(rows())
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        PCAL1(2, n_starts=9, max_iter=1, random_state=0).fit(rows(200, 20))
