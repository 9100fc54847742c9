"""Wald tests, confidence intervals of predictions and influence, against statsmodels."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm

from kmpe import RobustLinearRegression, Squared

NAMES = ["a", "b", "c"]


def table(n=60, seed=0, slopes=(1.0, 0.0, 0.0)):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 3)), columns=NAMES)
    return X, X.to_numpy() @ slopes + rng.normal(size=n)


def test_the_wald_test_of_least_squares_is_that_of_statsmodels():
    X, y = table()
    ours = RobustLinearRegression(Squared()).fit(X, y).wald_test(["b", "c"])
    theirs = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC3", use_t=True)
    test = theirs.wald_test("b = 0, c = 0", use_f=True, scalar=True)
    assert ours.statistic == pytest.approx(float(test.statistic), rel=1e-6)
    assert ours.p_value == pytest.approx(float(test.pvalue), rel=1e-6)
    assert ours.df == (2, 56)


def test_names_numbers_and_a_smaller_model_say_the_same():
    X, y = table()
    model = RobustLinearRegression().fit(X, y)
    smaller = RobustLinearRegression().fit(X[["a"]], y)
    one, *others = (model.wald_test(terms) for terms in (["b", "c"], [1, 2], smaller))
    assert all(other == one for other in others)
    assert str(one).startswith("b, c = 0: F = ")


def test_it_keeps_its_level_and_sees_what_is_there():
    p = [
        RobustLinearRegression().fit(*table(80, seed)).wald_test([1, 2]).p_value
        for seed in range(80)
    ]
    assert np.mean(np.less(p, 0.05)) < 0.13
    X, y = table(80, slopes=(1.0, 1.0, 0.0))
    assert RobustLinearRegression().fit(X, y).wald_test(["b", "c"]).p_value < 1e-4


@pytest.mark.parametrize("terms", [[], ["d"], [7], ["b", "b"]])
def test_terms_that_are_none_are_refused(terms):
    model = RobustLinearRegression().fit(*table())
    with pytest.raises(ValueError, match="input"):
        model.wald_test(terms)


def test_a_model_that_is_not_nested_is_refused():
    X, y = table()
    other = RobustLinearRegression().fit(X.rename(columns={"a": "z"}), y)
    with pytest.raises(ValueError, match="'z'"):
        RobustLinearRegression().fit(X, y).wald_test(other)


def test_confidence_intervals_of_predictions_are_those_of_statsmodels():
    X, y = table()
    model = RobustLinearRegression(Squared()).fit(X, y)
    _, low, high = model.predict(X, return_interval=0.9, interval="confidence")
    fit = sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC3", use_t=True)
    theirs = fit.get_prediction(sm.add_constant(X)).conf_int(alpha=0.1)
    np.testing.assert_allclose(np.column_stack([low, high]), theirs, rtol=1e-6)


def test_they_cover_the_plane():
    inside = []
    for seed in range(60):
        X, y = table(60, seed)
        _, low, high = RobustLinearRegression().fit(X, y).predict(X, 0.9, interval="confidence")
        inside.append((low <= X["a"]) & (X["a"] <= high))
    assert 0.85 < np.mean(inside) < 0.95


def test_of_dependent_columns_seen_rows_have_intervals_and_others_have_none():
    X, y = table()
    X["d"], X["e"] = X["a"] + X["b"], 3.0  # dependent, and constant
    with pytest.warns(UserWarning, match="Columns are linearly dependent"):
        model = RobustLinearRegression().fit(X, y)
    narrow = RobustLinearRegression().fit(X[NAMES], y).predict(X[NAMES], 0.9, interval="confidence")
    wide = model.predict(X, 0.9, interval="confidence")
    np.testing.assert_allclose(wide, narrow, rtol=1e-3, atol=1e-3)
    for name in ("d", "e"):
        strange = X.head(3).copy()
        strange[name] += 1
        _, low, high = model.predict(strange, 0.9, interval="confidence")
        assert np.isinf(high - low).all()


def test_intervals_are_of_two_kinds_only():
    X, y = table()
    with pytest.raises(ValueError, match="confidence"):
        RobustLinearRegression().fit(X, y).predict(X, 0.9, interval="tolerance")


def test_influence_of_least_squares_is_that_of_statsmodels():
    X, y = table()
    model = RobustLinearRegression(Squared()).fit(X, y)
    theirs = sm.OLS(y, sm.add_constant(X)).fit().get_influence()
    np.testing.assert_allclose(model.leverages_, theirs.hat_matrix_diag, rtol=1e-6)
    np.testing.assert_allclose(model.cook_distances_, theirs.cooks_distance[0] * 60 / 56, rtol=1e-6)


def test_a_bad_leverage_point_moves_nothing():
    X, y = table()
    X.iloc[0], y[0] = 10.0, -50.0
    model = RobustLinearRegression().fit(X, y)
    assert model.cook_distances_[0] == 0
    assert model.leverages_[0] == model.leverages_.max()
