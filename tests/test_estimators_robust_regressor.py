"""Any regressor made robust: what is spoilt is found, what is clean is left alone."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from scipy import sparse, stats
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.datasets import make_friedman1
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold, RepeatedKFold
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import estimator_checks_generator

from kmpe import KMPE, Huber, RobustRegressor, Squared
from kmpe.estimators.robust.learner import content_folds, weight_key
from kmpe.estimators.robust.rounds import bounded, descent

INNER = [Ridge(), DecisionTreeRegressor(max_depth=5, random_state=0), KNeighborsRegressor(2)]


def checks():
    for inner in INNER:
        robust = RobustRegressor(inner, cv=3, max_rounds=2)
        for estimator, check in estimator_checks_generator(robust):
            name = getattr(check, "func", check).__name__
            # Needs a switch set before scipy is imported.
            if name != "check_array_api_input":
                yield pytest.param(estimator, check, id=f"{type(inner).__name__}, {name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def plane(seed, n=200, d=3, spoilt=0.2, up=30.0):
    """Return rows on a plane with Gaussian noise, some of them far above it, and which ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    bad = np.arange(n) < round(spoilt * n)
    y = X @ np.arange(1.0, d + 1) + rng.normal(size=n)
    return X, y + up * bad, bad


def friedman(seed, n=400, spoilt=0.0, kind="wide"):
    X, y = make_friedman1(n, noise=1.0, random_state=seed)
    bad = np.arange(n) < round(spoilt * n)
    moves = 10 * np.random.default_rng(seed).normal(size=n) if kind == "wide" else 8.0
    return X, y + np.where(bad, moves, 0.0) * y.std(), bad


def error(model, seed=1000):
    X, y = make_friedman1(2000, noise=0.0, random_state=seed)
    return np.sqrt(np.mean((model.predict(X) - y) ** 2))


# -- what it is for --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("inner", "least"),
    [
        (HistGradientBoostingRegressor(max_iter=20, random_state=0), 2),
        (RandomForestRegressor(10, random_state=0, min_samples_leaf=2), 2),
        (LinearRegression(), 1.5),
    ],
    ids=["HistGradientBoosting", "forest", "linear"],
)
@pytest.mark.parametrize(("spoilt", "kind"), [(0.2, "wide"), (0.3, "up")])
def test_spoilt_targets_cost_little(inner, least, spoilt, kind):
    X, y, bad = friedman(3, n=300, spoilt=spoilt, kind=kind)
    model = RobustRegressor(inner, cv=3).fit(X, y)
    without = sklearn.clone(inner).fit(X[~bad], y[~bad])
    plain = sklearn.clone(inner).fit(X, y)
    assert error(model) < 1.15 * error(without)
    assert error(plain) > least * error(without)
    assert np.mean(model.weights_[~bad]) > 0.8


@pytest.mark.parametrize("inner", INNER, ids=lambda inner: type(inner).__name__)
def test_clean_rows_keep_their_weight(inner):
    X, y, _ = plane(5, n=300, spoilt=0)
    model = RobustRegressor(inner).fit(X, y)
    np.testing.assert_array_equal(model.weights_, 1.0)
    np.testing.assert_allclose(model.predict(X), sklearn.clone(inner).fit(X, y).predict(X))
    assert model.loss_ == Squared()
    assert not model.outliers_.any()
    assert [this["believed"] for this in model.history_].index(True) == 0


def test_targets_with_a_long_tail_are_not_outliers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.exp(2 * X[:, 0] + 0.1 * rng.normal(size=400))
    model = RobustRegressor(DecisionTreeRegressor(min_samples_leaf=3, random_state=0)).fit(X, y)
    assert model.weights_[np.argsort(y)[-20:]].mean() > 0.9


def many_zeros(rng, n):
    """Return rows of which two thirds have the target 0, as of claims or purchases."""
    X = rng.normal(size=(n, 3))
    amount = np.exp(0.5 * X[:, 2] + 0.5 * rng.normal(size=n))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0.6, amount, 0.0)


def skewed(rng, n):
    """Return counts whose spread grows with their mean, as of visits to a doctor."""
    X = rng.normal(size=(n, 3))
    return X, rng.poisson(3 * np.exp(0.3 * X[:, 0]) * rng.gamma(0.7, size=n)).astype(float)


@pytest.mark.parametrize(
    "inner",
    [Ridge(), DecisionTreeRegressor(min_samples_leaf=20, random_state=0)],
    ids=["ridge", "tree"],
)
@pytest.mark.parametrize("draw", [many_zeros, skewed])
def test_zeros_and_skewed_targets_are_not_outliers_of_each_other(draw, inner):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = draw(rng, 400)
        model = RobustRegressor(inner).fit(X, y)
        assert model.weights_.mean() > 0.85
        bad = rng.permutation(400) < 120
        model.fit(X, y + np.where(bad, 8 * y.std(), 0.0))
        assert model.weights_[bad].mean() < 0.05
        assert model.weights_[~bad].mean() > 0.8


