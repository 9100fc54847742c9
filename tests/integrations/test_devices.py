"""Arrays of other libraries: the digits of NumPy, computed where the arrays are."""

import os

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.utils.estimator_checks import estimator_checks_generator
from threadpoolctl import threadpool_limits

from kmpe import (
    KMPE,
    PCAL1,
    ELMClassifier,
    ELMRegressor,
    Huber,
    RobustLinearRegression,
    RobustPCA,
    Squared,
)
from kmpe.estimators.devices import in_numpy
from kmpe.foreign import Foreign, Library, self_product, to_numpy
from kmpe.rows.device import DeviceRows
from kmpe.rows.source import Rows

torch = pytest.importorskip("torch", reason="make test-integrations has it")
strict = pytest.importorskip("array_api_strict", reason="make test-integrations has it")
if os.environ.get("SCIPY_ARRAY_API") != "1":
    pytest.skip("scikit-learn dispatches with SCIPY_ARRAY_API=1 only", allow_module_level=True)


def on_torch(values):
    return torch.from_numpy(np.array(values))


def on_strict(values):
    return strict.asarray(np.array(values))


def on_another_device(values):
    """Of a device whose arrays NumPy cannot read: what is brought to it must be brought."""
    return strict.asarray(np.array(values), device=strict.Device("device1"))


LIBRARIES = {"torch": on_torch, "strict": on_strict, "device": on_another_device}
every_library = pytest.mark.parametrize("to", LIBRARIES.values(), ids=LIBRARIES)


@pytest.fixture(autouse=True)
def dispatched():
    with config_context(array_api_dispatch=True):
        yield


