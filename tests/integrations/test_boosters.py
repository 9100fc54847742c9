"""The objective in XGBoost and LightGBM, by ``train`` and by the wrappers."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_friedman1

here = "make test-integrations has it"
xgboost = pytest.importorskip("xgboost", reason=f"XGBoost is not here: {here}")
lightgbm = pytest.importorskip("lightgbm", reason=f"LightGBM is not here: {here}")

from kmpe import KMPE, RobustRegressor  # noqa: E402
from kmpe.boosting import Objective, lightgbm_metric, xgboost_metric  # noqa: E402

ROUNDS = 60


def rows(seed, spoilt=0.2, origin=0.0):
    X, y = make_friedman1(400, noise=1.0, random_state=seed)
    bad = np.arange(400) < round(spoilt * 400)
    y = y + np.where(bad, 10 * np.random.default_rng(seed).normal(size=400), 0.0) * y.std()
    return X, y + origin, bad


def fits(X, y, objective, weight=None):
    """Return predictions of the four ways to fit."""
    rows = xgboost.DMatrix(X, y, weight=weight)
    booster = xgboost.train({"nthread": 1}, rows, ROUNDS, obj=objective)
    yield "xgboost.train", booster.predict
    model = xgboost.XGBRegressor(n_estimators=ROUNDS, objective=objective, n_jobs=1)
    yield "XGBRegressor", model.fit(X, y, sample_weight=weight).predict
    options = {"objective": objective, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(options, lightgbm.Dataset(X, y, weight=weight), ROUNDS)
    yield "lightgbm.train", booster.predict
    model = lightgbm.LGBMRegressor(n_estimators=ROUNDS, objective=objective, verbose=-1, n_jobs=1)
    yield "LGBMRegressor", model.fit(X, y, sample_weight=weight).predict


def error(way, predict, origin=0.0):
    X, y = make_friedman1(1000, noise=0.0, random_state=99)
    X = xgboost.DMatrix(X) if way == "xgboost.train" else X
    return np.sqrt(np.mean((predict(X) - origin - y) ** 2))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("origin", [0.0, 500.0, -3e4])
def test_all_four_ways_withstand_spoilt_targets_far_from_zero(origin):
    X, y, bad = rows(0, origin=origin)
    plain = lightgbm.LGBMRegressor(n_estimators=ROUNDS, verbose=-1, n_jobs=1)
    clean = error("", plain.fit(X[~bad], y[~bad]).predict, origin)
    assert error("", plain.fit(X, y).predict, origin) > 2 * clean
    for way, predict in fits(X, y, Objective(), np.ones(400)):
        assert error(way, predict, origin) < 1.7 * clean, way


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("spoilt", [0.0, 0.2])
def test_a_group_far_from_the_median_is_learnt(spoilt):
    """Twenty deviations below the rest, beyond what a redescending loss sees."""
    X, y, _ = rows(5, spoilt)
    low = np.random.default_rng(5).uniform(size=400) < 0.1
    X, y = np.column_stack([X, low]), y - 100.0 * low
    X_new = np.column_stack([make_friedman1(400, random_state=98)[0], np.ones(400)])
    for model in (
        xgboost.XGBRegressor(objective=Objective(), n_jobs=1),
        lightgbm.LGBMRegressor(objective=Objective(), verbose=-1, n_jobs=1),
    ):
        assert np.mean(model.fit(X, y).predict(X_new)) < -75


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_clean_targets_cost_little():
    ratios = []
    for seed in range(3):
        X, y, _ = rows(seed, 0.0)
        for way, predict in fits(X, y, Objective()):
            plain = xgboost.XGBRegressor if "xgb" in way.lower() else lightgbm.LGBMRegressor
            options = {} if "xgb" in way.lower() else {"verbose": -1}
            model = plain(n_estimators=ROUNDS, n_jobs=1, **options).fit(X, y)
            ratios.append(error(way, predict) / error("", model.predict))
    assert np.exp(np.mean(np.log(ratios))) < 1.02


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_cross_validation_with_one_objective_for_all_folds():
    X, y, _ = rows(6, origin=500.0)
    table = xgboost.cv(
        {"nthread": 1, "disable_default_eval_metric": True},
        xgboost.DMatrix(X, y),
        30,
        nfold=3,
        obj=Objective(),
        custom_metric=xgboost_metric,
        as_pandas=False,
    )
    assert table["test-robust_error-mean"][-1] < 12
    found = lightgbm.cv(
        {"objective": Objective(), "metric": "None", "verbose": -1, "num_threads": 1},
        lightgbm.Dataset(X, y),
        30,
        nfold=3,
        stratified=False,
        feval=lightgbm_metric,
    )
    assert found["valid robust_error-mean"][-1] < 12


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_weights_reach_the_objective():
    X, y, bad = rows(1, spoilt=0.45)
    weight = np.where(bad, 0.0, 1.0)
    for way, predict in fits(X, y, Objective(KMPE(sigma=1000.0)), weight):
        assert error(way, predict) < 2.5, way


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_metrics_end_a_fit_early():
    X, y, _ = rows(2)
    X_new, y_new, _ = rows(3)
    model = xgboost.XGBRegressor(
        n_estimators=200,
        objective=Objective(),
        eval_metric=xgboost_metric,
        early_stopping_rounds=10,
        n_jobs=1,
    )
    model.fit(X, y, eval_set=[(X_new, y_new)], verbose=False)
    assert 10 < model.best_iteration < 199
    assert "xgboost_metric" in model.evals_result()["validation_0"]
    booster = xgboost.train(
        {"nthread": 1, "disable_default_eval_metric": True},
        xgboost.DMatrix(X, y),
        20,
        obj=Objective(),
        custom_metric=xgboost_metric,
        evals=[(xgboost.DMatrix(X_new, y_new), "new")],
        verbose_eval=False,
    )
    assert booster.num_boosted_rounds() == 20
    stop = lightgbm.early_stopping(10, verbose=False)
    model = lightgbm.LGBMRegressor(n_estimators=200, objective=Objective(), verbose=-1, n_jobs=1)
    model.set_params(metric="None")
    model.fit(X, y, eval_X=X_new, eval_y=y_new, eval_metric=lightgbm_metric, callbacks=[stop])
    assert 10 < model.best_iteration_ < 199
    seen = {}
    data = lightgbm.Dataset(X, y)
    lightgbm.train(
        {"objective": Objective(), "metric": "None", "verbose": -1, "num_threads": 1},
        data,
        20,
        valid_sets=[lightgbm.Dataset(X_new, y_new, reference=data)],
        feval=lightgbm_metric,
        callbacks=[lightgbm.record_evaluation(seen)],
    )
    errors = seen["valid_0"]["robust_error"]
    assert errors[-1] < errors[0]


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_boosters_inside_the_robust_regressor():
    X, y, bad = rows(4)
    for inner in (
        lightgbm.LGBMRegressor(n_estimators=30, verbose=-1, n_jobs=1),
        xgboost.XGBRegressor(n_estimators=30, n_jobs=1),
    ):
        model = RobustRegressor(inner, cv=3).fit(X, y)
        assert error("", model.predict) < 1.15 * error(
            "", clone(inner).fit(X[~bad], y[~bad]).predict
        )