def test_rows_of_a_rare_group_are_not_outliers():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=400), rng.random(400) < 0.05])
    y = X[:, 0] + 40 * X[:, 1] + 0.3 * rng.normal(size=400)
    model = RobustRegressor(DecisionTreeRegressor(max_depth=5, random_state=0)).fit(X, y)
    assert model.weights_[X[:, 1] == 1].mean() > 0.9


def test_what_is_known_of_the_rows():
    X, y, bad = plane(0)
    model = RobustRegressor(LinearRegression()).fit(X, y)
    np.testing.assert_array_equal(model.outliers_, bad)
    np.testing.assert_array_equal(model.outliers_, model.weights_ == 0)
    assert model.outlier_scores_[bad].min() > 5 * np.median(model.outlier_scores_)
    assert model.scale_ == pytest.approx(np.median(np.abs(model.residuals_)) / 0.6745, rel=0.02)
    assert model.loss_.scale > 0
    assert "outliers" in model.noise_ or "Student" in model.noise_
    surprises = [this["surprise"] for this in model.history_]
    assert surprises[0] > min(surprises)


def steps(rng, n):
    X = rng.uniform(size=(n, 3))
    return X, np.floor(6 * X[:, 0]) + 2 * (X[:, 1] > 0.5) * X[:, 2] + 0.2 * rng.normal(size=n)


def waves(rng, n):
    X = rng.uniform(-1, 1, size=(n, 3))
    noise = (0.05 + 0.6 * np.abs(X[:, 2])) * rng.normal(size=n)
    return X, np.sin(4 * X[:, 0]) + X[:, 1] + noise


