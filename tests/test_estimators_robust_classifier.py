"""Any classifier made robust: wrong labels are found, right ones are left alone."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from joblib import parallel_config
from sklearn.datasets import load_iris, make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator

from kmpe import RobustClassifier, RobustRegressor
from kmpe.estimators.robust.labels import LabelRound, believed, calibrated, trimming

INNER = [
    LogisticRegression(max_iter=1000),
    DecisionTreeClassifier(max_depth=4, random_state=0),
    KNeighborsClassifier(3),
]


def checks():
    for inner in INNER:
        robust = RobustClassifier(inner, cv=3, max_rounds=2)
        for estimator, check in estimator_checks_generator(robust):
            name = getattr(check, "func", check).__name__
            # Needs a switch set before scipy is imported.
            if name != "check_array_api_input":
                yield pytest.param(estimator, check, id=f"{type(inner).__name__}, {name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def blobs(seed, flipped, n=400, classes=3):
    """Return rows of well separated classes, labels some of which are wrong, and which."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    X = np.column_stack([np.cos(2 * np.pi * y / classes), np.sin(2 * np.pi * y / classes)])
    X = np.column_stack([3 * X + rng.normal(size=(n, 2)), rng.normal(size=(n, 3))])
    wrong = rng.random(n) < flipped
    return X, np.where(wrong, (y + rng.integers(1, classes, n)) % classes, y), y


@pytest.mark.parametrize("inner", [*INNER, GaussianNB()], ids=lambda inner: type(inner).__name__)
@pytest.mark.parametrize("flipped", [0.2, 0.4])
def test_at_least_half_of_what_flipped_labels_cost_comes_back(inner, flipped):
    X, y, true = blobs(0, flipped)
    X_new, _, y_new = blobs(100, 0.0, n=2000)
    scores = [
        sklearn.clone(model).fit(X, labels).score(X_new, y_new)
        for model, labels in ((inner, true), (inner, y), (RobustClassifier(inner), y))
    ]
    best, plain, robust = scores
    assert robust >= plain + 0.5 * (best - plain) - 0.005


def test_a_forest_finds_the_wrong_labels():
    X, y, true = blobs(1, 0.3)
    model = RobustClassifier(RandomForestClassifier(10, random_state=0)).fit(X, y)
    wrong = y != true
    assert model.outliers_[wrong].mean() > 0.85
    assert model.outliers_[~wrong].mean() < 0.1
    assert model.noise_ == pytest.approx(0.3, abs=0.07)
    assert np.all(model.outlier_scores_[model.outliers_] > 0) or model.history_[-1]["believed"]
    assert model.loss_ == "trimming"


@pytest.mark.parametrize("inner", [INNER[0], INNER[2]], ids=lambda inner: type(inner).__name__)
def test_right_labels_keep_their_weight(inner):
    X, y = load_iris(return_X_y=True)
    model = RobustClassifier(inner).fit(X, y)
    np.testing.assert_array_equal(model.weights_, 1.0)
    np.testing.assert_array_equal(model.predict(X), sklearn.clone(inner).fit(X, y).predict(X))
    assert model.loss_ == "none"


def test_a_rare_class_is_not_trimmed_away():
    X, y = make_classification(
        600, 8, n_informative=4, weights=[0.93], flip_y=0, class_sep=0.8, random_state=0
    )
    model = RobustClassifier(LogisticRegression()).fit(X, y)
    assert model.weights_[y == 1].mean() > 0.5


def test_labels_may_be_words_and_inputs_a_frame():
    X, y, _ = blobs(0, 0.2)
    words = np.array(["red", "green", "blue"])[y]
    frame = pd.DataFrame(X, columns=list("abcde"))
    inner = make_pipeline(StandardScaler(), LogisticRegression())
    model = RobustClassifier(inner).fit(frame, words)
    assert list(model.classes_) == ["blue", "green", "red"]
    assert set(model.predict(frame)) == {"red", "green", "blue"}
    codes = RobustClassifier(inner).fit(frame, y)
    assert model.outliers_.mean() == pytest.approx(codes.outliers_.mean(), abs=0.02)


def test_methods_are_those_of_the_classifier_inside():
    X, y, _ = blobs(0, 0.2)
    model = RobustClassifier(RidgeClassifier()).fit(X, y)
    assert not hasattr(model, "predict_proba")
    np.testing.assert_array_equal(model.decision_function(X), model.estimator_.decision_function(X))
    model = RobustClassifier(GaussianNB()).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert not hasattr(model, "decision_function")


def test_order_jobs_and_repeats_change_nothing():
    X, y, _ = blobs(2, 0.2, n=150)
    model = RobustClassifier(LogisticRegression()).fit(X, y)
    order = np.random.default_rng(0).permutation(150)
    moved = RobustClassifier(LogisticRegression()).fit(X[order], y[order])
    np.testing.assert_array_equal(moved.weights_, model.weights_[order])
    with parallel_config(backend="threading"):
        two = RobustClassifier(LogisticRegression(), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.weights_, model.weights_)
    counts = np.random.default_rng(0).integers(0, 3, 150)
    once = RobustClassifier(LogisticRegression()).fit(X, y, sample_weight=counts)
    repeated = RobustClassifier(LogisticRegression()).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    np.testing.assert_array_equal(np.repeat(once.weights_, counts), repeated.weights_)


