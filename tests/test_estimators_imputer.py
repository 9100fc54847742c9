"""Missing values: fits, scores, distances and fillings of rows with holes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

from kmpe import RobustImputer, RobustPCA


@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pytest.param(model, check, id=getattr(check, "func", check).__name__)
        for model, check in estimator_checks_generator(RobustImputer())
        if getattr(check, "func", check).__name__ != "check_array_api_input"
    ],
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def rows(n, d, m, seed=0, share=0.2):
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((d, m + 1)))[0]
    X = (rng.standard_normal((n, m)) * np.linspace(10, 5, m)) @ axes[:, :m].T
    X += rng.standard_normal((n, d))
    k = int(share * n)
    X[:k] = 40 * axes[:, m] + rng.standard_normal((k, d))
    return X, axes[:, :m], np.arange(n) < k


def with_holes(X, share=0.1, seed=1):
    H = X.copy()
    H[np.random.default_rng(seed).uniform(size=X.shape) < share] = np.nan
    return H


def subspace_error(model, U):
    return np.sqrt(max(0.0, 1 - np.sum((model.components_ @ U) ** 2) / U.shape[1]))


@pytest.mark.parametrize(("n", "d", "m"), [(100, 10, 2), (300, 20, 3), (80, 100, 4)])
def test_a_tenth_of_the_values_missing_costs_little(n, d, m):
    errors = []
    for seed in range(4):
        X, U, bad = rows(n, d, m, seed)
        H = with_holes(X, seed=seed)
        whole, holes = RobustPCA(m).fit(X), RobustPCA(m).fit(H)
        errors.append([subspace_error(model, U) for model in (whole, holes)])
        assert holes.outliers_[bad].all()
        assert holes.outliers_[~bad].mean() < 0.06
        ratio = holes.explained_variance_ / whole.explained_variance_
        assert 0.85 < ratio.min() <= ratio.max() < 1.15
    whole, holes = np.mean(errors, axis=0)
    assert holes < 1.2 * whole


def test_fillings_that_make_each_other_meet_half_way():
    # By one filling a row far out inside the subspace is an outlier, by the other it is none.
    X, U, _ = rows(200, 10, 3, seed=2, share=0.0)
    X[:40] += 8 * np.linspace(10, 5, 3) @ U.T
    model = RobustPCA(3).fit(with_holes(X, seed=2))  # a warning would be an error
    assert model.outliers_[:40].all()
    assert subspace_error(model, U) < 0.04


def test_what_is_filled_in_is_as_near_as_the_noise():
    X, _, bad = rows(300, 20, 3)
    H = with_holes(X)
    filled = RobustImputer(3).fit_transform(H)
    missing = np.isnan(H)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    gap = (filled - X)[missing & ~bad[:, None]]
    assert np.sqrt(np.mean(gap**2)) < 1.3


def test_filling_is_the_conditional_mean_of_the_gaussian_model():
    X, _, _ = rows(200, 6, 2, share=0.0)
    model = RobustPCA(2).fit(X)
    row = X[:1].copy()
    row[0, [1, 4]] = np.nan
    known = [0, 2, 3, 5]
    C = model.get_covariance()
    slope = np.linalg.solve(C[np.ix_(known, known)], C[np.ix_(known, [1, 4])])
    expected = model.mean_[[1, 4]] + (row[0, known] - model.mean_[known]) @ slope
    np.testing.assert_allclose(model.fill(row)[0, [1, 4]], expected, rtol=0.02, atol=0.02)


def test_rows_with_holes_have_scores_distances_and_reconstructions():
    X, _, bad = rows(300, 12, 2)
    model = RobustPCA(2).fit(X)
    H = with_holes(X)
    H[-1] = np.nan
    T = model.transform(H)
    regular = ~bad & (np.arange(300) < 299)
    assert np.abs(T - model.transform(X))[regular].mean() < 0.6
    np.testing.assert_allclose(T[-1], 0, atol=1e-9)
    np.testing.assert_allclose(model.inverse_transform(T)[-1], model.mean_)
    found = model.distances(H)
    assert found.outliers[bad].all()
    assert found.outliers[regular].mean() < 0.05


def test_training_rows_with_holes_are_measured_as_new_ones_are():
    X, _, _ = rows(150, 10, 2)
    H = with_holes(X)
    model = RobustPCA(2).fit(H)
    again = model.distances(H)
    np.testing.assert_allclose(again.orthogonal, model.orthogonal_distances_, rtol=0.05, atol=0.05)
    assert np.mean(again.outliers == model.outliers_) > 0.99


def test_frames_pipelines_and_single_precision():
    X, _, _ = rows(200, 6, 2, share=0.0)
    y = X[:, 0] + X[:, 1]
    frame = pd.DataFrame(with_holes(X), columns=list("abcdef"))
    pipe = make_pipeline(RobustImputer(2), LinearRegression()).fit(frame[:150], y[:150])
    assert pipe.score(frame[150:], y[150:]) > 0.9
    imputer = RobustImputer(2).set_output(transform="pandas").fit(frame)
    assert list(imputer.transform(frame).columns) == list("abcdef")
    small = with_holes(X).astype(np.float32)
    assert RobustImputer(2).fit_transform(small).dtype == np.float32


def test_a_column_without_values_is_refused_with_advice():
    X, _, _ = rows(30, 4, 1)
    X[:, 2] = np.nan
    with pytest.raises(ValueError, match="column 2 of X has no value at all"):
        RobustImputer(1).fit(X)
