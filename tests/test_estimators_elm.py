"""The two machines: scikit-learn's contract, the paper's settings, bad input."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris, load_linnerud, make_classification
from sklearn.ensemble import AdaBoostClassifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from kmpe import KMPE, MPE, Correntropy, ELMClassifier, ELMRegressor, Huber, Squared
from kmpe.datasets import make_sinc
from kmpe.estimators.inputs import RobustnessWarning
from kmpe.rows.hidden_layer import ACTIVATIONS

BOTH = pytest.mark.parametrize("machine", [ELMRegressor, ELMClassifier])


def checks():
    for machine in (ELMRegressor(), ELMClassifier()):
        for estimator, check in estimator_checks_generator(machine):
            name = getattr(check, "func", check).__name__
            # A switch must be set before scipy is imported: tests/integrations/test_devices.py
            if not name.startswith("check_array_api"):
                yield pytest.param(estimator, check, id=f"{type(machine).__name__}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_scikit_learn_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # max_iter=2 is part of some checks
        check(estimator)


def sinc(n=150, seed=0):
    return make_sinc(n, random_state=seed)


def iris():
    return load_iris(return_X_y=True)


# -- what it computes ------------------------------------------------------------------------


def test_squared_is_ridge_on_the_hidden_features():
    X, y = sinc()
    ours = ELMRegressor(
        Squared(), n_hidden=30, activation="sigmoid", alpha=1e-3, random_state=0
    ).fit(X, y)
    theirs = Ridge(alpha=1e-3, fit_intercept=False).fit(ours.transform_hidden(X), y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(ours.transform_hidden(X)), 1e-8)


@pytest.mark.parametrize("n_hidden", [10, 300])
def test_no_penalty_is_the_pseudo_inverse(n_hidden):
    rng = np.random.default_rng(0)
    X, y = 3 * rng.normal(size=(40, 6)), rng.normal(size=40)
    ours = ELMRegressor(Squared(), n_hidden=n_hidden, activation="sigmoid", alpha=0, random_state=0)
    H = ours.fit(X, y).transform_hidden(X)
    expected = np.linalg.pinv(H) @ y
    np.testing.assert_allclose(ours.coef_, expected, atol=1e-10 * np.abs(expected).max())


@pytest.mark.parametrize("activation", [*ACTIVATIONS, np.arctan])
def test_every_activation_learns_and_sparse_inputs_are_the_same(activation):
    X, y = iris()
    X = (X - X.mean(axis=0)) * (np.abs(X - X.mean(axis=0)) > 0.3)
    model = ELMClassifier(activation=activation, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.8
    np.testing.assert_allclose(model.transform_hidden(X), model.hidden_layer_(X), atol=1e-12)
    same = clone(model).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(same._output(sparse.csr_array(X)), model._output(X), atol=1e-6)


def test_several_targets_share_one_weight_per_row():
    X, Y = load_linnerud(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = ELMRegressor(Correntropy(20.0), n_hidden=5, random_state=0).fit(X, Y)
    assert model.coef_.shape == (3, 5)
    assert model.predict(X).shape == Y.shape
    s = ((Y - model.predict(X)) ** 2).sum(axis=1)
    np.testing.assert_allclose(model.weights_, np.exp(-s / 800), rtol=1e-5)


@pytest.mark.parametrize("loss", [Squared(), Huber(0.5), KMPE(4, 1.5), MPE(1.5)], ids=repr)
@settings(max_examples=10)
@given(seed=st.integers(0, 999))
def test_a_weight_of_k_is_k_equal_rows(loss, seed):
    rng = np.random.default_rng(seed)
    X, y = sinc(60, seed)
    counts = rng.integers(0, 4, 60)
    model = ELMRegressor(loss, n_hidden=15, alpha=1e-2, max_iter=3000, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=counts)
    repeated = clone(model).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.predict(X), repeated.predict(X), rtol=1e-8, atol=1e-8)


def test_running_out_of_iterations_warns_with_advice():
    X, y = sinc()
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        ELMRegressor(KMPE(4, 0.8), max_iter=1, random_state=0).fit(X, y)


@pytest.mark.parametrize("seed", range(6))
def test_peaked_noise_does_not_run_out_of_iterations(seed):
    """A fit to Laplace noise ends among residuals near 0, towards which reweighting is slow."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.laplace(size=200)
    model = ELMRegressor(random_state=seed).fit(X, y)  # a warning is an error here
    assert "Converged" in model.status_


