"""Robust PCA: scikit-learn's contract, plain PCA as a special case, outliers, bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csc_array, csr_matrix
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import estimator_checks_generator

from kmpe import (
    KMPE,
    MPE,
    PCAL1,
    Cauchy,
    Correntropy,
    Huber,
    RobustPCA,
    Squared,
    Trimmed,
    Tukey,
)
from kmpe.datasets import contaminate_images
from kmpe.estimators.inputs import RobustnessWarning
from kmpe.metrics import reconstruction_error
from kmpe.problems.pca import Scatter, WeightedPCA

LOSSES = [
    Squared(),
    MPE(p=0.6),
    MPE(p=3),
    *(loss(sigma="mad") for loss in (Huber, Cauchy, Tukey, Correntropy)),
    *(KMPE(p=p, sigma="silverman") for p in (1, 2, 4, 10)),
    Trimmed(),
    Cauchy(sigma="median"),
]
every_loss = pytest.mark.parametrize("loss", LOSSES, ids=repr)


def checks():
    for model in (RobustPCA(), PCAL1()):
        for estimator, check in estimator_checks_generator(model):
            name = getattr(check, "func", check).__name__
            # A switch must be set before scipy is imported: tests/integrations/test_devices.py
            if not name.startswith("check_array_api"):
                yield pytest.param(estimator, check, id=f"{type(model).__name__}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter=2 is part of some checks
        check(estimator)


def rows(n, d, m, *, seed=0, noise=1.0):
    """Draw rows near an m-dimensional subspace, and return it too."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((d, m)))[0]
    X = (rng.standard_normal((n, m)) * np.linspace(10, 5, m)) @ U.T
    return X + noise * rng.standard_normal((n, d)) + rng.standard_normal(d), U


def spoil(X, U, share, kind, *, seed=1):
    """Replace some rows: by a cluster, a few directions, or one direction each."""
    rng = np.random.default_rng(seed)
    X, (n, d) = X.copy(), X.shape
    k = int(share * n)
    V = np.linalg.qr(np.hstack([U, rng.standard_normal((d, 5))]))[0][:, U.shape[1] :]
    if kind == "cluster":
        X[:k] = 30 * V[:, 0] + 0.3 * rng.standard_normal((k, d))
    elif kind == "directions":
        X[:k] = 30 * rng.standard_normal((k, 5)) @ V.T + rng.standard_normal((k, d))
    else:
        X[:k] = 200 * rng.standard_normal((k, d)) / np.sqrt(d)
    return X, np.arange(n) < k


def angle(model, U):
    """Return the largest principal angle in degrees."""
    cosines = np.linalg.svd(model.components_ @ U, compute_uv=False)
    return np.degrees(np.arccos(min(1.0, cosines[-1])))


# -- plain PCA is a special case -------------------------------------------------------------


@pytest.mark.parametrize("shape", [(100, 20), (20, 100), (40, 40), (300, 3)])
@pytest.mark.parametrize("m", [1, 3, 0.7, None])
def test_squared_is_scikit_learns_pca(shape, m):
    X = rows(*shape, 2)[0]
    ours, theirs = RobustPCA(m, loss=Squared()).fit(X), PCA(m, svd_solver="full").fit(X)
    k = min(ours.n_components_, shape[0] - 1)  # past the rank directions are arbitrary
    assert ours.n_components_ == theirs.n_components_
    for name in ("mean_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours.components_[:k], theirs.components_[:k], atol=1e-8)
    np.testing.assert_allclose(ours.transform(X)[:, :k], theirs.transform(X)[:, :k], atol=1e-8)
    rebuilt = theirs.inverse_transform(theirs.transform(X))
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), rebuilt, atol=1e-8)
    np.testing.assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-7)


def test_whitening_is_scikit_learns():
    X = rows(80, 10, 3)[0]
    ours, theirs = (
        model.fit(X) for model in (RobustPCA(3, loss=Squared(), whiten=True), PCA(3, whiten=True))
    )
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X), atol=1e-8)
    T = ours.transform(X)
    np.testing.assert_allclose(ours.inverse_transform(T), theirs.inverse_transform(T), atol=1e-8)


def test_single_precision_stays_single():
    X = rows(80, 10, 3)[0].astype(np.float32)
    model = RobustPCA(3, random_state=0).fit(X)
    assert model.components_.dtype == model.transform(X).dtype == np.float32