def data(n=24_000, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1.0, d + 1)
    y = X @ np.arange(1.0, d + 1) + rng.standard_t(3, size=n)
    y[: n // 10] += 40
    X[: n // 50] += 100  # bad leverage points
    return X, y


def agree(found, wanted, rtol=1e-8):
    """Whether an array of a library has the values of one of NumPy."""
    wanted = np.asarray(wanted)
    size = np.abs(wanted[np.isfinite(wanted)]).max(initial=0.0) if wanted.size else 0.0
    np.testing.assert_allclose(to_numpy(found), wanted, rtol=rtol, atol=rtol * size)


LINEAR = {
    "adaptive": RobustLinearRegression(),
    "huber": RobustLinearRegression(Huber()),
    "kmpe": RobustLinearRegression(KMPE(p=1.5), alpha=10.0),
    "squared": RobustLinearRegression(Squared()),
    "through zero": RobustLinearRegression(fit_intercept=False),
}
OF_A_REGRESSION = (
    *("coef_", "coef_cov_", "weights_", "outliers_", "outlier_scores_", "leverages_"),
    *("cook_distances_", "loo_residuals_"),
)


@every_library
@pytest.mark.parametrize("name", LINEAR)
def test_a_linear_regression_has_the_digits_of_numpy(name, to):
    X, y = data()
    memory, there = (clone(LINEAR[name]) for _ in range(2))
    memory.fit(X, y)
    there.fit(to(X), to(y))
    for attribute in OF_A_REGRESSION:
        assert type(getattr(there, attribute)) is type(to(X))
        agree(getattr(there, attribute), getattr(memory, attribute))
    assert there.scale_ == pytest.approx(memory.scale_, rel=1e-8)
    assert there.robust_r2_ == pytest.approx(memory.robust_r2_, rel=1e-8)
    assert there.intercept_ == pytest.approx(memory.intercept_, rel=1e-8)
    new = data(500, seed=1)[0]
    agree(there.predict(to(new)), memory.predict(new))
    for ours, wanted in zip(
        there.predict(to(new), return_interval=0.9), memory.predict(new, 0.9), strict=True
    ):
        agree(ours, wanted, rtol=0.02)  # residuals of a sample
    assert there.coef_.device == to(X).device


MACHINES = {
    "sigmoid": ELMRegressor(n_hidden=8, activation="sigmoid", random_state=0),
    "rbf": ELMRegressor(Huber(), n_hidden=8, activation="rbf", random_state=0),
    "fourier": ELMRegressor(Squared(), n_hidden=8, activation="fourier", random_state=0),
    "hard limit": ELMRegressor(n_hidden=8, activation="hard_limit", random_state=0),
    "relu": ELMRegressor(n_hidden=8, activation="relu", random_state=0),
    "sine": ELMRegressor(n_hidden=8, activation="sine", random_state=0),
    "tuned": ELMRegressor(n_hidden=8),
    "classifier": ELMClassifier(n_hidden=8, activation="tanh", random_state=0),
    "tuned classifier": ELMClassifier(n_hidden=8),
}


def labels(y):
    wrong = np.arange(len(y)) % 13 == 0
    return ((y > 0) ^ wrong).astype(int)


@every_library
@pytest.mark.parametrize("name", MACHINES)
def test_a_machine_has_the_digits_of_numpy(name, to):
    X, y = data()
    t = labels(y) if "classifier" in name else y
    memory, there = (clone(MACHINES[name]) for _ in range(2))
    memory.fit(X, t)
    there.fit(to(X), to(t))
    for attribute in ("coef_", "weights_", "outliers_", "outlier_scores_"):
        assert type(getattr(there, attribute)) is type(to(X))
        agree(getattr(there, attribute), getattr(memory, attribute))
    assert there.alpha_ == pytest.approx(memory.alpha_, rel=1e-8)
    assert there.scale_ == pytest.approx(memory.scale_, rel=1e-8)
    new = data(500, seed=1)[0]
    methods = ["predict", "transform_hidden"]
    methods += ["predict_proba", "decision_function"] * ("classifier" in name)
    for method in methods:
        agree(getattr(there, method)(to(new)), getattr(memory, method)(new))


PCAS = {
    "default": RobustPCA(2),
    "kmpe": RobustPCA(2, loss=KMPE(p=2)),
    "squared": RobustPCA(2, loss=Squared()),
    "auto": RobustPCA("auto"),
    "share": RobustPCA(0.9, whiten=True),
}


def cloud(n=24_000, d=6, centre=3.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * np.arange(1.0, d + 1) + centre
    X[: n // 10] += 20 * rng.normal(size=(n // 10, d))
    return X


@every_library
@pytest.mark.parametrize("name", PCAS)
def test_a_pca_has_the_digits_of_numpy(name, to):
    X = cloud(centre=1e5 if name == "default" else 3.0)
    memory, there = (clone(PCAS[name]) for _ in range(2))
    memory.fit(X)
    there.fit(to(X))
    for attribute in (
        *("components_", "mean_", "explained_variance_", "singular_values_", "weights_"),
        *("orthogonal_distances_", "score_distances_", "outliers_"),
    ):
        assert type(getattr(there, attribute)) is type(to(X))
        agree(getattr(there, attribute), getattr(memory, attribute))
    np.testing.assert_array_equal(there.outlier_kinds_, memory.outlier_kinds_)
    agree(there.get_covariance(), memory.get_covariance())
    new = cloud(500)
    scores = there.transform(to(new))
    agree(scores, memory.transform(new))
    agree(there.inverse_transform(scores), memory.inverse_transform(memory.transform(new)))
    agree(there.reconstruction_errors(to(new)), memory.reconstruction_errors(new))
    agree(there.score_samples(to(new)), memory.score_samples(new))
    for ours, wanted in zip(there.distances(to(new)), memory.distances(new), strict=True):
        agree(ours, wanted)


@every_library
def test_weights_of_a_pca(to):
    X = cloud()
    a = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    memory, there = RobustPCA(2), RobustPCA(2)
    memory.fit(X, sample_weight=a)
    there.fit(to(X), sample_weight=to(a))
    agree(there.components_, memory.components_)
    agree(there.explained_variance_, memory.explained_variance_)


def test_what_a_pca_does_in_numpy_alone_is_said():
    X = on_torch(cloud())
    with pytest.raises(ValueError, match='scale="mad" needs X in memory'):
        RobustPCA(2, scale="mad").fit(X)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        RobustPCA(2).fit(X)


def test_labels_may_be_words_beside_inputs_on_a_device():
    X, y = data()
    words = np.where(labels(y) == 1, "high", "low")
    model = ELMClassifier(n_hidden=8, activation="tanh", random_state=0).fit(on_torch(X), words)
    memory = clone(model).fit(X, words)
    np.testing.assert_array_equal(model.predict(on_torch(X)), memory.predict(X))


def scikit_learn_checks():
    for model in (RobustLinearRegression(), ELMRegressor(), ELMClassifier(), RobustPCA()):
        for estimator, check in estimator_checks_generator(model):
            name = getattr(check, "func", check).__name__
            if name.startswith("check_array_api"):
                given = ",".join(str(v) for v in getattr(check, "keywords", {}).values())
                yield pytest.param(estimator, check, id=f"{type(model).__name__}-{name}-{given}")


# The checks have fewer than two rows per coefficient, of which the estimators warn.
@pytest.mark.filterwarnings("ignore::kmpe.estimators.inputs.RobustnessWarning")
@pytest.mark.parametrize(("estimator", "check"), list(scikit_learn_checks()))
def test_scikit_learn_contract(estimator, check):
    with config_context(array_api_dispatch=False):
        check(estimator)


@every_library
def test_weights_targets_of_numpy_and_several_targets(to):
    X, y = data()
    Y = np.column_stack([y, -2 * y + X[:, 0]])
    a = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    memory = RobustLinearRegression(Huber()).fit(X, Y, a)
    there = RobustLinearRegression(Huber()).fit(to(X), Y, a)
    moved = RobustLinearRegression(Huber()).fit(to(X), to(Y), to(a))
    for model in (there, moved):
        agree(model.coef_, memory.coef_)
        agree(model.intercept_, memory.intercept_)
        agree(model.weights_, memory.weights_)
    new = data(50, seed=1)[0]
    agree(there.predict(to(new)), memory.predict(new))


@every_library
def test_few_rows_are_a_sample(to):
    X, y = data(300)
    memory, there = RobustLinearRegression().fit(X, y), RobustLinearRegression().fit(to(X), to(y))
    for attribute in (*OF_A_REGRESSION, "trust_"):
        np.testing.assert_array_equal(
            to_numpy(getattr(there, attribute)), getattr(memory, attribute)
        )
    assert there.summary() == memory.summary()
    np.testing.assert_array_equal(there.confidence_intervals(), memory.confidence_intervals())


@every_library
def test_single_precision_is_summed_in_double(to):
    X, y = (values.astype(np.float32) for values in data())
    memory, there = RobustLinearRegression().fit(X, y), RobustLinearRegression().fit(to(X), to(y))
    agree(there.coef_, memory.coef_)


@every_library
def test_dependent_columns(to):
    X, y = data()
    X = np.column_stack([X, X[:, 0] - X[:, 1]])
    with pytest.warns(UserWarning, match="Columns are linearly dependent"):
        memory = RobustLinearRegression().fit(X, y)
    with pytest.warns(UserWarning, match="Columns are linearly dependent"):
        there = RobustLinearRegression().fit(to(X), to(y))
    agree(there.coef_, memory.coef_)


@every_library
def test_samples_are_those_of_memory(to):
    X, y = data(2000)
    y = np.round(y)  # ties, which a mixture of the inputs tells apart
    a = np.random.default_rng(2).integers(0, 4, len(y)).astype(float)
    memory = Rows(X, y[:, None], a)
    library = library_of(to)
    there = DeviceRows(*(library.foreign(v) for v in (X, y[:, None], a)))
    np.testing.assert_array_equal(there.order, memory.order)
    positions = np.linspace(0, 0.999, 77)
    np.testing.assert_array_equal(there.at(positions), memory.at(positions))


def library_of(to):
    from kmpe.estimators.devices import _checked

    return _checked(RobustLinearRegression(), to(np.ones((2, 2))), reset=True).library


@pytest.mark.parametrize(
    "model",
    [
        RobustLinearRegression(),
        ELMRegressor(n_hidden=20, activation="sigmoid", random_state=0),
        ELMClassifier(n_hidden=20, activation="sigmoid", random_state=0),
        RobustPCA(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_any_number_of_threads_gives_the_same_bits(model):
    X, y = data(60_000, 30)
    t = (y > 0).astype(np.int64) if isinstance(model, ELMClassifier) else y
    openmp, found = torch.get_num_threads(), []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            there = clone(model).fit(on_torch(X), on_torch(t))
        found.append([to_numpy(there.weights_), to_numpy(getattr(there, "coef_", there.weights_))])
        assert torch.get_num_threads() == openmp
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)


def test_no_pass_brings_the_rows_to_numpy(monkeypatch):
    X, y = data()
    fetched, plain = [0], Foreign.to_numpy

    def counted(values):
        fetched[0] += values.size
        return plain(values)

    monkeypatch.setattr(Foreign, "to_numpy", counted)
    model = RobustLinearRegression().fit(on_torch(X), on_torch(y))
    # Samples of 4000 rows and the sums of some passes.
    assert fetched[0] < 0.5 * X.size
    fetched[0] = 0
    model.predict(on_torch(X))
    assert fetched[0] == 0


def test_a_model_of_a_library_wants_inputs_of_it():
    X, y = data(300)
    model = RobustLinearRegression().fit(on_torch(X), on_torch(y))
    with pytest.raises(ValueError, match="must use the same namespace as fit, torch"):
        model.predict(X)
    np.testing.assert_allclose(in_numpy(model).predict(X), to_numpy(model.predict(on_torch(X))))
    with pytest.raises(ValueError, match="has 3 features, but"):
        model.predict(on_torch(X[:, :3]))


def test_scikit_learn_scores_it():
    X, y = data()
    model = RobustLinearRegression().fit(on_torch(X), on_torch(y))
    assert model.score(on_torch(X), on_torch(y)) == pytest.approx(
        r2_score(y, to_numpy(model.predict(on_torch(X)))), rel=1e-10
    )


def test_without_dispatch_arrays_become_those_of_numpy():
    X, y = data(300)
    with config_context(array_api_dispatch=False):
        model = RobustLinearRegression().fit(on_torch(X), on_torch(y))
        assert isinstance(model.coef_, np.ndarray)
        assert isinstance(model.predict(on_torch(X)), np.ndarray)
    np.testing.assert_array_equal(model.coef_, RobustLinearRegression().fit(X, y).coef_)


@every_library
def test_what_is_wrong_is_said(to):
    X, y = data(100)
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        RobustLinearRegression().fit(to(bad), to(y))
    with pytest.raises(ValueError, match="Input y contains NaN"):
        RobustLinearRegression().fit(to(X), to(bad[:, 1]))
    with pytest.raises(ValueError, match="X has 100 rows, and y has 50"):
        RobustLinearRegression().fit(to(X), to(y[:50]))
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        RobustLinearRegression().fit(to(X), to(y), to(np.zeros(100)))
    with pytest.raises(ValueError, match="too large to square"):
        RobustLinearRegression().fit(to(1e200 * X), to(y))


def test_what_computes_with_numpy_alone_says_so():
    X, _ = data(100)
    with pytest.raises(ValueError, match="PCAL1 computes with NumPy here, and was given an array"):
        PCAL1(1).fit(on_torch(X))
    X, y = data()
    model = RobustLinearRegression().fit(on_torch(X), on_torch(y))
    with pytest.raises(ValueError, match='interval="confidence" takes X as a NumPy array'):
        model.predict(on_torch(X), return_interval=0.9, interval="confidence")


@every_library
def test_the_product_of_rows_with_themselves_stays_in_the_library(to):
    Y = np.random.default_rng(0).normal(size=(50, 4))
    values = to(Y)
    xp = torch if isinstance(values, torch.Tensor) else strict
    found = self_product(Foreign(values, Library(xp, values.device)))
    assert isinstance(found, Foreign)
    assert found.values.device == values.device
    np.testing.assert_allclose(found.to_numpy(), Y.T @ Y, rtol=1e-12)
    np.testing.assert_array_equal(self_product(Y), Y.T @ Y)