def test_fitted_attributes_tell_what_happened():
    X, y = sinc()
    model = ELMRegressor(KMPE(4, "mad"), random_state=0).fit(X, y)
    assert model.loss == KMPE(4, "mad")
    assert isinstance(model.loss_.sigma, float)
    assert model.weights_.shape == y.shape
    assert len(model.history_) == model.n_iter_ + 1
    assert model.status_.startswith("Converged")


def test_algorithm_1_as_printed_is_there():
    X, y = sinc()
    layer = {"n_hidden": 100, "activation": "sigmoid"}
    model = ELMRegressor(
        KMPE(3, 3.0), **layer, alpha=1e-4, init="zero", tol=1e-9, random_state=0
    ).fit(X, y)
    safe = clone(model).set_params(init="robust").fit(X, y)
    start = 0.5 * model.loss_.rho(y**2).sum()  # β = 0
    assert model.history_[0] == pytest.approx(start)
    np.testing.assert_allclose(model.predict(X), safe.predict(X), atol=0.05)


# -- the paper's settings --------------------------------------------------------------------

SINC = {  # Table 1: loss, number of hidden nodes, penalty
    "uniform": {
        "ELM": (Squared(), 20, 0),
        "RELM": (Squared(), 90, 5e-5),
        "ELM-RCC": (Correntropy(1.5), 90, 1e-6),
        "ELM-KMPE": (KMPE(4, 0.8), 90, 2e-6),
    },
    "sine": {
        "ELM": (Squared(), 10, 0),
        "RELM": (Squared(), 40, 5e-5),
        "ELM-RCC": (Correntropy(2.0), 25, 5e-6),
        "ELM-KMPE": (KMPE(3.4, 1.2), 25, 2.5e-6),
    },
}


@pytest.mark.parametrize("noise", SINC)
def test_sinc_in_the_order_of_the_paper(noise):
    means = {}
    for name, (loss, n_hidden, alpha) in SINC[noise].items():
        errors = []
        for seed in range(30):
            X, y = make_sinc(noise=noise, random_state=seed)
            X_test, y_test = make_sinc(noise=None, random_state=1000 + seed)
            model = ELMRegressor(
                loss, n_hidden=n_hidden, activation="sigmoid", alpha=alpha, random_state=seed
            )
            errors.append(root_mean_squared_error(y_test, model.fit(X, y).predict(X_test)))
        means[name] = np.mean(errors)
    assert means["ELM"] > means["RELM"] > means["ELM-RCC"] >= means["ELM-KMPE"]
    assert means["ELM-KMPE"] < 0.2


def test_a_penalty_beside_the_adaptive_loss_does_not_depend_on_the_choice():
    errors = []
    for seed in range(5):
        X, y = make_sinc(noise="sine", random_state=seed)
        X_test, y_test = make_sinc(noise=None, random_state=1000 + seed)
        model = ELMRegressor(n_hidden=25, activation="sigmoid", alpha=2.5e-6, random_state=seed)
        model.fit(X, y)
        errors.append(root_mean_squared_error(y_test, model.predict(X_test)))
    assert np.mean(errors) < 0.25


def test_a_steep_function_of_few_rows_does_not_fit_the_outliers():
    errors = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(600, 3))
        y = np.exp(X[:, 0]) + 0.3 * np.sin(X[:, 1])
        spoilt = y[:150] + y.std() * np.where(rng.random(150) < 0.2, rng.normal(0, 10, 150), 0)
        model = ELMRegressor(random_state=0).fit(X[:150], spoilt)
        errors.append(root_mean_squared_error(y[150:], model.predict(X[150:])) / y.std())
    assert max(errors) < 1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("spoil", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_function_that_needs_many_hidden_nodes_gets_more_than_100(spoil, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 3))
    y = np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] ** 2
    noisy = y + 0.1 * rng.normal(size=900) + spoil * np.where(rng.random(900) < 0.2, 20, 0)
    errors = {}
    for n_hidden in (100, "auto"):
        model = ELMRegressor(n_hidden=n_hidden, activation="sigmoid", random_state=0)
        model.fit(X[:400], noisy[:400])
        errors[n_hidden] = root_mean_squared_error(y[400:], model.predict(X[400:]))
    assert model.n_hidden_ > 100
    assert model.coef_.shape == (model.n_hidden_,)
    assert errors["auto"] < errors[100]


