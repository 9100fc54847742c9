"""What estimators are given: files read by block, and fits that fail leave no trace."""

import copy
import sys
import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression
from threadpoolctl import threadpool_info

from kmpe import (
    KMPE,
    MPE,
    PCAL1,
    ConformalRegressor,
    Correntropy,
    ELMClassifier,
    ELMRegressor,
    RobustLinearRegression,
    RobustPCA,
    RobustRegressor,
    Squared,
)
from kmpe.estimators.inputs import all_or_nothing, is_read_by_block
from kmpe.rows import arranged, source
from kmpe.rows.source import Rows


class Sliced:
    """Something with a shape and row slices, and nothing else; it remembers the slices."""

    def __init__(self, X):
        self._X = X
        self.shape = X.shape
        self.longest = 0

    def __getitem__(self, where):
        assert isinstance(where, slice)
        rows = self._X[where]
        self.longest = max(self.longest, len(rows))
        return rows


def rows(n=60_000):
    rng = np.random.RandomState(0)
    X = rng.normal(size=(n, 3)) * [3.0, 2.0, 0.5]
    y = X @ [0.5, -1.0, 2.0] + 0.1 * rng.normal(size=n)
    y[::10] += 5
    return X, y


@pytest.fixture(scope="module")
def data():
    X, y = rows()
    X.flags.writeable = False
    return X, y


def mapped_to(path, X):
    np.save(path / "X.npy", X)
    return np.load(path / "X.npy", mmap_mode="r")


def elm(**params):
    parts = {"n_hidden": 20, "alpha": 1e-3, "activation": "sigmoid", "random_state": 0}
    return ELMRegressor(KMPE(p=2, sigma=0.5), **parts, **params)


# -- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "model",
    [
        elm(),
        ELMRegressor(n_hidden=20, random_state=0, activation="sigmoid"),
        ELMRegressor(KMPE(p=2, sigma=0.5), n_hidden=20, alpha=1e-3),
        RobustLinearRegression(Correntropy()),
        RobustLinearRegression(KMPE(p=4, sigma=0.5), fit_intercept=False),
        RobustLinearRegression(Squared(), alpha=3.0),
        RobustLinearRegression(),
        RobustPCA(2, random_state=0),
        RobustPCA(2, loss=Correntropy("silverman"), random_state=0),
    ],
    ids=str,
)
@pytest.mark.parametrize("n", [300, 60_000])
def test_a_memory_map_gives_the_fit_of_the_array(model, n, data, tmp_path):
    X, y = (part[:n] for part in data)
    mapped = mapped_to(tmp_path, X)
    inside, outside = clone(model).fit(X, y), clone(model).fit(mapped, y)
    names = {"coef_", "intercept_", "components_", "mean_", "weights_", "outlier_scores_"}
    names = {*names, "coef_cov_", "explained_variance_"} & vars(inside).keys()
    assert names
    for name in names:
        one, other = getattr(inside, name), getattr(outside, name)
        scale = np.abs(one).max()
        np.testing.assert_allclose(other, one, rtol=1e-8, atol=1e-8 * scale, err_msg=name)
    if hasattr(model, "predict"):
        np.testing.assert_allclose(outside.predict(mapped), inside.predict(X), rtol=1e-8, atol=1e-8)
    assert outside.n_features_in_ == 3


def test_sliced_object_is_read_block_by_block(data, monkeypatch):
    X, y = data
    for module in (arranged, source):  # a table of one block is read at once
        monkeypatch.setattr(module, "BLOCK_BYTES", 1 << 19)
    sliced = Sliced(X)
    fitted = elm(memory_limit=0).fit(sliced, y)
    np.testing.assert_array_equal(fitted.coef_, elm().fit(X, y).coef_)
    assert sliced.longest < len(X) / 2


def test_limit_of_memory_does_not_change_the_fit(data):
    X, y = data
    np.testing.assert_array_equal(
        elm(memory_limit=0).fit(X, y).coef_, elm(memory_limit=1e9).fit(X, y).coef_
    )


def test_hidden_layer_is_kept_only_within_the_limit(data, monkeypatch):
    kept = []
    stored = Rows.stored
    monkeypatch.setattr(
        Rows, "stored", lambda self, *dtype: kept.append(dtype) or stored(self, *dtype)
    )
    X, y = data
    size = X.shape[0] * 20 * 8
    elm(memory_limit=size - 1).fit(X, y)
    assert not kept
    elm(memory_limit=size).fit(X, y)
    assert len(kept) == 1