@pytest.mark.parametrize(
    ("draw", "inner"),
    [
        # Deep trees have a leaf for a row of any weight: no round was better, so all rows stayed.
        (steps, ExtraTreesRegressor(20, random_state=0)),
        # Some rounds follow groups of spoilt rows, and are nearly as good as others.
        (steps, GradientBoostingRegressor(n_estimators=50, random_state=0)),
        # All predictions move up alike: errors were as if the noise had two modes.
        (waves, Ridge()),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_spoilt_targets_on_one_side_are_found_by_any_learner(draw, inner):
    rng = np.random.default_rng(0)
    X, y = draw(rng, 400)
    X_new, y_new = draw(rng, 2000)
    bad = rng.permutation(400) < 120
    clean = clone(inner).fit(X[~bad], y[~bad])
    y[bad] += 8 * y.std()
    model = RobustRegressor(inner).fit(X, y)
    assert model.weights_[bad].mean() < 0.01
    errors = [np.sqrt(np.mean((fit.predict(X_new) - y_new) ** 2)) for fit in (model, clean)]
    assert errors[0] < 1.1 * errors[1]


def test_a_path_does_not_end_at_a_round_that_is_worse_by_chance():
    rng = np.random.default_rng(0)
    levels = (np.arange(300) + 0.5) / 300
    gaussian, heavy = stats.norm.ppf(levels), stats.t(9).ppf(levels)
    # The second has a smaller scale and a heavier tail, and is a little less likely.
    rounds = iter([50 * gaussian, 40 * gaussian, 36.5 * heavy, 20 * gaussian, *[gaussian] * 30])
    T = 1e4 * gaussian[:, None]
    found = list(descent(T, np.ones(300), lambda _: rng.permutation(next(rounds))[:, None], 10))
    surprises = [this.surprise.mean() for this in found]
    assert surprises[2] > surprises[1]
    sigmas = [this.loss.scale for this in found[1:]]
    # The second path begins at the spread of the targets.
    first = next(k for k in range(1, len(sigmas)) if sigmas[k] > sigmas[k - 1])
    assert min(surprises[: first + 1]) < surprises[1] - 3


def test_rows_that_are_hard_to_predict_are_told_from_spoilt_ones():
    """A corner has twenty times the noise: its rows keep their weight, spoilt rows do not."""
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(600, 2))
    hard = X[:, 0] > 0.85
    bad = rng.random(600) < 0.1
    y = 10 * X[:, 1] + np.where(hard, 4.0, 0.2) * rng.normal(size=600) + np.where(bad, 40.0, 0.0)
    inner = DecisionTreeRegressor(min_samples_leaf=10, random_state=0)
    model = RobustRegressor(inner).fit(X, y)
    assert model.weights_[hard & ~bad].mean() > 0.9
    assert model.outliers_[bad].all()
    # Boosting, which follows the noise of the corner, tells them apart as well.
    boosted = RobustRegressor(HistGradientBoostingRegressor(random_state=0)).fit(X, y)
    assert boosted.weights_[hard & ~bad].mean() > 0.9
    assert boosted.weights_[bad].mean() < 0.02
    # Without the local spread a good row of the corner is as far out as a spoilt one elsewhere.
    z = np.abs(model.residuals_) / model.scale_
    assert np.mean(z[hard & ~bad] > 5) > 0.2


@pytest.mark.parametrize("noise", [0.0, 1e-14, 1e-6])
def test_rows_on_a_plane_are_told_from_others_however_small_the_noise(noise):
    X, y, bad = plane(0)
    y += noise * np.random.default_rng(1).normal(size=200) - (y - 30.0 * bad - X @ [1.0, 2.0, 3.0])
    model = RobustRegressor(LinearRegression()).fit(X, y)
    np.testing.assert_array_equal(model.outliers_, bad)
    np.testing.assert_allclose(model.estimator_.coef_, [1, 2, 3], atol=1e-5)


def test_the_spread_is_learnt_in_the_range_of_the_targets():
    """Shares need a logit, which refuses anything else."""
    X, y, _ = plane(0)
    logit, expit = (lambda p: np.log(p / (1 - p))), (lambda x: 1 / (1 + np.exp(-x)))
    bad = np.arange(200) < 20
    shares = np.where(bad, 0.999, expit((y - 30.0 * (np.arange(200) < 40)) / 4))
    inner = TransformedTargetRegressor(LinearRegression(), func=logit, inverse_func=expit)
    model = RobustRegressor(inner).fit(X, shares)
    assert np.isfinite(model.predict(X)).all()
    assert not model.loss_.quadratic
    lines = RobustRegressor(LinearRegression()).fit(X, np.column_stack([y, np.full(200, 7.0)]))
    assert lines.outliers_.sum() == 40


def test_intervals_cover_new_rows_and_outliers_do_not_widen_them():
    covered, widths = [], []
    for seed in range(8):
        X, y, _ = plane(seed, n=150)
        X_new, y_new, _ = plane(100 + seed, n=400, spoilt=0)
        predicted, low, high = RobustRegressor(LinearRegression()).fit(X, y).predict(X_new, 0.9)
        np.testing.assert_allclose(predicted, (low + high) / 2)
        covered.append(np.mean((low <= y_new) & (y_new <= high)))
        widths.append(np.mean(high - low))
    assert 0.86 < np.mean(covered) < 0.95
    assert np.mean(widths) < 1.3 * 2 * 1.645


# -- how weights get there -------------------------------------------------------------------


def test_a_learner_without_weights_is_trimmed():
    X, y, bad = plane(0, d=1)
    model = RobustRegressor(KNeighborsRegressor()).fit(X, y)
    assert set(np.unique(model.weights_)) == {0.0, 1.0}
    kept = model.weights_ == 1
    alone = KNeighborsRegressor().fit(X[kept], y[kept])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert not kept[bad].any()
    with pytest.raises(ValueError, match=r"KNeighborsRegressor.fit takes no sample_weight"):
        model.fit(X, y, sample_weight=np.linspace(1, 2, len(y)) ** np.pi)


@pytest.mark.parametrize(
    ("inner", "key"),
    [
        (Ridge(), "sample_weight"),
        (KNeighborsRegressor(), None),
        (make_pipeline(StandardScaler(), Ridge()), "ridge__sample_weight"),
        (make_pipeline(StandardScaler(), KNeighborsRegressor()), None),
        (make_pipeline(make_pipeline(Ridge())), "pipeline__ridge__sample_weight"),
        (GridSearchCV(Ridge(), {"alpha": [1.0]}), "sample_weight"),
        (TransformedTargetRegressor(Ridge()), "sample_weight"),
    ],
)
def test_the_name_by_which_a_learner_takes_weights(inner, key):
    assert weight_key(inner) == key


def test_weights_reach_the_last_step_of_a_pipeline():
    X, y, bad = plane(0)
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "x", "y"))
    inner = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["kind"]), remainder=StandardScaler()), Ridge()
    )
    model = RobustRegressor(inner).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c", "kind"]
    np.testing.assert_array_equal(model.outliers_, bad)


def test_metadata_routing_takes_the_weights_where_they_are_asked_for():
    X, y, bad = plane(0)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        asks = make_pipeline(scaler, Ridge().set_fit_request(sample_weight=True))
        silent = make_pipeline(scaler, Ridge().set_fit_request(sample_weight=False))
        assert weight_key(asks) == "sample_weight"
        assert weight_key(silent) is None
        model = RobustRegressor(asks).fit(X, y, sample_weight=np.ones(len(y)))
        soft, trimmed = (RobustRegressor(inner, Huber()).fit(X, y) for inner in (asks, silent))
    np.testing.assert_array_equal(model.outliers_, bad)
    assert len(np.unique(soft.weights_)) > 2
    assert set(np.unique(trimmed.weights_)) == {0.0, 1.0}


