"""Stahel-Donoho outlyingness: the half that lies furthest in holds no outliers."""

import numpy as np
import pytest

from kmpe.starts.outlyingness import _standardised, coordinates, outlyingness, spatial_median


def rows(n, d, m=3, seed=0):
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, m)))[0]
    return (rng.standard_normal((n, m)) * np.linspace(10, 5, m)) @ U.T + rng.standard_normal((n, d))


def spoilt(n, d, share, kind, seed=0):
    X, rng, k = rows(n, d, seed=seed), np.random.default_rng(seed + 1), int(share * n)
    if kind == "cluster":
        X[:k] = 30 * np.linalg.qr(rng.standard_normal((d, 1)))[0].T + rng.standard_normal((k, d))
    else:
        X[:k] = 200 * rng.standard_normal((k, d)) / np.sqrt(d)
    return X, np.arange(n) < k


@pytest.mark.parametrize("kind", ["cluster", "scattered"])
@pytest.mark.parametrize(("n", "d", "share"), [(400, 20, 0.4), (200, 50, 0.3), (60, 200, 0.2)])
def test_the_inner_half_holds_no_outliers(n, d, share, kind):
    lost = 0
    for seed in range(20):
        X, bad = spoilt(n, d, share, kind, seed)
        out = outlyingness(coordinates(X))
        lost += bad[np.argsort(out)[: n // 2]].any()
        np.testing.assert_array_equal(out, outlyingness(coordinates(X)))
    # Of 100 draws of a cluster of 40% there are 15 with some of it.
    assert lost <= (6 if kind == "cluster" and share == 0.4 else 0)


@pytest.mark.parametrize("shape", [(60, 5), (20, 100), (12, 9)])
def test_neither_the_axes_nor_the_order_of_the_rows_matter(shape):
    X, _ = spoilt(*shape, 0.2, "scattered")
    rng = np.random.default_rng(3)
    order, Q = rng.permutation(len(X)), np.linalg.qr(rng.normal(size=(shape[1], shape[1])))[0]
    out = outlyingness(coordinates(X))
    np.testing.assert_allclose(outlyingness(coordinates(X[order] @ Q)), out[order], rtol=1e-9)
    # Repeated rows span the same space.
    assert coordinates(np.repeat(X[:5], 9, axis=0)).shape[1] == min(4, shape[1])


@pytest.mark.parametrize("shape", [(100, 20), (20, 100)])
def test_coordinates_have_the_distances_of_the_rows(shape):
    X = rows(*shape)
    Z = coordinates(X)
    assert Z.shape[1] == min(shape[0] - 1, shape[1])
    distances = lambda X: np.linalg.norm(X[:, None] - X, axis=2)  # noqa: E731
    np.testing.assert_allclose(distances(Z), distances(X), atol=1e-9)


def test_no_direction_is_longer_than_zero_where_rows_are_equal():
    assert np.isfinite(outlyingness(np.zeros((10, 3)))).all()


def test_the_spatial_median_is_not_moved_by_a_third_of_outliers():
    X = np.random.default_rng(0).standard_normal((300, 4))
    X[:100] = 1e6
    assert np.linalg.norm(spatial_median(X)) < 3


def test_where_half_of_the_values_are_one_but_for_rounding_there_is_no_unit():
    rng = np.random.default_rng(0)
    P = np.append(np.full(60, 0.3), rng.normal(size=40))[None]
    assert not _standardised(P).any()
    assert not _standardised(P + 1e-17 * rng.integers(-9, 9, 100)).any()
    assert not _standardised((P * 3.7) / 3.7 + np.spacing(P)).any()
