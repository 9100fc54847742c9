"""Conformal intervals: coverage, outliers, and any regressor."""

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import RepeatedKFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator

from kmpe import ConformalRegressor, Correntropy, ELMRegressor, RobustLinearRegression


def checks():
    for estimator, check in estimator_checks_generator(ConformalRegressor(LinearRegression())):
        name = getattr(check, "func", check).__name__
        # Needs a switch set before scipy is imported.
        if name != "check_array_api_input":
            yield pytest.param(estimator, check, id=name)


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def plane(seed, n, spoilt=0.0, d=5):
    """Return rows on a plane with Gaussian noise, some of them far above it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ np.arange(1.0, d + 1) + rng.normal(size=n)
    return X, y + np.where(rng.random(n) < spoilt, 100, 0)


# -- coverage --------------------------------------------------------------------------------


@pytest.mark.parametrize("spoilt", [0.0, 0.1])
@pytest.mark.parametrize("cv", [5, ShuffleSplit(n_splits=1, test_size=0.5, random_state=0)])
def test_new_rows_are_covered_and_outliers_widen_nothing(cv, spoilt):
    covered, widths = [], []
    for seed in range(25):
        X, y = plane(seed, 100, spoilt)
        X_new, y_new = plane(1000 + seed, 400)
        model = ConformalRegressor(RobustLinearRegression(Correntropy()), cv=cv).fit(X, y)
        predicted, low, high = model.predict(X_new, return_interval=0.9)
        np.testing.assert_array_equal(predicted, model.predict(X_new))
        covered.append(np.mean((low <= y_new) & (y_new <= high)))
        widths.append(np.mean(high - low))
    # One draw of 100 rows covers 0.9 ± 0.03, of 50 rows ± 0.04.
    assert 0.88 < np.mean(covered) < 0.94
    assert np.mean(widths) < 1.25 * 2 * 1.645


def test_a_regressor_that_learns_by_heart_is_covered_as_well():
    covered = []
    for seed in range(10):
        X, y = plane(seed, 200)
        X_new, y_new = plane(1000 + seed, 400)
        model = ConformalRegressor(DecisionTreeRegressor(random_state=0)).fit(X, y)
        _, low, high = model.predict(X_new, return_interval=0.8)
        covered.append(np.mean((low <= y_new) & (y_new <= high)))
    assert np.mean(covered) > 0.78


def test_gross_rows_are_named():
    X, y = plane(0, 200, spoilt=0.1)
    model = ConformalRegressor(RobustLinearRegression()).fit(X, y)
    np.testing.assert_array_equal(model.gross_, np.abs(y - X @ np.arange(1.0, 6.0)) > 50)


def test_too_few_rows_give_no_interval():
    X, y = plane(0, 8, d=1)
    model = ConformalRegressor(LinearRegression(), cv=4).fit(X, y)
    _, low, high = model.predict(X, return_interval=0.9)
    assert np.all(low == -np.inf)
    assert np.all(high == np.inf)
    _, low, high = model.predict(X, return_interval=0.8)
    assert np.isfinite([low, high]).all()


def test_rows_on_a_plane_have_intervals_of_no_width():
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X @ [1.0, 2.0]
    _, low, high = ConformalRegressor(LinearRegression()).fit(X, y).predict(X, 0.9)
    np.testing.assert_allclose(low, y, atol=1e-12)
    np.testing.assert_allclose(high, y, atol=1e-12)


# -- any regressor ---------------------------------------------------------------------------


def test_several_targets():
    X, y = plane(0, 150)
    Y = np.column_stack([y, 10 * y])
    model = ConformalRegressor(RobustLinearRegression()).fit(X, Y)
    predicted, low, high = model.predict(X, return_interval=0.9)
    assert predicted.shape == low.shape == high.shape == (150, 2)
    np.testing.assert_allclose((high - low)[:, 1], 10 * (high - low)[:, 0], rtol=1e-6)


def test_a_pipeline_on_a_frame_with_words():
    X, y = plane(0, 120, d=1)
    frame = pd.DataFrame({"x": X[:, 0], "kind": np.array(["a", "b"])[np.arange(120) % 2]})
    inner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough"),
        ELMRegressor(random_state=0),
    )
    model = ConformalRegressor(inner, cv=3).fit(frame, y)
    assert list(model.feature_names_in_) == ["x", "kind"]
    assert np.isfinite(model.predict(frame, return_interval=0.9)).all()


def test_jobs_do_not_change_the_result():
    X, y = plane(0, 60)
    one, two = (
        ConformalRegressor(RobustLinearRegression(), cv=4, n_jobs=jobs).fit(X, y).predict(X, 0.9)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one, two)


def test_weights_reach_the_regressor_and_the_intervals():
    X, y = plane(0, 150)
    y[:50] += 3 * np.arange(50)
    a = (np.arange(150) >= 50).astype(float)
    model = ConformalRegressor(LinearRegression()).fit(X, y, sample_weight=a)
    alone = ConformalRegressor(LinearRegression()).fit(X[50:], y[50:])
    np.testing.assert_allclose(model.predict(X), alone.predict(X))
    _, low, high = model.predict(X, return_interval=0.9)
    assert np.mean(high - low) < 4.5


# -- bad input -------------------------------------------------------------------------------


def test_bad_options_are_named_with_advice():
    X, y = plane(0, 30)
    twice = RepeatedKFold(n_splits=3, n_repeats=2, random_state=0)
    with pytest.raises(ValueError, match="cv tests some rows twice: give a number of folds"):
        ConformalRegressor(LinearRegression(), cv=twice).fit(X, y)
    model = ConformalRegressor(LinearRegression()).fit(X, y)
    with pytest.raises(ValueError, match="return_interval=90 must lie between 0 and 1"):
        model.predict(X, return_interval=90)


def test_a_memory_map_gives_the_intervals_of_the_array(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=200)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for inner in (RobustLinearRegression(), LinearRegression()):
        inside, outside = (ConformalRegressor(inner).fit(rows, y) for rows in (X, mapped))
        for one, other in zip(
            inside.predict(X, return_interval=0.9),
            outside.predict(mapped, return_interval=0.9),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=1e-8)


class Slices:
    """Something with a shape and row slices, and nothing else."""

    def __init__(self, X):
        self._X, self.shape = X, X.shape

    def __len__(self):
        return len(self._X)

    def __getitem__(self, where):
        assert isinstance(where, slice)
        return self._X[where]


def test_rows_with_slices_only_are_split_without_being_loaded():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.normal(size=200)
    inside = ConformalRegressor(RobustLinearRegression()).fit(X, y)
    outside = ConformalRegressor(RobustLinearRegression()).fit(Slices(X), y)
    np.testing.assert_allclose(inside.residuals_, outside.residuals_, rtol=1e-8)