def test_single_precision_stays_single(data):
    X, y = (part[:2000] for part in data)
    fitted = elm().fit(X.astype(np.float32), y)
    assert fitted.coef_.dtype == np.float32
    assert fitted.transform_hidden(X[:5].astype(np.float32)).dtype == np.float32
    assert fitted.predict(X[:5].astype(np.float32)).dtype == np.float32


def test_wrong_lengths_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        elm().fit(Sliced(X), y[:-1])


@pytest.mark.parametrize("model", [elm(), RobustLinearRegression(Squared())], ids=str)
def test_wrong_width_is_refused(model, data):
    X, y = (part[:500] for part in data)
    with pytest.raises(ValueError, match="features"):
        clone(model).fit(X, y).predict(Sliced(X[:, :2]))


def test_classifier_reads_slices(data):
    X, _ = data
    y = (X[:, 0] > 0).astype(int)
    sliced = ELMClassifier(n_hidden=20, alpha=1e-2, random_state=0, activation="sigmoid").fit(
        Sliced(X), y
    )
    whole = ELMClassifier(n_hidden=20, alpha=1e-2, random_state=0, activation="sigmoid").fit(X, y)
    np.testing.assert_array_equal(sliced.coef_, whole.coef_)


def test_what_is_in_memory_is_not_read_by_block(data, tmp_path):
    X = data[0][:50]
    assert is_read_by_block(mapped_to(tmp_path, X))
    assert is_read_by_block(Sliced(X))
    for inside in (X, pd.DataFrame(X), csr_matrix(X), X.tolist()[:3]):
        assert not is_read_by_block(inside)


@pytest.mark.parametrize("limit", [-1, "2GB"])
def test_impossible_memory_limit_is_refused(data, limit):
    X, y = data
    with pytest.raises(ValueError, match="memory_limit"):
        elm(memory_limit=limit).fit(X[:100], y[:100])


# -- all or nothing --------------------------------------------------------------------------


def state(model):
    """Return everything that an estimator holds, its arrays by their bytes."""
    return {
        name: value.tobytes() if isinstance(value, np.ndarray) else value
        for name, value in vars(model).items()
    }


def test_what_fails_leaves_what_was_there_and_what_succeeds_stays():
    model = elm()
    model.before = 1

    def interrupted():
        with all_or_nothing(model):
            model.before, model.after = 2, 3
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert model.before == 1
    assert not hasattr(model, "after")
    with all_or_nothing(model):
        model.after = 3
    assert model.after == 3


MODELS = [
    elm(memory_limit=0),
    ELMRegressor(n_hidden=20, random_state=0, activation="sigmoid"),
    ELMClassifier(n_hidden=20, random_state=0, activation="sigmoid"),
    ELMRegressor(),
    ELMClassifier(),
    RobustLinearRegression(),
    RobustLinearRegression(Correntropy()),
    RobustPCA(2, random_state=0),
    PCAL1(2, random_state=0),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)


def targets(model, y):
    return (y > np.median(y)).astype(int) if isinstance(model, ELMClassifier) else y