@pytest.mark.parametrize("unit", [1e28, 1e-28])
def test_variances_that_single_precision_does_not_hold_are_kept_in_double(unit):
    X = rows(80, 10, 3)[0]
    model = RobustPCA(3).fit((unit * X).astype(np.float32))
    expected = RobustPCA(3).fit(X).explained_variance_
    np.testing.assert_allclose(model.explained_variance_ / unit**2, expected, rtol=1e-4)


# -- outliers --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["cluster", "directions", "scattered"])
@pytest.mark.parametrize(
    ("n", "d", "m", "share"), [(500, 50, 3, 0.3), (300, 100, 10, 0.1), (60, 200, 5, 0.2)]
)
def test_the_default_fit_is_that_of_the_clean_rows(n, d, m, share, kind):
    X, U = rows(n, d, m)
    X, spoilt = spoil(X, U, share, kind)
    model = RobustPCA(m, random_state=0).fit(X)
    clean = PCA(m, svd_solver="full").fit(X[~spoilt])
    assert angle(model, U) < 1.1 * angle(clean, U) + 0.1
    assert model.outliers_[spoilt].all()
    assert model.outliers_[~spoilt].mean() < 0.05
    np.testing.assert_allclose(model.mean_, clean.mean_, atol=0.3)
    np.testing.assert_allclose(model.explained_variance_, clean.explained_variance_, rtol=0.1)


@pytest.mark.parametrize(
    "loss",
    [KMPE(10, "silverman"), Correntropy("silverman"), Correntropy(), Tukey()],
    ids=repr,
)
def test_30_percent_in_a_cluster_do_not_break_any_robust_loss(loss):
    X, U = rows(500, 50, 3)
    X, _ = spoil(X, U, 0.3, "cluster")
    assert angle(PCA(3).fit(X), U) > 80
    assert angle(RobustPCA(3, loss=loss, random_state=0).fit(X), U) < 6


def test_algorithm_2_as_printed_is_lost_to_a_cluster():
    X, U = rows(500, 50, 3)
    X, _ = spoil(X, U, 0.3, "cluster")
    model = RobustPCA(3, loss=KMPE(4, "silverman"), init="pca")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert angle(model.fit(X), U) > 80


@pytest.mark.parametrize("m", [None, 0.9, 10])
def test_all_components_of_data_with_outliers(m):
    X, U = rows(300, 10, 2)
    X, spoilt = spoil(X, U, 0.2, "directions")
    model = RobustPCA(m, random_state=0).fit(X)
    assert model.outliers_[spoilt].all()
    assert model.outliers_[~spoilt].mean() < 0.03
    assert angle(RobustPCA(2, random_state=0).fit(X), U) < 3
    assert model.n_components_ == (2 if m == 0.9 else 10)


def test_one_column_gives_a_robust_mean_and_variance():
    x = np.random.default_rng(0).standard_normal((400, 1))
    x[:80] = 1000
    model = RobustPCA(random_state=0).fit(x)
    assert abs(model.mean_[0]) < 0.15
    assert model.explained_variance_[0] == pytest.approx(1, abs=0.2)


# -- units and numbers of components ------------------------------------------------------------


def test_columns_in_mixed_units_are_scaled():
    X, U = rows(300, 8, 2)
    X, spoilt = spoil(X, U, 0.2, "cluster")
    units = 10.0 ** np.arange(-4, 4)
    plain, scaled = (RobustPCA(2, scale="mad").fit(x) for x in (X, X * units))
    np.testing.assert_allclose(scaled.components_, plain.components_, atol=1e-6)
    np.testing.assert_allclose(scaled.mean_, plain.mean_ * units, rtol=1e-6)
    np.testing.assert_allclose(scaled.transform(X * units), plain.transform(X), atol=1e-6)
    np.testing.assert_array_equal(scaled.outliers_, plain.outliers_)
    rebuilt = scaled.inverse_transform(scaled.transform(X * units))
    np.testing.assert_allclose(rebuilt, plain.inverse_transform(plain.transform(X)) * units)
    unscaled = plain.get_covariance() * np.outer(units, units)
    np.testing.assert_allclose(scaled.get_covariance(), unscaled, rtol=1e-6)
    assert scaled.distances(X * units).outliers[spoilt].all()


def test_a_column_with_ties_is_scaled_with_a_warning():
    X = rows(60, 4, 2)[0]
    X[:, 1] = np.arange(60) % 4 == 0
    with pytest.warns(RobustnessWarning, match="half of the values of column 1 are equal"):
        assert (RobustPCA(2, scale="mad").fit(X).scale_ > 0).all()


