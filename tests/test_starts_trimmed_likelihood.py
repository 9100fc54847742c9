"""Trimmed likelihood: steps that never lower it, and rows that are no outliers to their own fit."""

from itertools import combinations

import numpy as np
import pytest

from kmpe.starts.trimmed_likelihood import (
    believable_rows,
    concentrate,
    n_trimmed,
    nearest,
    until_it_stands,
)


def minus_log_likelihood(K, m):
    """Return minus twice the log likelihood of probabilistic PCA per row, up to a constant."""
    variances = np.linalg.eigvalsh(np.cov(K.T, ddof=0))[::-1]
    noise = variances[m:].mean() if m < len(variances) else 1.0
    return np.log(variances[:m]).sum() + (len(variances) - m) * np.log(noise)


@pytest.mark.parametrize("m", [1, 3, 5])
@pytest.mark.parametrize("seed", range(5))
def test_concentration_never_lowers_the_likelihood(m, seed):
    rng = np.random.default_rng(seed)
    Z = rng.standard_t(2, size=(60, 5)) * [5, 3, 2, 1, 1]
    start = np.isin(np.arange(60), rng.choice(60, 35, replace=False))
    end = concentrate(Z, start, m, 35)
    assert minus_log_likelihood(Z[end], m) <= minus_log_likelihood(Z[start], m)
    np.testing.assert_array_equal(end, concentrate(Z, end, m, 35))


def test_with_all_dimensions_it_is_the_mcd():
    Z = np.random.default_rng(0).standard_normal((9, 2)) * [3, 1]
    Z[:2] += 30
    subsets = [np.isin(np.arange(9), rows) for rows in combinations(range(9), 6)]
    best = min(subsets, key=lambda rows: np.linalg.det(np.cov(Z[rows].T)))
    np.testing.assert_array_equal(concentrate(Z, best, 2, 6), best)


def test_a_plane_through_far_outliers_is_not_cheap():
    # Residuals alone prefer it: the outliers have none, and all variances of the others are 1.
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((80, 3))
    Z[:15] += [20, 20, 20]
    inside = believable_rows(Z, np.linalg.norm(Z, axis=1), 2)
    assert not inside[:15].any()
    assert inside[15:].mean() > 0.9


def test_half_of_the_rows_but_five_for_each_dimension():
    assert n_trimmed(1000, 2) == 502
    assert n_trimmed(20, 2) == 15
    assert n_trimmed(16, 4) == 12
    assert n_trimmed(3, 1) == 3


def test_rows_that_go_in_circles_come_to_an_end():
    a, b = np.array([True, True, False]), np.array([False, True, True])
    end = until_it_stands(lambda inside, _: b if np.array_equal(inside, a) else a, a)
    assert end.sum() == 2


def test_a_fit_that_most_rows_do_not_pass_is_none():
    start = np.array([True, True, False, False])
    np.testing.assert_array_equal(until_it_stands(lambda *_: np.zeros(4, bool), start), start)


def test_rows_that_tie_with_the_last_are_all_among_the_nearest():
    distance = np.array([3.0, 1.0, 3.0 + 1e-15, 9.0, 3.0 - 1e-15])
    np.testing.assert_array_equal(nearest(distance, 2), [True, True, True, False, True])
    assert nearest(distance, 1).sum() == 1
    assert nearest(np.zeros(4), 2).all()
