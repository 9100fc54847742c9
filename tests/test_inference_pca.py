"""Outliers of a PCA: two distances, for training and new rows, and variances without them."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.decomposition import PCA

from kmpe import KMPE, RobustPCA, Squared

REFERENCE = Path(__file__).parent / "reference"


def table(name):
    return np.loadtxt(REFERENCE / f"{name}.csv", delimiter=",", skiprows=1)


def peer(name):
    """Return what rrcov's PcaHubert says: variances, and the rows that it calls outliers."""
    for line in (REFERENCE / "pcahubert.csv").read_text().splitlines():
        data, first, second, off, far = line.split(",")
        if data == name:
            return [float(first), float(second)], {int(i) for i in f"{off} {far}".split()}
    raise KeyError(name)


def marked(model):
    return set((np.flatnonzero(model.outliers_) + 1).tolist())


def rows(n, d, m, share=0.0, kind="in", seed=0):
    """Draw rows near a subspace; some far out inside it, off it, or both."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((d, m + 1)))[0]
    scales = np.linspace(10, 5, m)
    X = (rng.standard_normal((n, m)) * scales) @ axes[:, :m].T + rng.standard_normal((n, d))
    k = int(share * n)
    where = 80 * axes[:, 0] * (kind != "off") + 30 * axes[:, m] * (kind != "in")
    X[:k] = where + rng.standard_normal((k, d))
    return X, np.arange(n) < k


# -- tables that nobody made -------------------------------------------------------------------


@pytest.mark.parametrize("columns", [3, 4])
def test_the_14_outliers_of_hawkins_bradu_and_kass(columns):
    X = table("hbk")[:, :columns]
    model = RobustPCA(2).fit(X)
    assert set(range(1, 15)) <= marked(model)
    assert len(marked(model)) <= 16
    clean = PCA(2).fit(X[14:]).explained_variance_
    np.testing.assert_allclose(model.explained_variance_, clean, rtol=0.1)


@pytest.mark.parametrize("columns", [5, 6])
def test_the_4_outliers_of_wood(columns):
    found = marked(RobustPCA(2).fit(table("wood")[:, :columns]))
    assert {4, 6, 8, 19} <= found
    assert len(found) <= 6


@pytest.mark.parametrize("name", ["hbk", "wood", "milk", "pulpfiber", "pottery"])
def test_most_outliers_are_those_of_pcahubert(name):
    _, theirs = peer(name)
    ours = marked(RobustPCA(2).fit(table(name)))
    # It lets 97.5% pass, and so marks more.
    assert len(ours & theirs) >= 0.6 * len(theirs)


@pytest.mark.parametrize("name", ["fish", "hbk", "wood", "milk", "pulpfiber", "pottery"])
def test_one_answer_for_every_run_and_order_of_the_rows(name):
    X = table(name)
    first = RobustPCA(2).fit(X)
    rng = np.random.default_rng(0)
    for run in range(20):
        order = rng.permutation(len(X)) if run else np.arange(len(X))
        again = RobustPCA(2).fit(X[order])
        np.testing.assert_array_equal(again.outliers_, first.outliers_[order])
        np.testing.assert_allclose(again.components_, first.components_, atol=1e-6)


# -- rows that are known to be outliers --------------------------------------------------------


@pytest.mark.parametrize("kind", ["in", "off", "both"])
@pytest.mark.parametrize("share", [0.1, 0.2])
@pytest.mark.parametrize(("n", "d", "m"), [(100, 6, 2), (100, 40, 3), (1000, 40, 8)])
def test_outliers_are_told_apart_and_variances_are_those_of_the_others(n, d, m, share, kind):
    X, bad = rows(n, d, m, share, kind)
    model = RobustPCA(m).fit(X)
    assert model.outliers_[bad].all()
    names = {"in": "good leverage", "off": "orthogonal", "both": "bad leverage"}
    assert np.mean(model.outlier_kinds_[bad] == names[kind]) > 0.9
    clean = PCA(m).fit(X[~bad])
    ratio = model.explained_variance_ / clean.explained_variance_
    assert 0.8 < ratio.min() <= ratio.max() < 1.25
    assert model.noise_variance_ == pytest.approx(clean.noise_variance_, rel=0.1)
    np.testing.assert_allclose(model.mean_, clean.mean_, atol=1.5)


def test_rows_inside_the_subspace_do_not_hold_a_given_loss_either():
    X, bad = rows(300, 10, 2, 0.2, "in")
    model = RobustPCA(2, loss=KMPE(4, "silverman")).fit(X)
    clean = PCA(2).fit(X[~bad])
    assert model.outliers_[bad].all()
    np.testing.assert_allclose(model.explained_variance_, clean.explained_variance_, rtol=0.25)


@pytest.mark.parametrize(("n", "d", "m"), [(100, 3, 2), (100, 40, 3), (400, 10, 5)])
def test_few_gaussian_rows_are_called_outliers_old_or_new(n, d, m):
    shares = []
    for seed in range(10):
        X, _ = rows(2 * n, d, m, seed=seed)
        model = RobustPCA(m).fit(X[:n])
        old, new = model.distances(X[:n]), model.distances(X[n:])
        shares.append(
            [
                np.mean(values > limit)
                for fit in (old, new)
                for values, limit in zip(fit[:2], model.cutoffs_, strict=True)
            ]
        )
    assert np.max(np.mean(shares, axis=0)) < 0.025


# -- the same for every row --------------------------------------------------------------------


@pytest.mark.parametrize("loss", [None, Squared(), KMPE(10, "silverman")], ids=str)
@pytest.mark.parametrize("m", [1, 3, 0.9, None])
@pytest.mark.parametrize("shape", [(120, 8), (40, 60)])
def test_new_rows_are_measured_as_the_training_rows_are(shape, m, loss):
    X, _ = rows(*shape, 3, 0.1, "both")
    model = RobustPCA(m, loss=loss).fit(X + 100)
    again = model.distances(X + 100)
    np.testing.assert_allclose(again.orthogonal, model.orthogonal_distances_, atol=1e-5)
    np.testing.assert_allclose(again.score, model.score_distances_, rtol=1e-6)
    np.testing.assert_array_equal(again.outliers, model.outliers_)
    beyond = again.orthogonal > model.cutoffs_.orthogonal
    np.testing.assert_array_equal(model.outliers_, beyond | (again.score > model.cutoffs_.score))


def test_distances_are_those_of_components_and_variances():
    X, _ = rows(200, 10, 3, 0.1, "both")
    model = RobustPCA(3).fit(X)
    T = model.transform(X)
    gap = np.linalg.norm(X - model.inverse_transform(T), axis=1)
    np.testing.assert_allclose(model.orthogonal_distances_, gap, rtol=1e-6)
    score = np.sqrt(np.sum(T**2 / model.explained_variance_, axis=1))
    np.testing.assert_allclose(model.score_distances_, score, rtol=1e-6)


def test_rows_off_an_exact_fit_are_outliers():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 5)) + 3
    X[:10] += rng.standard_normal((10, 5))
    model = RobustPCA(2).fit(X)
    np.testing.assert_array_equal(model.outliers_[:10], True)
    assert model.outliers_[10:].mean() < 0.05
    assert not RobustPCA(1).fit(np.full((30, 3), 0.1)).outliers_.any()


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_units_and_place_do_not_matter(unit):
    X, _ = rows(150, 6, 2, 0.2, "both")
    one, other = RobustPCA(2).fit(X), RobustPCA(2).fit(unit * X + 1000 * unit)
    np.testing.assert_array_equal(one.outliers_, other.outliers_)
    np.testing.assert_allclose(one.score_distances_, other.score_distances_, rtol=1e-5)


def test_integer_weights_are_repeated_rows():
    X, _ = rows(80, 6, 2, 0.1, "both")
    counts = np.random.default_rng(1).integers(0, 4, size=80)
    weighted = RobustPCA(2).fit(X, sample_weight=counts)
    repeated = RobustPCA(2).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.cutoffs_, repeated.cutoffs_, rtol=1e-6)
    np.testing.assert_allclose(
        weighted.explained_variance_, repeated.explained_variance_, rtol=1e-6
    )
    np.testing.assert_array_equal(np.repeat(weighted.outliers_, counts), repeated.outliers_)
