"""The start of a linear regression: outliers do not hold it, dependent columns do no harm."""

import numpy as np
import pytest

from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.starts.linear import LinearStart


def problem(n=200, d=3, share=0.0, dependent=False, penalties=0.0, seed=0):
    rng = np.random.default_rng(seed)
    H = np.column_stack([rng.normal(size=(n, d)), np.ones(n)])
    T = H @ np.arange(1.0, d + 2)[:, None] + 0.5 * rng.normal(size=(n, 1))
    bad = rng.permutation(n)[: int(share * n)]
    H[bad, :d] += 8
    T[bad] = -40 + rng.normal(size=(len(bad), 1))
    if dependent:
        H = np.column_stack([H, H[:, :1] + H[:, 1:2], H[:, 2:3]])
    return Ridge(Rows.of(H, T), np.full(H.shape[1], penalties))


def test_a_quarter_of_bad_leverage_points_does_not_hold_it():
    begun = LinearStart()(problem(share=0.25))
    np.testing.assert_allclose(begun.theta[:, 0], np.arange(1.0, 5), atol=0.4)


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_dependent_columns_are_spanned_by_an_orthonormal_basis(share):
    """The fit is that of the independent columns."""
    begun, plain = LinearStart()(problem(share=share, dependent=True)), problem(share=share)
    Q = begun.problem.basis
    assert Q.shape == (6, 4)
    np.testing.assert_allclose(Q.T @ Q, np.eye(4), atol=1e-12)
    H = problem(share=share, dependent=True).rows.X
    np.testing.assert_allclose(H @ Q @ Q.T, H, atol=1e-9)  # every row lies in it
    fitted = H @ begun.problem.coefficients(begun.theta)
    clean = np.abs(plain.rows.T + 40) > 10
    own = plain.rows.X @ LinearStart()(plain).theta
    assert np.abs(fitted - own)[clean].max() < 0.4


def test_independent_columns_are_left_as_they_are():
    whole = problem()
    begun = LinearStart()(whole)
    assert begun.problem is whole
    assert begun.problem.basis is None


def test_many_rows_start_on_a_sample():
    whole = problem(20_000, share=0.2)
    begun = LinearStart()(whole)
    assert begun.problem is whole
    assert len(begun.sample.rows) < 10_000
    np.testing.assert_allclose(begun.theta[:, 0], np.arange(1.0, 5), atol=0.2)