@pytest.mark.parametrize("scale", ["mad", "qn"])
def test_scales_of_columns_count_repeated_rows_and_known_values(scale):
    X = rows(40, 4, 2)[0]
    counts = np.arange(40) % 3
    weighted = RobustPCA(2, scale=scale).fit(X, sample_weight=counts)
    repeated = RobustPCA(2, scale=scale).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.scale_, repeated.scale_, rtol=1e-12)
    np.testing.assert_allclose(weighted.components_, repeated.components_, atol=1e-6)
    holes = np.vstack([X, np.full((3, 4), np.nan)])
    np.testing.assert_allclose(
        RobustPCA(2, scale=scale).fit(holes).scale_, RobustPCA(2, scale=scale).fit(X).scale_
    )
    assert RobustPCA(2, scale=scale).fit(X.astype(np.float32)).scale_.dtype == np.float32


def test_qn_refuses_weights_that_are_no_counts():
    X = rows(40, 4, 2)[0]
    with pytest.raises(ValueError, match="needs integer sample_weight"):
        RobustPCA(2, scale="qn").fit(X, sample_weight=np.sqrt(np.arange(2.0, 42.0)))


@pytest.mark.parametrize(("n", "d", "m"), [(100, 8, 2), (300, 40, 5), (60, 200, 4), (200, 12, 1)])
@pytest.mark.parametrize("kind", ["cluster", "directions"])
def test_the_elbow_of_the_scree_is_found_among_outliers(n, d, m, kind):
    X, U = rows(n, d, m, noise=1.0 if n > d else 0.3)
    X, _ = spoil(X, U, 0.2, kind)
    model = RobustPCA("auto").fit(X)
    assert model.n_components_ == model.n_robust_components_ == m
    assert angle(model, U) < 25


# -- the loop --------------------------------------------------------------------------------


@every_loss
@pytest.mark.parametrize("shape", [(150, 12), (30, 60)])
def test_cost_never_rises(loss, shape):
    X, U = rows(*shape, 2)
    X, _ = spoil(X, U, 0.1, "scattered")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RobustPCA(2, loss=loss, random_state=0, tol=1e-10).fit(X)
    assert np.isfinite(model.history_).all()
    assert (np.diff(model.history_) <= 1e-12 * abs(model.history_[:-1])).all()
    assert len(model.weights_) == len(X)
    # The loss says where the subspace is; the centre inside it is that of the regular rows.
    gap = np.average(X, axis=0, weights=model.weights_) - model.mean_
    W = model.components_
    np.testing.assert_allclose(gap - W.T @ (W @ gap), 0, atol=1e-8)


@settings(max_examples=15)
@given(counts=st.lists(st.integers(0, 3), min_size=25, max_size=25).filter(lambda c: sum(c) > 12))
def test_integer_weights_are_repeated_rows(counts):
    X = rows(25, 6, 2)[0]
    model = RobustPCA(2, loss=Correntropy(3.0), init="pca", tol=1e-12, max_iter=3000)
    weighted = clone(model).fit(X, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0))
    np.testing.assert_allclose(weighted.mean_, repeated.mean_, atol=1e-6)
    P, Q = (fit.components_.T @ fit.components_ for fit in (weighted, repeated))
    np.testing.assert_allclose(P, Q, atol=1e-6)
    np.testing.assert_allclose(
        weighted.explained_variance_, repeated.explained_variance_, rtol=1e-6
    )


def test_the_order_of_the_rows_does_not_matter():
    X, U = rows(200, 20, 3)
    X, _ = spoil(X, U, 0.2, "cluster")
    order = np.random.default_rng(0).permutation(200)
    one, other = (RobustPCA(3, random_state=0).fit(x) for x in (X, X[order]))
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-8)
    np.testing.assert_array_equal(one.outliers_[order], other.outliers_)


def test_running_out_of_steps_is_not_called_convergence():
    X = rows(100, 10, 2)[0]
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        RobustPCA(2, loss=MPE(p=0.5), max_iter=1, tol=1e-14).fit(X)


@pytest.mark.parametrize("loss", [None, KMPE(2, "silverman"), KMPE(10, "silverman")], ids=repr)
def test_rows_without_structure_end_the_fit_soon(loss):
    """Directions of equal variance are turned for ever; the cost no longer falls."""
    X = np.random.default_rng(1).standard_normal((20_000, 40))
    model = RobustPCA(3, loss=loss).fit(X)
    assert model.n_iter_ <= 60
    assert (np.diff(model.history_) <= 0).all()


