"""The start of a PCA: the half of the rows that lies furthest in holds no outliers."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from kmpe.problems.pca import Points, Scatter, weighted_pca
from kmpe.starts.pca import PCAStart, enough_components, most_dimensions


def rows(n, d, m=3, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, m)))[0]
    return (rng.standard_normal((n, m)) * np.linspace(10, 5, m)) @ U.T + rng.standard_normal((n, d))


def spoilt(n, d, share, kind, m=3, seed=1):
    X, rng, k = rows(n, d, m), np.random.default_rng(seed), int(share * n)
    if kind == "cluster":
        X[:k] = 30 * np.linalg.qr(rng.standard_normal((d, 1)))[0].T + rng.standard_normal((k, d))
    else:
        X[:k] = 200 * rng.standard_normal((k, d)) / np.sqrt(d)
    return X, np.arange(n) < k


def start(robust=True, n_components=3, **options):
    defaults = {"share": 0.8, "most": 10, "n_wanted": 3, "seed": 0}
    return PCAStart(robust=robust, n_components=n_components, **{**defaults, **options})


@pytest.mark.parametrize("kind", ["cluster", "scattered"])
@pytest.mark.parametrize(("n", "d", "share"), [(400, 20, 0.4), (200, 50, 0.3), (60, 200, 0.2)])
def test_the_believed_rows_hold_no_outliers_and_nearly_all_others(n, d, share, kind):
    X, bad = spoilt(n, d, share, kind)
    believed = start()(weighted_pca(Points(X, np.ones(n)), 3)).details
    np.testing.assert_array_equal(np.sort(believed.index), np.arange(n))
    inside = believed.index[believed.inside]
    assert not bad[inside].any()
    assert len(inside) > 0.93 * np.count_nonzero(~bad)


@pytest.mark.parametrize("share", [0.5, 0.8, 0.95])
def test_enough_components_hold_the_share_and_one_less_does_not(share):
    X = rows(200, 12)
    variances = PCA().fit(X).explained_variance_ratio_
    m = enough_components(X, share, 12)
    assert variances[:m].sum() >= share > variances[: m - 1].sum()
    assert enough_components(X, share, 1) == 1
    assert enough_components(np.zeros((5, 3)), share, 2) == 1


def test_a_plain_start_is_plain_pca():
    X = rows(100, 12)
    begun = start(robust=False)(weighted_pca(Points(X, np.ones(100)), 3))
    theirs = PCA(3, svd_solver="full").fit(X)
    np.testing.assert_allclose(
        begun.theta.W @ begun.theta.W.T, theirs.components_.T @ theirs.components_, atol=1e-9
    )


def test_a_robust_start_is_near_the_clean_pca():
    X, bad = spoilt(400, 20, 0.3, "cluster")
    begun = start()(weighted_pca(Points(X, np.ones(400)), 3))
    clean = PCA(3, svd_solver="full").fit(X[~bad])
    cosines = np.linalg.svd(clean.components_ @ begun.theta.W, compute_uv=False)
    assert cosines.min() > 0.98


def test_many_rows_settle_on_a_sample():
    X = rows(6000, 10)
    begun = start()(Scatter(Points(X, np.ones(6000)), 3))
    assert begun.sample is not begun.problem
    assert len(begun.sample.points) < 1500
    assert begun.sample.m == begun.problem.m == 3


def test_the_order_of_the_rows_does_not_matter():
    X, _ = spoilt(1000, 10, 0.2, "scattered")
    order = np.random.default_rng(0).permutation(1000)
    one, other = (start()(weighted_pca(Points(x, np.ones(1000)), 3)).theta for x in (X, X[order]))
    np.testing.assert_allclose(one.W @ one.W.T, other.W @ other.W.T, atol=1e-8)


def test_weights_are_learnt_in_at_most_a_tenth_of_the_rows_and_less_than_all_columns():
    assert most_dimensions(Points(rows(100, 50), np.ones(100))) == 10
    assert most_dimensions(Points(rows(100, 5), np.ones(100))) == 4
    assert most_dimensions(Points(rows(5, 50), np.ones(5))) == 1
    assert most_dimensions(Points(rows(100, 50), np.full(100, 3.0))) == 30