def test_whole_weights_are_repeats_and_their_unit_does_not_matter():
    X, y, _ = plane(2, n=100)
    counts = np.random.default_rng(0).integers(0, 3, 100)
    once = RobustRegressor(Ridge()).fit(X, y, sample_weight=counts)
    repeated = RobustRegressor(Ridge()).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(np.repeat(once.weights_, counts), repeated.weights_, atol=1e-9)
    np.testing.assert_allclose(once.predict(X), repeated.predict(X), rtol=1e-9)
    alone = RobustRegressor(LinearRegression())
    one, other = (alone.fit(X, y, counts * unit).predict(X) for unit in (1.0, 7.0))
    np.testing.assert_allclose(one, other, rtol=1e-9)


def test_order_of_rows_and_number_of_jobs_change_nothing():
    X, y, _ = plane(1, n=120)
    order = np.random.default_rng(0).permutation(120)
    model = RobustRegressor(Ridge()).fit(X, y)
    np.testing.assert_allclose(
        RobustRegressor(Ridge()).fit(X[order], y[order]).weights_, model.weights_[order], atol=1e-9
    )
    with parallel_config(backend="threading"):
        two = RobustRegressor(Ridge(), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.weights_, model.weights_)


@pytest.mark.parametrize("shift", [-1e6, 0.0, 1e3])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_unit_and_origin_of_the_targets_do_not_matter(unit, shift):
    X, y, _ = plane(1, n=100)
    model = RobustRegressor(LinearRegression()).fit(X, unit * (y + shift))
    expected = RobustRegressor(LinearRegression()).fit(X, y)
    np.testing.assert_allclose(model.weights_, expected.weights_, atol=1e-4)


# -- options ---------------------------------------------------------------------------------


def test_a_given_loss_weighs_the_errors():
    X, y, bad = plane(0)
    for loss in (KMPE(), KMPE(p=4.0), Huber(), Huber(sigma=2.0)):
        model = RobustRegressor(LinearRegression(), loss).fit(X, y)
        assert type(model.loss_) is type(loss)
        expected = bounded(model.loss_, model.residuals_[:, None], np.ones(len(y)))
        np.testing.assert_allclose(model.weights_, expected)
        assert model.weights_[~bad].mean() > 3 * model.weights_[bad].mean()
    model.set_params(loss__sigma=3.0)
    assert model.loss.sigma == 3.0


def test_folds_are_strata_of_the_targets_with_equal_rows_together():
    X, y, _ = plane(0, n=100)
    X, y = np.vstack([X, X]), np.concatenate([y, y])
    folds = content_folds(X, y[:, None], np.ones(200), 5, 0)
    np.testing.assert_array_equal(folds[:100], folds[100:])
    np.testing.assert_array_equal(np.bincount(folds), 40)
    low = np.argsort(y)[:10]
    assert len(np.unique(folds[low])) == 5


def test_several_targets_sparse_inputs_and_a_splitter():
    X, y, bad = plane(0)
    Y = np.column_stack([y, -10 * y])
    model = RobustRegressor(LinearRegression(), cv=KFold(4)).fit(sparse.csr_array(X), Y)
    np.testing.assert_array_equal(model.outliers_, bad)
    predicted, low, high = model.predict(sparse.csr_array(X), return_interval=0.8)
    assert predicted.shape == low.shape == high.shape == (200, 2)


def test_progress_is_printed_on_demand(capsys):
    X, y, _ = plane(0, n=60)
    RobustRegressor(Ridge(), verbose=1).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("RobustRegressor, round 1: Squared(), surprise ")
    assert "Tukey(sigma=" in lines[1]


def test_bad_options_are_named_with_advice():
    X, y, _ = plane(0, n=40)
    with pytest.raises(ValueError, match='loss=3 must be "adaptive" or a loss'):
        RobustRegressor(Ridge(), 3).fit(X, y)
    with pytest.raises(ValueError, match="max_rounds=0 must be a whole number"):
        RobustRegressor(Ridge(), max_rounds=0).fit(X, y)
    with pytest.raises(ValueError, match="cv=1 must be at least 2"):
        RobustRegressor(Ridge(), cv=1).fit(X, y)
    with pytest.raises(ValueError, match="cv must test every row once"):
        RobustRegressor(Ridge(), cv=RepeatedKFold(n_splits=2, n_repeats=2)).fit(X, y)
    model = RobustRegressor(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match="gives every row weight 0"):
        model.set_params(loss=KMPE(sigma=1e-9)).fit(X, y)
    assert len(model.weights_) == 40  # as it was