def test_a_plane_needs_few_hidden_nodes():
    rng = np.random.default_rng(0)
    X = 0.1 * rng.normal(size=(300, 2))
    model = ELMRegressor(activation="sigmoid", random_state=0).fit(X, X @ [1.0, 2.0])
    assert model.n_hidden_ <= 100


@pytest.mark.parametrize("machine", [ELMRegressor(), ELMClassifier(), ELMRegressor(Squared())])
def test_a_chosen_number_of_hidden_nodes_goes_with_everything(machine):
    X, y = iris()
    a = np.arange(150) % 3 > 0
    model = clone(machine).set_params(activation="sigmoid", random_state=0).fit(X, y, a)
    again = clone(model).fit(sparse.csr_array(X), y, a)
    np.testing.assert_allclose(again._output(X), model._output(X), rtol=1e-5, atol=1e-5)
    assert model.transform_hidden(X).shape == (150, model.n_hidden_)
    assert model.score(X, y) > 0.9
    assert clone(model).partial_fit(X, y).n_hidden_ == 100


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_choice_of_hidden_nodes_survives_few_rows_and_no_targets(n):
    X = np.arange(n, dtype=float)[:, None]
    for y in (np.zeros(n), np.ones(n), X[:, 0] ** 2):
        model = ELMRegressor(n_hidden="auto", random_state=0).fit(X, y)
        assert np.isfinite(model.predict(X)).all()


def test_yacht_with_weights_without_bound(paper_data):
    rows = np.loadtxt(paper_data / "yacht.csv", delimiter=",", skiprows=1)
    rows = (rows - rows.min(axis=0)) / np.ptp(rows, axis=0)
    errors = []
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(len(rows))
        train, test = rows[order[:154]], rows[order[154:]]
        model = ELMRegressor(
            KMPE(p=1, sigma=1),
            n_hidden=175,
            activation="sigmoid",
            alpha=1e-7,
            max_iter=20,
            random_state=seed,
        )
        with pytest.warns(ConvergenceWarning):
            model.fit(train[:, :-1], train[:, -1])
        errors.append(root_mean_squared_error(test[:, -1], model.predict(test[:, :-1])))
    assert np.mean(errors) < 0.03  # the paper: 0.0250 ± 0.0147


def test_mislabelled_rows_lose_their_weight():
    X, y = iris()
    wrong = np.arange(0, 150, 15)
    y_wrong = y.copy()
    y_wrong[wrong] = (y[wrong] + 1) % 3
    X = StandardScaler().fit_transform(X)
    model = ELMClassifier(KMPE(2, 0.4), n_hidden=30, alpha=0.1, random_state=0).fit(X, y_wrong)
    assert np.mean(model.weights_[wrong]) < 0.2 * np.mean(np.delete(model.weights_, wrong))
    assert model.score(X, y) > 0.93


def test_the_default_classifier_loses_no_class():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    train = rng.uniform(size=len(y)) < 0.6
    wrong = train & (rng.uniform(size=len(y)) < 0.2)
    y_wrong = np.where(wrong, (y + rng.integers(1, 10, len(y))) % 10, y)
    for labels in (y, y_wrong):
        model = make_pipeline(StandardScaler(), ELMClassifier(random_state=0))
        assert model.fit(X[train], labels[train]).score(X[~train], y[~train]) > 0.88


# -- as a scikit-learn user expects it -------------------------------------------------------


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_data_frames(frame):
    X, y = iris()
    names = ["a", "b", "c", "d"]
    columns = dict(zip(names, X.T, strict=True))
    model = ELMClassifier(random_state=0).fit(frame(columns), y)
    assert list(model.feature_names_in_) == names
    plain = ELMClassifier(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(frame(columns)), plain.predict(X))


@BOTH
def test_float32_in_float32_out(machine):
    X, y = iris()
    model = machine(Squared(), activation="sigmoid", alpha=1e-2, random_state=0)
    single, double = clone(model).fit(X.astype(np.float32), y), clone(model).fit(X, y)
    assert single.coef_.dtype == np.float32
    out = (
        single.predict(X.astype(np.float32))
        if machine is ELMRegressor
        else single.predict_proba(X.astype(np.float32))
    )
    assert out.dtype == np.float32
    reference = double.predict(X) if machine is ELMRegressor else double.predict_proba(X)
    np.testing.assert_allclose(out, reference, atol=0.02)


