"""Hidden layers: the paper's, their formulas dense, sparse and in single precision."""

import numpy as np
import pytest
from scipy import sparse

from kmpe.rows.hidden_layer import ACTIVATIONS, HiddenLayer

FORMULAS = {
    "sigmoid": lambda X, W, b: 1 / (1 + np.exp(-(X @ W + b))),
    "tanh": lambda X, W, b: np.tanh(X @ W + b),
    "relu": lambda X, W, b: np.maximum(X @ W + b, 0),
    "sine": lambda X, W, b: np.sin(X @ W + b),
    "hard_limit": lambda X, W, b: (X @ W + b >= 0).astype(float),
    "rbf": lambda X, W, b: np.exp(-b * ((X[:, :, None] - W) ** 2).sum(axis=1)),
    "fourier": lambda X, W, b: np.sqrt(2) * np.cos(X @ W + b),
}
X = np.random.default_rng(0).normal(size=(80, 4))
X *= np.abs(X) > 0.5


def layer(activation="sigmoid", n_hidden=30, dtype=np.float64, seed=0):
    return HiddenLayer.draw(4, n_hidden, activation, np.random.RandomState(seed), dtype)


def test_every_activation_has_its_formula_here():
    assert FORMULAS.keys() == ACTIVATIONS.keys()


@pytest.mark.parametrize("name", FORMULAS)
def test_activations_dense_sparse_and_single(name):
    drawn = layer(name)
    expected = FORMULAS[name](X, drawn.W, drawn.b)
    np.testing.assert_allclose(drawn(X), expected, atol=1e-12)
    np.testing.assert_allclose(drawn(sparse.csr_array(X)), expected, atol=1e-12)
    single = layer(name, dtype=np.float32)(X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, expected, atol=1e-5)


def test_the_layer_is_the_papers():
    drawn = layer(n_hidden=500)
    assert -1 <= drawn.W.min() < -0.99 < 0.99 < drawn.W.max() <= 1
    assert 0 <= drawn.b.min() < 0.01 < 0.99 < drawn.b.max() <= 1
    assert abs(drawn.W.mean()) < 4 / np.sqrt(3 * drawn.W.size)


def test_fourier_features_approximate_the_gaussian_kernel():
    H = layer("fourier", 20_000)(X)
    distance2 = ((X[:, None] - X) ** 2).sum(axis=2)
    np.testing.assert_allclose(H @ H.T / 20_000, np.exp(-distance2 / 2), atol=0.05)


@pytest.mark.parametrize("name", FORMULAS)
def test_the_first_nodes_have_the_first_features(name):
    np.testing.assert_allclose(layer(name).first(7)(X), layer(name)(X)[:, :7], rtol=1e-12)
    assert layer(name).first(7).n_features == 7


def test_an_activation_may_be_a_function():
    drawn = layer(np.arctan)
    np.testing.assert_allclose(drawn(X), np.arctan(X @ drawn.W + drawn.b))


@pytest.mark.parametrize("activation", ["relu", lambda z: z * np.nan])
def test_features_that_overflow_are_refused_with_advice(activation):
    with pytest.raises(ValueError, match="scale X, or choose a bounded activation"):
        layer(activation)(1e200 * X)
