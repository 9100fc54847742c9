"""A local spread tells rows that are hard to predict from spoilt ones, where there is one."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from kmpe import Tukey
from kmpe.estimators.robust.learner import Learner
from kmpe.estimators.robust.rounds import Round, accepted, beats
from kmpe.estimators.robust.spread import likelier, weighed


def test_spoilt_rows_that_support_each_other_are_not_hard_to_predict():
    """A forest predicted a large spread next to them, and had five times the error."""
    rng = np.random.default_rng(0)
    e, spread = rng.normal(size=400), np.ones(400)
    e[:120] += 30
    spread[:12] = 10.0
    w = likelier(e, spread, np.ones(400), 0.0).good
    assert w[:120].max() < 0.01
    assert w[120:].min() > 0.9


def test_rows_that_are_hard_to_predict_are_kept():
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(400) < 60, 20.0, 1.0)
    e = spread * rng.normal(size=400)
    e[380:] += 30
    w = likelier(e, spread, np.ones(400), 0.0).good
    assert w[:60].mean() > 0.9
    assert w[380:].max() < 0.1


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