@BOTH
def test_pickling_and_repeating_give_the_same_model(machine):
    X, y = iris()
    model = machine(random_state=0).fit(X, y)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))
    np.testing.assert_array_equal(clone(model).fit(X, y).coef_, model.coef_)


def test_grid_search_reaches_into_the_loss():
    X, y = sinc()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), ELMRegressor(KMPE(), tol=1e-3, random_state=0)),
        {"elmregressor__loss__sigma": [1.0, 1e3], "elmregressor__loss__p": [2.0, 3.0]},
        cv=3,
    ).fit(X, y)
    best = search.best_params_
    expected = KMPE(best["elmregressor__loss__p"], best["elmregressor__loss__sigma"])
    assert search.best_estimator_[-1].loss == search.best_estimator_[-1].loss_ == expected
    scores = search.cv_results_["mean_test_score"]
    assert len(set(scores.round(6))) == 4  # each setting was really used


@BOTH
def test_a_parameter_of_the_loss_needs_a_loss(machine):
    X, y = iris()
    with pytest.raises(ValueError, match=r"'loss__p' is a parameter of a loss, and loss='adapt"):
        GridSearchCV(machine(), {"loss__p": [1, 2]}).fit(X, y)
    assert machine().set_params(loss=KMPE(), loss__p=3).loss == KMPE(3)


def test_probabilities_lie_on_the_simplex_and_agree_with_the_class():
    X, y = iris()
    for rows in (slice(None), y < 2):
        model = ELMClassifier(n_hidden=8, random_state=0).fit(X[rows], y[rows])
        P = model.predict_proba(X[rows])
        assert P.min() >= 0
        np.testing.assert_allclose(P.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[P.argmax(axis=1)], model.predict(X[rows]))
    scores = np.array([[0.2, 0.3, 0.5], [1.2, -0.1, -0.1], [0.6, 0.6, -1.0]])
    from kmpe.estimators.elm.classifier import _nearest_probabilities

    expected = [[0.2, 0.3, 0.5], [1, 0, 0], [0.5, 0.5, 0]]
    np.testing.assert_allclose(_nearest_probabilities(scores), expected, atol=1e-12)


def test_labels_may_be_words():
    X, y = iris()
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    model = ELMClassifier(random_state=0).fit(X, words)
    assert set(model.predict(X)) == set(words)
    assert model.decision_function(X).shape == (150, 3)


