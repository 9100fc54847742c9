"""A root of the inverse Gram matrix, exact for few columns and an estimate for many."""

import numpy as np
import pytest

from kmpe.problems.leverage import projected, root_of_inverse, whitening


def leverages(H):
    return ((H @ root_of_inverse(H.T @ H)) ** 2).sum(axis=1)


@pytest.mark.parametrize("k", [1, 5, 64])
def test_few_columns_are_exact(k):
    H = np.random.default_rng(0).normal(size=(200, k))
    np.testing.assert_allclose(leverages(H), np.diagonal(H @ np.linalg.pinv(H)), rtol=1e-8)


def test_dependent_columns_count_once():
    H = np.random.default_rng(0).normal(size=(50, 4))
    np.testing.assert_allclose(leverages(np.hstack([H, H @ H[:4]])), leverages(H), rtol=1e-6)
    assert leverages(np.hstack([H, H])).sum() == pytest.approx(4)


def test_many_columns_are_estimates_without_bias():
    """64 projections: a relative error of √(2 / 64) for each row, and hardly any in the sum."""
    H = np.random.default_rng(0).normal(size=(1000, 200))
    exact = np.diagonal(H @ np.linalg.pinv(H))
    ratio = leverages(H) / exact
    assert np.std(ratio) == pytest.approx(np.sqrt(2 / 64), rel=0.2)
    assert np.mean(ratio) == pytest.approx(1, abs=0.03)


def test_a_projection_does_not_turn_with_the_columns_of_the_root():
    """Rounding turns eigenvectors of nearly equal eigenvalues: row order would matter."""
    rng = np.random.default_rng(0)
    V = rng.normal(size=(100, 100))
    turn = np.linalg.qr(rng.normal(size=(100, 100)))[0]
    np.testing.assert_allclose(projected(V @ turn), projected(V), atol=1e-10)


def test_a_square_that_is_below_zero_by_rounding_is_none():
    V = whitening(np.array([[4.0, 0.0], [0.0, -1e-30]]))
    np.testing.assert_allclose(V @ V.T, [[0.25, 0.0], [0.0, 0.0]], atol=1e-15)