def test_many_rows_take_two_steps_to_where_many_lead(monkeypatch):
    """The last step is not checked by a pass: it must end where the others would."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5)) * [9, 8, 7, 6, 5] @ np.eye(5, 60) + rng.normal(
        size=(20_000, 60)
    )
    X[:2000] += 30 * np.eye(60)[7]
    few = RobustPCA(5, loss=KMPE(2, "silverman")).fit(X)
    assert few.n_iter_ == 2
    monkeypatch.setattr(Scatter, "gain", WeightedPCA.gain)
    many = RobustPCA(5, loss=KMPE(2, "silverman"), tol=1e-12).fit(X)
    assert many.n_iter_ > 2
    W, V = few.components_, many.components_
    # The standard error of the subspace is 8e-3.
    assert np.linalg.norm(W - W @ V.T @ V) < 5e-4


def test_a_far_mean_costs_no_digits():
    X = rows(200, 20, 3)[0]
    near, far = (RobustPCA(3, random_state=0).fit(x) for x in (X, X + 1e7))
    np.testing.assert_allclose(near.components_, far.components_, atol=1e-6)


# -- scikit-learn ----------------------------------------------------------------------------


def test_errors_are_distances_and_a_search_maximises_the_likelihood():
    X = rows(60, 8, 2)[0]
    model = RobustPCA(2, random_state=0).fit(X)
    gap = X - model.inverse_transform(model.transform(X))
    np.testing.assert_allclose(model.reconstruction_errors(X), np.linalg.norm(gap, axis=1))
    grid = {"loss__sigma": [1.0, 4.0], "n_components": [1, 2]}
    search = GridSearchCV(RobustPCA(loss=Correntropy(2.0)), grid, cv=3).fit(X)
    assert search.best_params_["n_components"] == 2


def test_frames_names_clones_and_pickles():
    X = pd.DataFrame(rows(50, 4, 2)[0], columns=list("abcd"))
    model = RobustPCA(2, loss=KMPE(p=4), random_state=0).set_output(transform="pandas")
    T = clone(model).fit_transform(X)
    assert list(T.columns) == ["robustpca0", "robustpca1"]
    again = pickle.loads(pickle.dumps(model.fit(X)))
    pd.testing.assert_frame_equal(T, again.transform(X))


# -- rows that are not an array ------------------------------------------------------------------


@pytest.mark.parametrize("kind", [csr_matrix, csc_array])
@pytest.mark.parametrize("shape", [(300, 20), (40, 120)])
def test_sparse_rows_are_those_of_the_dense_ones(shape, kind):
    X = rows(*shape, 2)[0]
    X[np.abs(X) < 1] = 0
    X[:10] *= 10
    dense, sparse = RobustPCA(2).fit(X), RobustPCA(2).fit(kind(X))
    for name in ("components_", "mean_", "explained_variance_", "outliers_", "weights_"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name), atol=1e-10)
    np.testing.assert_allclose(sparse.transform(kind(X)), dense.transform(X), atol=1e-8)
    np.testing.assert_allclose(sparse.score_samples(kind(X)), dense.score_samples(X))
    errors = dense.reconstruction_errors(X)
    np.testing.assert_allclose(sparse.reconstruction_errors(kind(X)), errors)
    np.testing.assert_array_equal(sparse.distances(kind(X)).outliers, dense.outliers_)


def test_a_sparse_matrix_may_have_long_indices():
    X = rows(60, 6, 2)[0]
    X[np.abs(X) < 1] = 0
    sparse = csr_matrix(X)
    short = RobustPCA(2).fit(sparse)
    sparse.indices, sparse.indptr = (i.astype(np.int64) for i in (sparse.indices, sparse.indptr))
    long = RobustPCA(2).fit(sparse)
    np.testing.assert_array_equal(long.components_, short.components_)
    np.testing.assert_array_equal(long.score_samples(sparse), short.score_samples(sparse))


def test_a_row_of_which_nothing_is_known_says_nothing():
    X = rows(60, 6, 2)[0]
    whole = RobustPCA(2).fit(X)
    holed = RobustPCA(2).fit(np.vstack([X[:7], np.full((1, 6), np.nan), X[7:]]))
    np.testing.assert_allclose(holed.components_, whole.components_, atol=1e-8)
    np.testing.assert_allclose(holed.explained_variance_, whole.explained_variance_)
    assert not holed.outliers_[7]


def test_a_memory_map_is_fitted_and_measured_as_an_array_is(tmp_path):
    X, U = rows(3000, 20, 2)
    X, _ = spoil(X, U, 0.1, "cluster")
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    one, other = RobustPCA(2).fit(X), RobustPCA(2).fit(mapped)
    np.testing.assert_allclose(other.components_, one.components_, atol=1e-10)
    np.testing.assert_array_equal(other.distances(mapped).outliers, one.outliers_)


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 9}, "n_components=9 must be a whole number from 1 to 4"),
        ({"n_components": 0}, "X has 30 rows and 4 columns"),
        ({"n_components": 1.5}, "share of the variance between 0 and 1"),
        ({"n_components": True}, "n_components=True"),
        ({"n_robust_components": 0.5}, "n_robust_components=0.5"),
        ({"loss": "huber"}, "loss='huber' must be None or a loss"),
        ({"init": "random"}, "init='random' must be one of robust, pca"),
        ({"scale": "std"}, "scale='std' must be None or"),
        ({"max_iter": 0}, "max_iter=0 must be a whole number of at least 1"),
        ({"tol": 0}, "tol=0 must be a number above 0"),
    ],
)
def test_parameters_are_refused_with_advice(params, message):
    with pytest.raises(ValueError, match=message):
        RobustPCA(**params).fit(rows(30, 4, 2)[0])


def test_data_are_refused_with_advice():
    X = rows(30, 4, 2)[0]
    with pytest.raises(ValueError, match="minimum of 2 is required"):
        RobustPCA().fit(X[:1])
    with pytest.raises(ValueError, match="rescale X"):
        RobustPCA().fit(X * 1e200)
    with pytest.raises(ValueError, match="'loss__p' is a parameter of a loss, and loss=None"):
        RobustPCA().set_params(loss__p=1)
    with pytest.raises(ValueError, match="at least one"):
        RobustPCA().fit(X, sample_weight=np.zeros(30))


def degenerate():
    X = rows(40, 6, 2)[0]
    zero_columns, half_equal = X.copy(), X.copy()
    zero_columns[:, 2:] = 0
    half_equal[:25] = half_equal[0]
    return {
        "constant": np.full((20, 5), 3.0),
        "two rows": X[:2],
        "duplicated rows": np.repeat(X[:10], 4, axis=0),
        "zero columns": zero_columns,
        "more than half equal": half_equal,
        "on a line": np.outer(np.arange(30.0), np.ones(4)),
        "tiny": X * 1e-150,
        "one outlier": np.vstack([np.zeros((20, 3)), np.ones((1, 3))]),
    }


@pytest.mark.parametrize("loss", [None, KMPE(10, "silverman"), Correntropy(), MPE(p=0.6)], ids=repr)
@pytest.mark.parametrize("name", degenerate())
@pytest.mark.parametrize("m", [1, None])
def test_degenerate_data_give_finite_orthonormal_components(name, m, loss):
    X = degenerate()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = RobustPCA(m, loss=loss, random_state=0).fit(X)
    k = model.n_components_
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(k), atol=1e-8)
    for values in (model.mean_, model.explained_variance_ratio_, model.transform(X)):
        assert np.isfinite(values).all()


# -- the paper's faces -----------------------------------------------------------------------


def test_pca_kmpe_rebuilds_occluded_faces_best(paper_data):
    images = np.load(paper_data / "yale_64x64.npz")["images"].astype(float)
    original = images.reshape(165, -1)
    options = {"n_robust_components": 10, "random_state": 0}
    models = (
        RobustPCA(50, loss=KMPE(10, "silverman"), **options),
        RobustPCA(50, loss=Correntropy("silverman"), **options),
        PCA(50, svd_solver="full"),
    )
    errors = []
    for seed in range(8):
        spoilt, mask = contaminate_images(images, 15, random_state=seed)
        X = spoilt.reshape(165, -1)
        errors.append([reconstruction_error(model.fit(X), X, original) for model in models])
        assert models[0].outliers_[mask].all()
    kmpe, hq, plain = np.mean(errors, axis=0)
    assert kmpe < hq < plain
    assert kmpe < 900


@pytest.mark.parametrize("unit", [1e-100, 1 / 3, 1e100])
def test_the_unit_of_the_weights_does_not_matter(unit):
    X = rows(40, 4, 2)[0]
    a = np.random.default_rng(0).integers(1, 4, 40).astype(float)
    for size in (1.0, 1e122):
        one, other = (RobustPCA(2).fit(size * X, sample_weight=w) for w in (a, unit * a))
        np.testing.assert_allclose(other.components_, one.components_, rtol=1e-8)
        np.testing.assert_allclose(other.explained_variance_, one.explained_variance_, rtol=1e-8)


def test_moments_that_overflow_are_refused_in_words():
    rng = np.random.default_rng(0)
    X = 9e80 * np.eye(3)[rng.integers(0, 3, 8)]
    with pytest.raises(ValueError, match=r"the cost overflows.*rescale"):
        RobustPCA(loss=MPE(4.0)).fit(X, sample_weight=1e100 * rng.uniform(0.5, 2, 8))


@pytest.mark.parametrize("size", [1.0, 5e108])
def test_rows_that_a_singular_loss_meets_exactly_do_not_outweigh_double_precision(size):
    X = size * np.array([[-1.3, -0.3], [-1.1, 0.9]])[[0, 0, 1, 0, 0, 1, 1, 1]]
    model = RobustPCA(loss=KMPE(0.7)).fit(X)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-6)
    assert np.all(model.reconstruction_errors(X) < 1e-6 * size)


def test_rows_that_are_all_zero_and_of_weights_24_decades_apart():
    a = 10.0 ** np.random.default_rng(0).choice([-12, 12], 70)
    model = RobustPCA(67, loss=KMPE(0.7)).fit(np.zeros((70, 300)), sample_weight=a)
    assert not model.explained_variance_.any()


@pytest.mark.parametrize("loss", [KMPE(0.7), None])
def test_counts_are_repeats_where_most_rows_are_met_exactly(loss):
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(3, 6))
        one = RobustPCA(1, loss=loss).fit(X, sample_weight=[3, 1, 1])
        other = RobustPCA(1, loss=loss).fit(X[[0, 0, 0, 1, 2]])
        same = one.reconstruction_errors(X), other.reconstruction_errors(X)
        np.testing.assert_allclose(*same, atol=1e-4)


def test_most_rows_are_one_point():
    """Their mean differs from them in its last digits, which are no direction."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        X = rng.normal(size=(2, 6))
        one = RobustPCA().fit(X, sample_weight=[3, 1])
        other = RobustPCA().fit(X[[0, 0, 0, 1]])
        np.testing.assert_allclose(one.transform(X), other.transform(X), atol=1e-9)
        assert not np.round(other.explained_variance_, 30).any()