def test_options_progress_and_bad_input(capsys):
    X, y, _ = blobs(0, 0.2, n=100)
    model = RobustClassifier(GaussianNB(), cv=StratifiedKFold(4), verbose=1).fit(X, y)
    out = capsys.readouterr().out
    assert out.startswith("RobustClassifier, round 1: surprise ")
    assert len(model.history_) == out.count("round")
    with pytest.raises(ValueError, match="y has one class only"):
        model.fit(X, np.zeros(100))
    assert len(model.classes_) == 3  # as it was
    with pytest.raises(ValueError, match="max_rounds=0 must be"):
        RobustClassifier(GaussianNB(), max_rounds=0).fit(X, y)


def test_many_fits_to_a_third_of_the_rows_judge_labels_better_than_one_fit_to_most():
    """A tree without limits follows every label: with a fifth flipped it needs the committee."""
    X, y = make_classification(800, 12, n_informative=5, flip_y=0, class_sep=1.5, random_state=11)
    X, X_new, y, y_new = X[:400], X[400:], y[:400], y[400:]
    wrong = np.random.default_rng(11).random(400) < 0.2
    labels = np.where(wrong, 1 - y, y)
    inner = DecisionTreeClassifier(random_state=0)
    model = RobustClassifier(inner).fit(X, labels)
    best, plain = (sklearn.clone(inner).fit(X, given).score(X_new, y_new) for given in (y, labels))
    assert model.score(X_new, y_new) >= plain + 0.5 * (best - plain)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    alone = cross_val_predict(inner, X, labels, cv=folds)
    assert np.mean(model.outliers_ == wrong) > np.mean((alone != labels) == wrong) + 0.05


def rounds_of(*means, evident=False):
    rng = np.random.default_rng(0)
    w, P = np.ones(200), np.full((200, 2), 0.5)
    plain, *others = [mean + 0.1 * rng.normal(size=200) for mean in means]
    first = LabelRound(w, w, P, plain, 0.2)
    return [first, *(LabelRound(w, w, P, surprise, 0.2, evident) for surprise in others)]


def test_rows_are_left_out_on_one_of_two_grounds():
    """Labels that are more likely without them, or wrong labels that the judge is sure of."""
    a = np.ones(200)
    better, worse = rounds_of(0.7, 0.5, 0.6), rounds_of(0.7, 0.9)
    assert believed(better, a) is better[-1]
    assert believed(worse, a) is worse[0]
    assert believed(worse[:1], a) is worse[0]
    evident = rounds_of(0.7, 0.9, evident=True)
    assert believed(evident, a) is evident[-1]


def test_a_judge_who_gets_worse_is_not_followed():
    """Without the rows left out it finds labels less likely: a second round would be worse."""
    rng = np.random.default_rng(0)
    true = rng.integers(0, 2, 300)
    codes = np.where(rng.random(300) < 0.2, 1 - true, true)

    def judge(first, then):
        """Return one who is wrong in these shares of the rows: of all rows, and of those left."""

        def probabilities(w):
            p = np.where(rng.random(300) < (then if np.any(w == 0) else first), 1 - true, true)
            return np.abs(np.column_stack([p, 1 - p]) - 0.95)

        return probabilities

    def rounds(first, then):
        return list(trimming(codes, np.ones(300), folds, judge(0.2, 0.2), judge(first, then), 2))

    folds = np.arange(300) % 5
    assert len(rounds(0.1, 0.0)) == 3
    _, once = rounds(0.0, 0.2)
    np.testing.assert_array_equal(once.weights, codes == true)


@pytest.mark.parametrize("power", [0.3, 1.0, 3.0])
def test_the_share_of_wrong_labels_does_not_depend_on_how_sure_the_judge_is(power):
    rng = np.random.default_rng(1)
    p = rng.beta(0.3, 0.3, size=2000)
    true = (rng.random(2000) < p).astype(int)
    P = np.column_stack([1 - p, p]) ** power
    P /= P.sum(axis=1, keepdims=True)
    wrong = np.where(rng.random(2000) < 0.2, 1 - true, true)
    assert calibrated(P, true, np.ones(2000))[1] < 0.01
    assert calibrated(P, wrong, np.ones(2000))[1] == pytest.approx(0.2, abs=0.04)


def test_learners_of_the_other_kind_and_no_learners_are_refused_in_words():
    X, y, _ = blobs(0, 0.0, n=40)
    with pytest.raises(ValueError, match=r"Ridge\(\) is a regressor; use RobustRegressor"):
        RobustClassifier(Ridge()).fit(X, y)
    with pytest.raises(ValueError, match=r"is a classifier; use RobustClassifier"):
        RobustRegressor(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"estimator=3 is no learner; give an object with fit"):
        RobustRegressor(3).fit(X, y)
    with pytest.raises(ValueError, match=r"is no learner; give GaussianNB\(\)"):
        RobustClassifier(GaussianNB).fit(X, y)
