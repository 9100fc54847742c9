"""Cholesky factors of matrices whose rows and columns are scaled to 1."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmpe.problems.factor import Factor


def positive_definite(k, condition=1.0, seed=0):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(k, k)))[0]
    return (Q * np.geomspace(1, 1 / condition, k)) @ Q.T


@given(k=st.integers(1, 8), seed=st.integers(0, 999), spread=st.floats(0, 100))
def test_solves_whatever_the_units_of_the_columns(k, seed, spread):
    """Columns in units that differ by up to 1e100 cost no digits."""
    rng = np.random.default_rng(seed)
    D = 10.0 ** rng.uniform(-spread / 2, spread / 2, k)
    B, x = positive_definite(k, 10, seed), rng.normal(size=(k, 2))
    factor = Factor.of(D[:, None] * B * D)
    assert factor.jitter == 0
    assert factor.sharp
    np.testing.assert_allclose(
        factor.solve(D[:, None] * (B @ x)), x / D[:, None], rtol=1e-9, atol=1e-300
    )


@pytest.mark.parametrize("k", [2, 10])
def test_a_singular_matrix_is_not_sharp_and_still_gives_a_descent(k):
    B = np.ones((k, k))
    factor = Factor.of(B)
    assert not factor.sharp
    g = np.random.default_rng(0).normal(size=(k, 1))
    assert np.isfinite(factor.solve(g)).all()
    assert np.vdot(g, factor.solve(g)) > 0


def test_zero_columns_do_no_harm():
    B = np.diag([1.0, 0.0, 4.0])
    factor = Factor.of(B)
    assert not factor.sharp
    np.testing.assert_allclose(factor.solve(np.array([[1.0], [0.0], [4.0]])), [[1], [0], [1]])


def test_a_slightly_indefinite_matrix_gets_as_little_as_it_needs():
    B = positive_definite(5, 1e20) - 1e-13 * np.eye(5)
    factor = Factor.of(B)
    needed = -np.linalg.eigvalsh(B / factor.size / factor.size[:, None])[0]
    assert needed <= factor.jitter <= 10 * needed
    x = factor.solve(B @ np.ones((5, 1)))
    assert np.vdot(x, B @ x) == pytest.approx(np.ones(5) @ B @ np.ones(5), rel=1e-3)


@given(condition=st.floats(0, 16).map(lambda e: 10.0**e))
def test_sharp_says_that_solutions_have_digits(condition):
    B = positive_definite(6, condition)
    factor = Factor.of(B)
    x = np.arange(1.0, 7)[:, None]
    error = np.linalg.norm(factor.solve(B @ x) - x) / np.linalg.norm(x)
    if factor.sharp:
        assert error < 1e-3
    else:
        assert condition > 1e5
