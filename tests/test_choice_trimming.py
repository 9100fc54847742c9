"""The scale of a PCA's loss: first all rows that are no outliers, then a rule that settles."""

import numpy as np
import pytest

from kmpe.choice.trimming import PCAScale
from kmpe.losses import KMPE, Correntropy, Trimmed
from kmpe.problems.pca import Points, weighted_pca
from kmpe.problems.pca.subspace import distance
from kmpe.starts.pca import PCAStart


def points(n=300, d=12, share=0.2, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, 2)))[0]
    X = (rng.standard_normal((n, 2)) * [9, 5]) @ U.T + rng.standard_normal((n, d))
    X[: int(share * n)] = 30 + rng.standard_normal((int(share * n), d))
    return Points(X, np.ones(n))


def begun(data, robust=True):
    start = PCAStart(robust, n_components=2, share=0.8, most=5, n_wanted=2, seed=0)
    return start(weighted_pca(data, 2))


@pytest.mark.parametrize("loss", [None, Correntropy("silverman"), KMPE(4, "mad")], ids=str)
def test_outliers_have_no_weight_and_nearly_all_others_have(loss):
    data = points()
    chosen = PCAScale(loss, robust=True)(begun(data))
    assert not chosen.loss.has_rule
    w = chosen.loss.weight(chosen.problem.squared_residuals(chosen.theta))
    assert w[:60].max() < 1e-3 * w.max()
    assert np.mean(w[60:] > 1e-3 * w.max()) > 0.95


def test_a_number_stays_what_it_is():
    chosen = PCAScale(Correntropy(4.0), robust=True)(begun(points()))
    assert chosen.loss == Correntropy(4.0)


@pytest.mark.parametrize(
    "loss",
    [Trimmed("cutoff"), Correntropy("mad"), *(KMPE(p, "silverman") for p in (1, 4, 10))],
    ids=str,
)
def test_the_rule_repeats_itself_where_it_settled(loss):
    data = points()
    chosen = PCAScale(loss, robust=True)(begun(data))
    s = chosen.problem.squared_residuals(chosen.theta)
    again = loss.resolve(s, data.a, chosen.problem.dim)
    assert again.scale == pytest.approx(chosen.loss.scale, rel=0.02)


def test_many_rows_settle_on_a_sample_and_leave_a_sketch():
    data = points(20_000)
    start = begun(data)
    assert start.sample is not start.problem
    chosen = PCAScale(None, robust=True)(start)
    assert chosen.problem.sketch.shape == (12, 12)
    assert chosen.problem.points is data
    # The sketch is the scatter matrix of the clean rows, up to chance.
    clean = np.cov(data.X[4000:].T)
    np.testing.assert_allclose(chosen.problem.sketch, clean, atol=0.1 * clean.max())


def test_a_plain_start_keeps_the_rule_of_all_rows():
    data = points(share=0.0)
    start = begun(data, robust=False)
    chosen = PCAScale(Correntropy("silverman"), robust=False)(start)
    assert chosen.steps >= 1
    assert distance(start.theta, chosen.theta, data.spread) < 0.2


def test_many_rows_that_are_fitted_exactly_leave_no_sketch():
    data = Points(np.tile(np.arange(12.0), (4001, 1)), np.ones(4001))
    beginning = begun(data)
    assert beginning.sample is not beginning.problem
    chosen = PCAScale(KMPE(4, "mad"), robust=True)(beginning)
    assert chosen.problem.sketch is None
