"""Samples stand for all rows: whatever their order, their repeats and the unit of their weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kmpe.rows.sample import Samples, draw, draw_rows, strata
from kmpe.rows.source import Rows
from kmpe.rows.standardised import Standardised


def rows(n=400, d=3, q=1, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    X, T = rng.normal(size=(n, d)), rng.normal(size=(n, q))
    return Rows.of(X, np.round(T) if ties else T, rng.integers(1, 4, n).astype(float))


def permuted(whole, order):
    return Rows.of(whole.X[order], whole.T[order], whole.a[order])


def as_table(sample):
    """Return the rows of a sample in an order that does not depend on how they were stored."""
    table = np.column_stack([sample.whole(), sample.T, sample.a])
    return table[np.lexsort(table.T)]


# -- invariance ------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("q", [0, 1, 2])
@settings(max_examples=10)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_the_rows_changes_nothing(q, ties, seed):
    whole = rows(q=q, ties=ties, seed=seed % 7)
    order = np.random.default_rng(seed).permutation(len(whole))
    one, other = draw(whole, 50), draw(permuted(whole, order), 50)
    np.testing.assert_array_equal(as_table(one), as_table(other))


@pytest.mark.parametrize("ties", [False, True])
def test_the_order_of_the_rows_changes_nothing_in_a_sparse_matrix(ties):
    whole = rows(ties=ties)
    whole = Rows.of(sparse.csr_array(whole.X * (whole.X > 0)), whole.T, whole.a)
    order = np.random.default_rng(0).permutation(len(whole))
    np.testing.assert_array_equal(
        as_table(draw(whole, 50)), as_table(draw(permuted(whole, order), 50))
    )


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_a_row_of_weight_k_is_k_equal_rows(ties, seed):
    whole = rows(ties=ties)
    k = whole.a.astype(int)
    repeated = Rows.of(np.repeat(whole.X, k, axis=0), np.repeat(whole.T, k, axis=0))

    def counted(sample):
        values, which = np.unique(
            np.column_stack([sample.whole(), sample.T]), axis=0, return_inverse=True
        )
        return values, np.bincount(which.ravel(), weights=sample.a)

    one, other = counted(draw(whole, 60, seed)), counted(draw(repeated, 60, seed))
    np.testing.assert_array_equal(one[0], other[0])
    np.testing.assert_allclose(one[1], other[1])


@given(unit=st.floats(-8, 8).map(lambda e: 10.0**e))
def test_the_unit_of_the_weights_changes_nothing(unit):
    whole = rows()
    chosen, repeats = draw_rows(whole, 50)
    scaled = Rows.of(whole.X, whole.T, unit * whole.a)
    np.testing.assert_array_equal(draw_rows(scaled, 50)[0], chosen)
    np.testing.assert_array_equal(draw_rows(scaled, 50)[1], repeats)
    assert draw(scaled, 50).n == pytest.approx(scaled.n)


def test_rows_of_weight_zero_are_never_drawn():
    whole = rows()
    a = np.where(np.arange(400) < 300, 0.0, whole.a)
    chosen, _ = draw_rows(Rows.of(whole.X, whole.T, a), 80)
    assert chosen.min() >= 300
    alone = Rows.of(whole.X[300:], whole.T[300:], whole.a[300:])
    np.testing.assert_array_equal(draw_rows(alone, 80)[0], chosen - 300)


# -- what a sample is ------------------------------------------------------------------------


@given(size=st.integers(1, 500), seed=st.integers(0, 99))
def test_strata_have_one_number_each(size, seed):
    np.testing.assert_array_equal(np.floor(size * strata(size, seed)), np.arange(size))


def test_seeds_draw_different_rows():
    assert not np.array_equal(draw_rows(rows(), 50, 0)[0], draw_rows(rows(), 50, 1)[0])


def test_a_sample_counts_as_much_as_all_rows():
    whole = rows()
    sample = draw(whole, 50)
    assert sample.n == pytest.approx(whole.n)
    assert len(sample) <= 50
    assert np.all(sample.a > 0)


def test_few_rows_are_all_drawn():
    whole = rows()
    assert draw(whole, 400) is whole
    assert draw(whole, 1000) is whole


def test_a_sample_has_the_distribution_of_the_targets():
    """Stratified: each empirical quantile is off by at most one stratum."""
    whole = rows(5000)
    sample = draw(whole, 100)
    order = np.argsort(sample.T[:, 0])
    reached = np.cumsum(sample.a[order]) / sample.n
    for value, share in zip(sample.T[order, 0], reached, strict=True):
        true = whole.a[whole.T[:, 0] <= value].sum() / whole.n
        assert abs(share - true) <= 1.01 / 100


def test_weighted_sums_over_samples_are_right_on_average():
    whole = rows(2000, seed=3)
    expected = whole.a @ whole.X
    means = [draw(whole, 100, seed).total(lambda b: (b.a @ b.H,))[0] for seed in range(200)]
    error = np.std(means, axis=0) / np.sqrt(200)
    assert np.all(np.abs(np.mean(means, axis=0) - expected) < 4 * error)


@pytest.mark.parametrize("q", [0, 1, 2])
def test_the_canonical_order_is_that_of_the_values(q):
    whole = rows(q=q, ties=True)
    order = np.random.default_rng(1).permutation(400)
    one, other = whole.order, permuted(whole, order).order
    np.testing.assert_array_equal(whole.X[one], whole.X[order][other])


# -- rare features ---------------------------------------------------------------------------


def with_dummy(share, n=20_000, *, kind="dense", seed=0):
    """Return rows whose last column is 1 on a share of them, and 0 or nearly constant elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = 0
    X[rng.permutation(n)[: max(1, int(share * n))], 3] = 1
    return Rows.of(sparse.csr_array(X) if kind == "sparse" else X, rng.normal(size=(n, 1)))


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("share", [0.00005, 0.0005, 0.002, 0.01, 0.05, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_rare_dummy_is_never_missed(share, kind, seed):
    """The sample has at least 30% of the dummy's share of ones, or is all the rows."""
    whole = with_dummy(share, kind=kind, seed=seed)
    sample = Samples(whole).draw(500)
    ones = lambda part: part.a @ part.whole()[:, 3]  # noqa: E731
    assert ones(sample) >= 0.3 * ones(whole)


def test_a_common_sample_is_no_larger_than_asked_for():
    assert len(Samples(rows(5000)).draw(500)) <= 500


def test_a_column_that_is_rare_around_a_constant_is_seen_as_well():
    """The value that nearly all rows have need not be 0: an intercept is no rare feature."""
    whole = with_dummy(0.3)
    X = np.column_stack([whole.X, np.ones(len(whole))])
    assert len(Samples(Rows.of(X, whole.T)).draw(500)) <= 500


def test_no_pass_is_needed_for_the_constant_of_a_regression():
    whole = rows(n=4000)
    standard = Standardised.of(whole, intercept=True)

    class Counted(Rows):
        def total(self, term):
            raise AssertionError(f"a pass over all rows for {term}")

    sample = Samples(Counted(whole.X, whole.T, whole.a, standard)).draw(500)
    np.testing.assert_array_equal(standard.constant, [3])
    assert len(sample) <= 500