# -- bad input -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"loss": "kmpe"}, r"loss='kmpe' must be .adaptive. or a loss such as kmpe.KMPE"),
        (
            {"activation": "swish"},
            r"activation='swish' must be a callable or one of auto, sigmoid, tanh",
        ),
        ({"init": "random"}, r"init='random' must be one of robust, ridge, zero"),
        ({"n_hidden": 0}, r"n_hidden=0 must be a whole number of at least 1"),
        ({"n_hidden": 2.5}, r"n_hidden=2.5 must be a whole number"),
        ({"n_hidden": "many"}, r"n_hidden='many' must be a whole number of at least 1 or .auto."),
        ({"max_iter": 0}, r"max_iter=0 must be a whole number"),
        ({"alpha": -1}, r"alpha=-1 must be a number 0 or above"),
        ({"alpha": np.nan}, r"alpha=nan must be a number 0 or above"),
        ({"tol": 0}, r"tol=0 must be a number above 0"),
        ({"loss": Correntropy(1e-9), "alpha": 10.0}, r"sigma=1e-09 gives every sample zero weight"),
    ],
)
def test_bad_options_are_named_with_advice(options, sentence):
    X, y = sinc(20)
    with pytest.raises(ValueError, match=sentence):
        ELMRegressor(**options, random_state=0).fit(X, y)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y: (X * np.nan, y), "Input X contains NaN"),
        (lambda X, y: (X / 0.0, y), "Input X contains infinity"),
        (lambda X, y: (X, y * np.nan), "Input y contains NaN"),
        (lambda X, y: (X, y[:-1]), r"inconsistent numbers of samples: \[20, 19\]"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X[:, :0], y), "0 feature"),
        (lambda X, y: (X, y * 1e300), r"y has values as large as .*: rescale y"),
    ],
)
@np.errstate(divide="ignore", invalid="ignore")
def test_bad_data_are_named_with_advice(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        ELMRegressor(random_state=0).fit(*change(*sinc(20)))


def test_one_class_only():
    with pytest.raises(ValueError, match="y has one class only, 'a': a classifier needs two"):
        ELMClassifier().fit([[0.0], [1.0]], ["a", "a"])


def test_a_real_target_is_not_a_class():
    with pytest.raises(ValueError, match="Unknown label type"):
        ELMClassifier().fit([[0.0], [1.0]], [0.5, 0.7])


@pytest.mark.parametrize(
    "as_given", [np.asarray, sparse.csr_array, np.ndarray.tolist, pd.DataFrame]
)
@pytest.mark.parametrize("fit", ["fit", "partial_fit"])
def test_several_labels_for_each_row_are_refused_with_advice(as_given, fit):
    X = np.random.default_rng(0).normal(size=(60, 2))
    Y = (X > 0).astype(int)
    with pytest.raises(ValueError, match=r"y has 2 columns, .*MultiOutputClassifier\(ELM") as told:
        getattr(ELMClassifier(), fit)(X, as_given(Y))
    assert "\n" not in str(told.value)
    assert MultiOutputClassifier(ELMClassifier()).fit(X, Y).score(X, Y) > 0.8


def test_weights_that_are_all_zero():
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        ELMRegressor().fit(*sinc(20), sample_weight=np.zeros(20))


def test_inputs_that_overflow_the_hidden_layer():
    X, y = sinc(20)
    with pytest.raises(ValueError, match=r"the hidden layer has values as large as .*: scale X"):
        ELMRegressor(activation="relu", random_state=0).fit(1e200 * X, y)


def test_prediction_before_the_fit():
    with pytest.raises(NotFittedError):
        ELMRegressor().predict([[0.0]])


@pytest.mark.parametrize("loss", ["adaptive", Squared(), KMPE(4, "silverman"), MPE(1)], ids=repr)
@pytest.mark.parametrize("init", ["robust", "ridge", "zero"])
@pytest.mark.parametrize(
    "rows",
    [
        ([[1.0, 2.0]], [3.0]),
        ([[1.0, 2.0]] * 9, [3.0] * 9),
        ([[1.0, 2.0]] * 9, list(range(9))),
        ([[0.0, k] for k in range(9)], [0.0] * 9),
        ([[1e9, k] for k in range(9)], [1e100 * k for k in range(9)]),
    ],
    ids=["one row", "equal rows", "equal inputs", "constant", "huge"],
)
def test_poor_data_give_a_finite_model(loss, init, rows):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = ELMRegressor(loss, init=init, random_state=0).fit(*rows)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict(rows[0])).all()
    assert np.isfinite(model.weights_).all()


def far_out(z):
    return np.maximum(z - 1e9, 0)


@pytest.mark.parametrize("alpha", ["auto", 0.0, 1e-3])
@pytest.mark.parametrize("n_hidden", [20, "auto"])
@pytest.mark.parametrize("loss", ["adaptive", Correntropy(), KMPE(1.0, 1.0), Squared()], ids=repr)
@pytest.mark.parametrize("machine", [ELMRegressor, ELMClassifier])
def test_hidden_nodes_that_are_all_dead_are_said(machine, loss, n_hidden, alpha):
    X, y = iris()
    model = machine(loss, activation=far_out, n_hidden=n_hidden, alpha=alpha, random_state=0)
    with pytest.warns(RobustnessWarning, match="Every hidden node is 0 on every row"):
        model.fit(X, y)
    assert not model.coef_.any()


