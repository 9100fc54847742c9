"""Standardised inputs: scikit-learn's, and a way back to the user's coefficients."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from kmpe.rows.source import Rows
from kmpe.rows.standardised import Standardised

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)) * [1, 10, 1e-3, 1e4] + [0, 50, 1, -1e5]
A = RNG.integers(0, 4, 300).astype(float)
ROWS = Rows(X, np.zeros((300, 1)), A)


def test_mean_and_size_are_those_of_scikit_learn():
    ours, theirs = Standardised.of(ROWS, intercept=True), StandardScaler().fit(X, sample_weight=A)
    np.testing.assert_allclose(ours.mean, theirs.mean_, rtol=1e-12)
    np.testing.assert_allclose(ours.size, theirs.scale_, rtol=1e-9)
    H = ours(X)
    np.testing.assert_allclose(H[:, :4], theirs.transform(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(H[:, 4], 1)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@given(seed=st.integers(0, 10**6))
def test_back_leads_to_the_same_predictions(kind, intercept, seed):
    inputs = sparse.csr_array(X) if kind == "sparse" else X
    standard = Standardised.of(Rows(inputs, ROWS.T, A), intercept=intercept)
    gamma = np.random.default_rng(seed).normal(size=standard.n_features)
    beta = standard.back @ gamma
    expected = X @ beta[:4] + (beta[4] if intercept else 0.0)
    found = standard(inputs) @ gamma
    size = np.abs(X) @ np.abs(beta[:4])
    assert np.all(np.abs(found - expected) <= 1e-10 * (size + np.abs(expected)))


@pytest.mark.parametrize("intercept", [True, False])
def test_penalties_are_those_of_the_users_slopes(intercept):
    standard = Standardised.of(ROWS, intercept=intercept)
    gamma = np.arange(1.0, standard.n_features + 1)
    slopes = (standard.back @ gamma)[:4]
    assert standard.penalties(0.7) @ gamma**2 == pytest.approx(0.7 * slopes @ slopes)


def test_sparse_inputs_keep_their_zeros():
    S = sparse.random_array((200, 5), density=0.1, rng=np.random.default_rng(0), format="csr")
    standard = Standardised.of(Rows(S, np.zeros((200, 1)), np.ones(200)), intercept=True)
    H = standard(S)
    assert H.nnz == S.nnz + 200
    np.testing.assert_allclose((H[:, :5].toarray() ** 2).mean(axis=0), 1)


def test_constant_columns_are_zero_in_a_unit_of_their_own():
    constant = np.full((50, 4), [0.0, 3.0, 1e8, -1.9e118])
    standard = Standardised.of(Rows.inputs(constant), intercept=True)
    assert not standard.varies.any()
    np.testing.assert_allclose(standard.size, [1.0, 3.0, 1e8, 1.9e118])
    np.testing.assert_allclose(standard(constant)[:, :4], 0, atol=1e-12)


def test_a_far_mean_costs_no_digits():
    far = Standardised.of(Rows.inputs(X[:, :1] + 1e9), intercept=True)
    assert far.size[0] == pytest.approx(X[:, 0].std(), rel=1e-5)


def test_the_first_rows_are_not_all_rows():
    """The glance at the first rows may be off: the mean is that of all of them."""
    x = np.r_[np.zeros(1000), np.full(3000, 8.0)][:, None]
    standard = Standardised.of(Rows.inputs(x), intercept=True)
    assert standard.mean[0] == pytest.approx(6)
    assert standard.size[0] == pytest.approx(x.std())


def test_one_row_that_counts_far_from_the_others_does_not_vary():
    a = np.zeros(50)
    a[7] = 1.0
    x = np.random.default_rng(0).normal(size=(50, 3)) + 5
    standard = Standardised.of(Rows(x, np.zeros((50, 0)), a), intercept=True)
    assert not standard.varies.any()
    np.testing.assert_allclose(standard.mean, x[7])


def test_values_too_large_to_square_are_refused():
    with pytest.raises(ValueError, match="X has values too large to square: rescale X"):
        Standardised.of(Rows.inputs(np.array([[1e200], [-1e200]])), intercept=True)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("is_sparse", [True, False])
def test_values_too_small_to_square_are_refused(is_sparse, intercept):
    """Their column would look constant, and have the slope 0."""
    tiny = np.column_stack([X[:, 0], 1e-160 * X[:, 1]])
    rows = Rows.inputs(sparse.csr_array(tiny) if is_sparse else tiny)
    with pytest.raises(ValueError, match="column 1 of X has values too small to square"):
        Standardised.of(rows, intercept=intercept)
    zeros = Rows.inputs(np.column_stack([X[:, 0], np.zeros(len(X))]))
    assert not Standardised.of(zeros, intercept=intercept).varies[1]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n", [300, 5000])
@pytest.mark.parametrize("intercept", [True, False])
def test_many_rows_at_once_have_the_digits_of_single_rows(n, intercept, dtype):
    inputs = np.resize(X, (n, 4)).astype(dtype)
    map_ = Standardised.of(ROWS, intercept=intercept)
    expected = np.concatenate([map_(row[None]) for row in inputs])
    np.testing.assert_array_equal(map_(inputs), expected)
    room = np.empty((2 * n, map_.n_features))
    np.testing.assert_array_equal(map_(inputs, room[:n]), expected)
    np.testing.assert_array_equal(map_(inputs[::2], room[::4]), expected[::2])
