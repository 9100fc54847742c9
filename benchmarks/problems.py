"""The problems that are timed: a hidden layer on smooth targets, with outliers."""

import numpy as np

from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.source import Rows


def inputs(n, d=20, dtype=np.float64, outliers=0.1, seed=0):
    """Return X, y: a smooth function of three inputs, noise, and a share of outliers."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.sin(X[:, 0]) + X[:, 1 % d] * X[:, 2 % d] + 0.1 * rng.standard_normal(n)
    bad = rng.uniform(size=n) < outliers
    y[bad] += rng.normal(5, 5, np.count_nonzero(bad))
    return X, y.astype(dtype)


def hidden(X, n_hidden, seed=1):
    """Return H, computed by all cores."""
    layer = HiddenLayer.draw(X.shape[1], n_hidden, "sigmoid", np.random.RandomState(seed), X.dtype)
    targets, ones = np.empty((len(X), 1)), np.ones(len(X))
    rows = Rows(lambda where: layer(X[where]), targets, ones, n_hidden)
    return rows.stored(X.dtype).features(slice(None))