@every_model
@pytest.mark.parametrize("fitted", [False, True])
def test_nan_in_the_last_block_leaves_the_estimator_as_it_was(model, fitted, data, tmp_path):
    X, y = data[0].copy(), targets(model, data[1])
    model = clone(model)
    if fitted:
        model.fit(X[:200, :2], y[:200])
    before = state(model)
    X[-1, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.fit(mapped_to(tmp_path, X), y)
    assert state(model) == before
    if fitted and hasattr(model, "predict"):
        assert model.predict(X[:5, :2]).shape == (5,)


class Interrupted:
    """An activation in which the user presses Ctrl-C after so many calls."""

    def __init__(self, after=np.inf):
        self.after, self.calls = after, 0

    def __call__(self, z):
        self.calls += 1
        if self.calls > self.after:
            raise KeyboardInterrupt
        return np.tanh(z)


@pytest.mark.parametrize("share", [0.0, 0.5, 0.99])
@pytest.mark.parametrize("machine", [ELMRegressor, ELMClassifier])
@pytest.mark.parametrize("fitted", [False, True])
def test_an_interrupted_fit_leaves_the_estimator_as_it_was(machine, fitted, share, data):
    X, y = data[0][:20_000], targets(machine(), data[1][:20_000])
    model = machine(Correntropy(0.5), n_hidden=20, alpha=1e-3, memory_limit=0, random_state=0)
    whole = Interrupted()
    clone(model).set_params(activation=whole).fit(X, y)
    assert whole.calls > 3
    if fitted:
        model.fit(X[:200, :2], y[:200])
    model.set_params(activation=Interrupted(after=int(share * whole.calls)))
    before = state(model)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert state(model) == before
    if fitted:
        model.set_params(activation="sigmoid").predict(X[:5, :2])


class CtrlC:
    """Ctrl-C when the k-th function of the package is called."""

    def __init__(self, k):
        self.k, self.calls = k, 0

    def __call__(self, frame, event, _):
        if event == "call" and str(frame.f_globals.get("__name__")).startswith("kmpe."):
            self.calls += 1
            if self.calls == self.k:
                raise KeyboardInterrupt

    @classmethod
    def during(cls, work, k=0):
        """Return how many functions are called."""
        hook = cls(k)
        sys.setprofile(hook)
        try:
            work()
        finally:
            sys.setprofile(None)
        return hook.calls


@pytest.mark.parametrize(
    "model",
    [
        ELMRegressor(),
        ELMClassifier(),
        RobustLinearRegression(),
        RobustPCA(2),
        PCAL1(2, random_state=0),
        ConformalRegressor(RobustLinearRegression(), cv=2),
    ],
    ids=str,
)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_ctrl_c_at_any_moment_leaves_the_estimator_as_it_was(model, method, data):
    if not hasattr(model, method):
        pytest.skip("has no streams")
    X, y = data[0][:60], targets(model, data[1][:60])
    # A refit may have other columns than the fit before.
    first = X[:30, :2] if method == "fit" else X[:30]
    model = getattr(clone(model), method)(first, y[:30])
    before, limits = state(model), [pool["num_threads"] for pool in threadpool_info()]
    go_on = getattr(model, method)
    # The second time: tables that the package keeps are there.
    others = [copy.deepcopy(model) for _ in range(2)]
    calls = [CtrlC.during(partial(getattr(other, method), X, y)) for other in others][-1]
    for share in (0.01, 0.2, 0.5, 0.8, 0.95, 1.0):
        with pytest.raises(KeyboardInterrupt):
            CtrlC.during(partial(go_on, X, y), max(1, int(share * calls)))
        assert state(model) == before
        assert [pool["num_threads"] for pool in threadpool_info()] == limits


@pytest.mark.parametrize("activation", ["auto", np.tanh])
def test_an_interrupted_batch_leaves_the_stream_as_it_was(activation, data):
    X, y = data[0], data[1]
    size = 30 if activation == "auto" else 100  # one that tunes itself takes longer
    batches = [slice(k * size, (k + 1) * size) for k in range(4)]
    model = ELMRegressor(Correntropy(0.5), n_hidden=10, activation=activation, random_state=0)
    for some in batches[:3]:
        model.partial_fit(X[some], y[some])
    before = state(model)
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(X[:100] * np.nan, y[:100])
    with pytest.raises(ValueError, match="features"):
        model.partial_fit(X[:100, :2], y[:100])
    assert state(model) == before
    again = clone(model)
    for some in batches:
        again.partial_fit(X[some], y[some])
    model.partial_fit(X[batches[3]], y[batches[3]])
    np.testing.assert_array_equal(model.coef_, again.coef_)


@pytest.mark.parametrize(
    "model",
    [
        ELMRegressor(
            KMPE(p=4, sigma=0.5),
            alpha=1e-3,
            random_state=0,
            max_iter=1,
            tol=1e-15,
            activation="sigmoid",
            n_hidden=100,
        ),
        RobustLinearRegression(KMPE(p=4, sigma=0.5), max_iter=1, tol=1e-15),
        RobustPCA(1, loss=MPE(p=0.6), max_iter=1, tol=1e-15, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_a_warning_turned_into_an_error_leaves_the_estimator_as_it_was(model, data):
    before = state(model)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        with pytest.raises(ConvergenceWarning):
            model.fit(data[0][:400], data[1][:400])
    assert state(model) == before


class OnADevice:
    """An array of another library, as scikit-learn would dispatch on it."""

    shape, ndim = (20, 2), 2

    def __array_namespace__(self):
        raise AssertionError("never asked")


@pytest.mark.parametrize("model", [PCAL1(1), RobustRegressor(LinearRegression())])
def test_arrays_that_are_dispatched_are_refused_in_a_sentence(model, monkeypatch):
    monkeypatch.setattr("kmpe.estimators.devices.get_config", lambda: {"array_api_dispatch": True})
    with pytest.raises(ValueError, match="computes with NumPy here, and was given an array of"):
        model.fit(OnADevice(), np.zeros(20))
    X = np.random.default_rng(0).normal(size=(20, 2))
    model.fit(X, X[:, 0])
