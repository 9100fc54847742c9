"""Rows far from a boosted fit, judged by the rows of their leaf."""

import numpy as np
import pytest

from kmpe.choice.leaves import LeafJudge, agreeing, leaves_of

N = 400


def tree(X, slope, curvature, n_leaves=8):
    """Return a piecewise constant fit in one input: equal shares, leaves are weighted means."""
    leaf = np.minimum((X * n_leaves).astype(int), n_leaves - 1)
    sums = np.bincount(leaf, -slope, n_leaves), np.bincount(leaf, curvature, n_leaves)
    return (sums[0] / np.maximum(sums[1], 1e-12))[leaf]


def boosted(X, y, rounds=22, rate=0.1):
    """Return predictions and the judge after some rounds from the median."""
    F, a = np.full(len(y), np.median(y)), np.ones(len(y))
    judge = LeafJudge((y - F) ** 2)
    for _ in range(rounds):
        judge.judge(y - F, F, a)
        F = F + rate * tree(X, *judge.derivatives(y - F, trial=True))
    return F, judge


def targets(seed):
    """Return inputs, and targets that are 50 lower in an eighth of the rows."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=N)
    return X, rng.normal(size=N) - 50.0 * (X < 1 / 8), rng


@pytest.mark.parametrize("seed", range(5))
def test_a_group_far_from_the_rest_is_learnt(seed):
    X, y, _ = targets(seed)
    F, judge = boosted(X, y)
    assert not judge.out.any()
    assert np.abs(y - F)[X < 1 / 8].max() < 12  # 50 · 0.9^22 is 5


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("kind", ["wide", "up"])
def test_spoilt_rows_are_left_out_and_the_group_is_learnt(seed, kind):
    X, y, rng = targets(seed)
    bad = rng.uniform(size=N) < 0.2
    y = y + np.where(bad, 100.0 * rng.normal(size=N) if kind == "wide" else 150.0, 0.0)
    F, judge = boosted(X, y)
    gross = bad & (np.abs(y - F) > 20)
    assert judge.out[gross].mean() > 0.95
    assert judge.out[~bad].mean() < 0.02
    truth = np.where(X < 1 / 8, -50.0, 0.0)
    assert np.abs(F - truth).mean() < 2


def test_without_gross_errors_it_is_least_squares():
    r = np.random.default_rng(0).standard_t(3, size=N)
    judge = LeafJudge(r**2)
    judge.judge(r, np.zeros(N), np.ones(N))
    slope, curvature = judge.derivatives(r, trial=True)
    np.testing.assert_array_equal(slope, -r)
    np.testing.assert_array_equal(curvature, np.ones(N))


def test_what_a_tree_has_seen_does_not_clear_a_row():
    """Leaves of a tree that isolates the rows it was shown, all moved up by the same amount."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=N) + 100.0 * (np.arange(N) < 100)
    F, a = np.zeros(N), np.ones(N)
    judge = LeafJudge(y**2)
    judge.judge(y, F, a)
    _, curvature = judge.derivatives(y, trial=True)
    assert judge.out[:100].all()
    shown = judge.out & (curvature > 0)
    assert 20 < shown.sum() < 80
    judge.judge(y - 0.1 * shown, F + 0.1 * shown, a)
    assert judge.out[:100].all()


def test_leaves_are_found_in_single_precision():
    rng = np.random.default_rng(0)
    leaf = rng.integers(0, 20, N)
    before = (1e3 * rng.normal(size=N)).astype(np.float32)
    after = before + rng.normal(size=20).astype(np.float32)[leaf]
    found = leaves_of(after.astype(float), before.astype(float))
    assert len(np.unique(found)) == len(set(zip(found, leaf, strict=True))) == 20


def test_agreeing_counts_the_other_rows_of_the_leaf():
    rng = np.random.default_rng(0)
    leaf, r, c = rng.integers(0, 5, 60), rng.normal(size=60), rng.integers(0, 3, 60).astype(float)
    some = rng.uniform(size=60) < 0.5
    for i, alike, others in zip(
        np.flatnonzero(some), *agreeing(leaf, r, c, 0.5, some), strict=True
    ):
        mates = (leaf == leaf[i]) & (np.arange(60) != i)
        assert alike == pytest.approx(c[mates & (np.abs(r - r[i]) <= 0.5)].sum())
        assert others == pytest.approx(c[mates].sum())