def cube(counts=(38, 25, 23, 31, 35, 33, 31, 34)):
    """Return the corners of a cube, each as often as given: many planes hold most of the rows."""
    corners = np.array([[i, j, k] for i in (0.0, 1.0) for j in (0.0, 1.0) for k in (0.0, 1.0)])
    return np.repeat(corners, counts, axis=0)


@pytest.mark.parametrize("seed", range(4))
def test_rows_of_few_values_turn_and_grow_with_the_axes(seed):
    loss = KMPE(p=1)
    X, Q = cube(), np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    plain = RobustPCA(loss=loss).fit(X)
    turned = RobustPCA(loss=loss).fit(1e3 * X @ Q)
    sizes = 1e6 * plain.explained_variance_
    np.testing.assert_allclose(turned.explained_variance_, sizes, rtol=1e-6, atol=1)
    np.testing.assert_array_equal(turned.outliers_, plain.outliers_)


@pytest.mark.parametrize("container", [csr_matrix, csc_array])
def test_directions_in_which_regular_rows_do_not_vary_are_the_same_in_any_container(container):
    # The last row is an outlier, and the others have three directions.
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, a = rng.standard_t(1.5, size=(5, 15)), rng.integers(1, 4, 5).astype(float)
        dense, sparse = (
            RobustPCA(loss=MPE(1.5)).fit(rows, sample_weight=a) for rows in (X, container(X))
        )
        size = np.abs(X).max()
        ends = (model.reconstruction_errors(X) / size for model in (dense, sparse))
        np.testing.assert_allclose(*ends, atol=1e-9, err_msg=f"seed {seed}")


def test_repeats_of_fewer_rows_than_columns_are_weights():
    """With the repeats there are more rows than columns, and the problem has another form."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(8, 3)) @ rng.normal(size=(3, 9)) + 0.01 * rng.normal(size=(8, 9))
        counts = rng.integers(1, 4, 8)
        weighted = RobustPCA(1).fit(X, sample_weight=counts.astype(float))
        repeated = RobustPCA(1).fit(np.repeat(X, counts, axis=0))
        ends = [model.reconstruction_errors(X) for model in (weighted, repeated)]
        np.testing.assert_allclose(*ends, atol=1e-9, err_msg=f"seed {seed}")
