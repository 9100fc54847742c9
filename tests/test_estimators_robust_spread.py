"""A local spread tells rows that are hard to predict from spoilt ones, where there is one."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor

from kmpe import Tukey
from kmpe.choice.spoilt import judged
from kmpe.estimators.robust.learner import Learner
from kmpe.estimators.robust.rounds import Round, accepted, beats
from kmpe.estimators.robust.spread import likelier, unsettled, weighed
from kmpe.losses.scale import centred_scale


def test_spoilt_rows_that_support_each_other_are_not_hard_to_predict():
    """A forest predicted a large spread next to them, and had five times the error."""
    rng = np.random.default_rng(0)
    e, spread = rng.normal(size=400), np.ones(400)
    e[:120] += 30
    spread[:12] = 10.0
    w = likelier(e, [spread], np.ones(400), 0.0).good
    assert w[:120].max() < 0.01
    assert w[120:].min() > 0.9


def test_rows_that_are_hard_to_predict_are_kept():
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(400) < 60, 20.0, 1.0)
    e = spread * rng.normal(size=400)
    e[380:] += 30
    w = likelier(e, [spread], np.ones(400), 0.0).good
    assert w[:60].mean() > 0.9
    assert w[380:].max() < 0.1


def test_a_further_spread_has_to_be_significantly_likelier():
    rng = np.random.default_rng(0)
    e, ones = rng.normal(size=400), np.ones(400)
    e[:40] += 30 * rng.normal(size=40)
    alone, by_chance = likelier(e, [ones], ones, 0.0), np.exp(0.1 * rng.normal(size=(20, 400)))
    assert max(judged(e, ones, h).evidence for h in by_chance) > alone.evidence
    for h in by_chance:
        np.testing.assert_array_equal(likelier(e, [ones, h], ones, 0.0).good, alone.good)
    hard = np.where(np.arange(400) >= 300, 8.0, 1.0)
    both = likelier(hard * e, [ones, hard], ones, 0.0)
    np.testing.assert_array_equal(both.good, likelier(hard * e, [hard], ones, 0.0).good)


def drifting(n, learner, up=0.0):
    """Return a learner of rows 0 to 1 and of one that lies apart, their targets and errors."""
    X = np.append(np.linspace(0, 1, n - 1), 9.0)[:, None]
    y = np.sin(20 * X[:, 0]) + up
    w = np.where(np.arange(n) < n - 1, 1.0, 0.0)
    e = 0.1 * np.random.default_rng(0).normal(size=(n, 1))
    folds = np.random.default_rng(1).permutation(n) % 10
    return Learner(learner, X, y, None, folds, None), y[:, None], e, w


def test_the_spread_is_wide_where_half_samples_disagree_but_no_wider_than_the_targets():
    learner, T, e, w = drifting(200, LinearRegression())
    ones = np.ones(200)
    h = unsettled(ones, e, w, ones, learner, T, 0)
    assert h[-1] > 3 * h[:-1].max()
    most = T[:-1].std() / centred_scale(e[:, 0], ones)[1]
    assert 0.5 * most < h[-1] < most
    # Its own target is not asked.
    T[-1], learner.y[-1] = 1e6, 1e6
    np.testing.assert_array_equal(unsettled(ones, e, w, ones, learner, T, 0), h)


def test_a_learner_that_needs_more_than_half_of_the_rows_has_the_local_spread():
    learner, T, e, w = drifting(60, KNeighborsRegressor(40))
    spread = np.linspace(1, 2, 60)
    np.testing.assert_array_equal(unsettled(spread, e, w, np.ones(60), learner, T, 0), spread)


def test_half_samples_predict_rows_that_they_leave_out():
    X = np.arange(60.0)[:, None]
    learner = Learner(KNeighborsRegressor(1), X, X[:, 0], None, np.arange(60) // 6, None)
    P = learner.half_samples(np.ones(60), (60, 1), 0)
    distance = np.abs(P[:, :, 0] - X[:, 0])
    assert P.shape == (10, 60, 1)
    assert distance.min() >= 1
    assert distance.std(axis=0).min() > 0


def made(e, weights=None, surprise=None):
    """Return a round of given errors."""
    ones = np.ones(len(e))
    surprise = ones if surprise is None else surprise
    return Round(Tukey(1.0), ones if weights is None else weights, e[:, None], surprise)


def learnt(n):
    X = np.linspace(0, 1, n)[:, None]
    return Learner(LinearRegression(), X, X[:, 0], None, np.arange(n) % 5, None), X


def test_weights_are_means_over_rounds_that_are_equally_likely():
    rng = np.random.default_rng(0)
    e = rng.normal(size=400)
    e[:80] += 50
    other = e.copy()
    other[0] = 0.3  # this one predicts a spoilt row by chance
    learner, T = learnt(400)
    w = weighed([made(e), made(other)], np.ones(400), learner, T)
    assert w[0] == pytest.approx(0.5, abs=0.02)
    assert w[1:80].max() == 0
    assert w[80:].min() > 0.9


def test_rounds_with_less_likely_errors_have_no_say():
    """They follow some of the spoilt rows, and so predict good ones worse."""
    rng = np.random.default_rng(0)
    e = rng.normal(size=400)
    e[:80] += 50
    other = 3 * e
    other[:20] = rng.normal(size=20)
    learner, T = learnt(400)
    w = weighed([made(e), made(other)], np.ones(400), learner, T)
    assert w[:80].max() == 0


def test_the_best_round_and_its_equals_are_accepted_or_the_plain_one_alone():
    rng = np.random.default_rng(0)
    a, surprises = np.ones(400), rng.normal(size=400)
    e = rng.normal(size=400)
    plain, worse, equal, best = (
        made(e, surprise=surprises + shift + 0.1 * rng.normal(size=400))
        for shift in (0.5, 0.3, 0.005, 0.0)
    )
    found = accepted([plain, worse, equal, best], a)
    assert set(map(id, found)) == {id(equal), id(best)}
    assert found[0].surprise.mean() <= found[1].surprise.mean()
    assert accepted([best, worse, equal], a) == [best]


def test_a_gain_counts_from_some_standard_errors_on():
    gains = np.tile([1.0, -1.0], 200)  # standard error 0.05
    a = np.ones(400)
    assert beats(gains + 0.06, a)
    assert not beats(gains + 0.04, a)
    assert beats(gains + 0.16, a, 3.0)
    assert not beats(gains + 0.14, a, 3.0)
    assert not beats(-gains - 1, a)