@pytest.mark.parametrize("alpha", ["auto", 0.0, 1e-3])
@pytest.mark.parametrize("loss", ["adaptive", Correntropy(), KMPE(1.0), Squared()], ids=repr)
@pytest.mark.parametrize("scale", [1e2, 1e3])
def test_rbf_nodes_far_from_the_rows_give_a_finite_model(scale, loss, alpha):
    X, y = sinc()
    model = ELMRegressor(loss, activation="rbf", alpha=alpha, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", RobustnessWarning)
        model.fit(scale * (X + 1), y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.predict(scale * (X + 1))).all()


@pytest.mark.parametrize("scale", [1e-100, 1e-45, 1e72, 1e149])
@pytest.mark.parametrize("loss", ["adaptive", Correntropy()], ids=repr)
def test_single_precision_inputs_keep_targets_of_any_size(loss, scale):
    X, y = sinc()
    X = X.astype(np.float32)
    one = ELMRegressor(loss, random_state=0).fit(X, y).predict(X)
    other = ELMRegressor(loss, random_state=0).fit(X, scale * y).predict(X)
    np.testing.assert_allclose(other / scale, one, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("loss", ["adaptive", Correntropy("silverman"), Squared()], ids=repr)
@pytest.mark.parametrize("scale", [0.0, 1e-5, 1e-3])
def test_nodes_that_depend_on_each_other_predict_what_was_fitted(scale, loss):
    """Coefficients of 1e15 would fit the rows exactly, and predict something else."""
    rng = np.random.default_rng(0)
    X, y = scale * rng.normal(size=(40, 2)), rng.normal(size=40)
    model = ELMRegressor(loss, n_hidden=100, activation="sigmoid", alpha=0.0, random_state=0)
    model.fit(X, y)
    assert np.abs(model.coef_).max() < 1e8
    scores = np.abs(y - model.predict(X)) / model.scale_
    np.testing.assert_allclose(model.outlier_scores_, scores, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("unit", [1e90, 1e-60])
def test_features_whose_fourth_powers_are_no_numbers_are_fitted(unit):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    model = ELMRegressor(activation=lambda Z: np.maximum(Z, 0) * unit, random_state=0)
    expected = ELMRegressor(activation="relu", random_state=0).fit(X, y).predict(X)
    np.testing.assert_allclose(model.fit(X, y).predict(X), expected, atol=0.05)


@pytest.mark.parametrize("loss", ["adaptive", Huber(), Correntropy("silverman")], ids=repr)
@pytest.mark.parametrize("n", [2, 8, 40])
def test_a_machine_of_minus_y_is_minus_the_machine(n, loss):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=n)
    one, other = (ELMRegressor(loss).fit(X, f * y).predict(X) / f for f in (1.0, -3.7))
    np.testing.assert_allclose(one, other, atol=1e-5 * np.ptp(y))


def test_a_machine_of_mirrored_inputs_is_the_mirrored_machine():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=40)
    one, other = (ELMRegressor().fit(f * X, y).predict(f * X) for f in (1.0, -1.0))
    np.testing.assert_allclose(one, other, atol=1e-9)


@pytest.mark.parametrize("activation", ["auto", "sigmoid"])
@pytest.mark.parametrize("alpha", ["auto", 0.0, 1e-3])
@pytest.mark.parametrize("unit", [2.0**-480, 2.0**480])
def test_a_stream_of_targets_in_any_unit_is_the_same_stream(unit, alpha, activation):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(45, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=45)
    streams = []
    for factor in (1.0, unit):
        stream = ELMRegressor(alpha=alpha, activation=activation, n_hidden=12, random_state=0)
        for some in np.array_split(np.arange(45), 3):
            stream.partial_fit(X[some], factor * y[some])
        streams.append(stream)
    one, other = streams
    np.testing.assert_array_equal(one.predict(X), other.predict(X) / unit)
    assert other.loss_.scale / unit == one.loss_.scale


def test_weights_that_overflow_in_products_with_residuals_are_refused_in_words():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(25, 3)), 1e130 * rng.normal(size=25)
    with pytest.raises(ValueError, match=r"the cost overflows.*rescale"):
        ELMRegressor(MPE(4.0), activation="fourier", random_state=0).fit(X, y)


def test_boosting_the_classifier_does_no_harm():
    """Boosting gives weights that sum to 1, and later ones that differ by orders of magnitude."""
    scores = []
    for seed in range(3):
        X, y = make_classification(
            700, 8, n_informative=4, n_classes=3, class_sep=0.8, random_state=seed
        )
        alone = ELMClassifier().fit(X[:200], y[:200])
        boosted = AdaBoostClassifier(ELMClassifier(), n_estimators=5, random_state=0)
        boosted.fit(X[:200], y[:200])
        assert len(boosted.estimators_) > 1
        np.testing.assert_array_equal(boosted.estimators_[0].predict(X), alone.predict(X))
        scores.append([model.score(X[200:], y[200:]) for model in (alone, boosted)])
    before, after = np.mean(scores, axis=0)
    assert after > before - 0.02
