"""A local spread tells rows that are hard to predict from spoilt ones, where there is one."""

import numpy as np

from kmpe.estimators.robust.spread import likelier


def test_spoilt_rows_that_support_each_other_are_not_hard_to_predict():
    """A forest predicted a large spread next to them, and had five times the error."""
    rng = np.random.default_rng(0)
    e, spread = rng.normal(size=400), np.ones(400)
    e[:120] += 30
    spread[:12] = 10.0
    w = likelier(e, spread, np.ones(400)).good
    assert w[:120].max() < 0.01
    assert w[120:].min() > 0.9


def test_rows_that_are_hard_to_predict_are_kept():
    rng = np.random.default_rng(0)
    spread = np.where(np.arange(400) < 60, 20.0, 1.0)
    e = spread * rng.normal(size=400)
    e[380:] += 30
    w = likelier(e, spread, np.ones(400)).good
    assert w[:60].mean() > 0.9
    assert w[380:].max() < 0.1
