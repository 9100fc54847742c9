"""Products of rows have the same digits in any block."""

import numpy as np
import pytest

from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.kernel_nodes import squared_distances
from kmpe.rows.products import row_products


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 333, 1001])
@pytest.mark.parametrize(("d", "width"), [(3, 1), (16, 8), (50, 301)])
def test_a_row_has_the_same_digits_in_any_block(n, d, width):
    rng = np.random.default_rng(0)
    X, W = rng.normal(size=(4000, d)), rng.normal(size=(d, width))
    ids = rng.choice(len(X), n, replace=False)
    np.testing.assert_array_equal(row_products(X[ids], W), row_products(X, W)[ids])
    np.testing.assert_allclose(row_products(X[ids], W), X[ids] @ W, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("n", [1, 333])
def test_so_do_the_features_of_machines(n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 16))
    layer = HiddenLayer.draw(16, 8, "sigmoid", np.random.RandomState(0))
    np.testing.assert_array_equal(layer(X[:n]), layer(X)[:n])
    np.testing.assert_array_equal(squared_distances(X[:n], X[:9]), squared_distances(X, X[:9])[:n])
