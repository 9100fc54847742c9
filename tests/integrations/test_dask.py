"""Dask collections: the digits of memory, whoever computes, and whoever dies meanwhile."""

import contextlib
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
from sklearn.base import clone

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
from kmpe.rows import cluster, threads
from kmpe.rows.dask import DaskRows
from kmpe.rows.source import rows_per_block

dask = pytest.importorskip("dask", reason="make test-integrations has it")
da = pytest.importorskip("dask.array", reason="make test-integrations has it")
distributed = pytest.importorskip("distributed", reason="make test-integrations has it")

# Closing a cluster on a busy machine, and data in graphs, are none of ours.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def data(n=24_000, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1.0, d + 1)
    y = X @ np.arange(1.0, d + 1) + rng.standard_t(3, size=n)
    y[: n // 10] += 40
    return X, y


ESTIMATORS = {
    "adaptive": RobustLinearRegression(),
    "huber": RobustLinearRegression(Huber()),
    "pca": RobustPCA(2),
    "regressor": ELMRegressor(n_hidden=8, activation="sigmoid", random_state=0),
    "classifier": ELMClassifier(n_hidden=8, activation="sigmoid", random_state=0),
}
#: A fit of a machine that tunes itself takes seconds.
EVERY = ESTIMATORS | {
    "tuned regressor": ELMRegressor(n_hidden=8),
    "tuned classifier": ELMClassifier(n_hidden=8),
}
FAMILIES = [name for name in ESTIMATORS if name != "huber"]
COLUMNS = {
    "pca": ("weights_", "outliers_", "orthogonal_distances_", "score_distances_"),
    "huber": ("weights_", "outliers_", "outlier_scores_", "leverages_", "cook_distances_"),
    "regressor": ("weights_", "outliers_", "outlier_scores_"),
    "classifier": ("weights_", "outliers_", "outlier_scores_"),
    "tuned regressor": ("weights_", "outliers_", "outlier_scores_"),
    "tuned classifier": ("weights_", "outliers_", "outlier_scores_"),
}


def targets(name, y):
    """Return what an estimator is fitted to: labels for one that classifies, some of them wrong."""
    if "classifier" not in name:
        return y
    wrong = np.arange(len(y)) % 13 == 0
    return np.where((y > 0) ^ wrong, "high", "low")


def fitted(name, X, y, **weights):
    model = clone(EVERY[name])
    return model.fit(X, **weights) if name == "pca" else model.fit(X, y, **weights)


def parameters(model):
    return np.array(model.components_ if hasattr(model, "components_") else model.coef_)


def chunked(X, y, rows):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=(rows,))


class Workers(distributed.LocalCluster):
    """A cluster that survives the loss of a worker which it has already forgotten.

    Its list of workers is renewed every second; a killed one that has left it before the news of
    its death comes ends the task that reads the news with a KeyError, raised when it is closed.
    """

    def _update_worker_status(self, op, msg):
        with contextlib.suppress(KeyError):
            super()._update_worker_status(op, msg)


@pytest.fixture(scope="module")
def client():
    with (
        Workers(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_local_scheduler_equals_memory(name):
    X, y = data()
    t = targets(name, y)
    memory = parameters(fitted(name, X, t))
    lazy = fitted(name, *chunked(X, t, 5000))
    size = np.abs(memory).max()
    np.testing.assert_allclose(parameters(lazy), memory, rtol=1e-8, atol=1e-10 * size)


def same_parts(X, n_features):
    """Return chunks that are the blocks in which a fit in memory takes its sums."""
    parts = threads.parts(len(X), rows_per_block(n_features))
    rows = tuple(where.stop - where.start for part in parts for where in part)
    assert len(rows) > 1
    return rows


def test_over_the_same_parts_memory_and_dask_have_the_same_bits():
    name = "adaptive"
    X, y = data(70_000, 16)
    memory = fitted(name, X, y)
    weights, bits = memory.weights_, parameters(memory)
    lazy = fitted(name, *chunked(X, y, same_parts(X, X.shape[1] + 1)))
    np.testing.assert_array_equal(parameters(lazy), bits)
    np.testing.assert_allclose(lazy.weights_.compute(), weights, atol=1e-12)


def test_over_the_same_parts_a_pca_has_the_same_bits():
    X, y = data(70_000, 16)
    memory = RobustPCA(2).fit(X)
    lazy = RobustPCA(2).fit(chunked(X, y, same_parts(X, X.shape[1]))[0])
    for name in ("components_", "mean_", "explained_variance_", "cutoffs_"):
        np.testing.assert_array_equal(getattr(lazy, name), getattr(memory, name))


@pytest.mark.parametrize("name", ["regressor", "classifier"])
def test_over_the_same_parts_a_machine_has_the_same_bits(name):
    X, y = data(70_000, 16)
    t = targets(name, y)
    lazy = fitted(name, *chunked(X, t, same_parts(X, 8)))
    np.testing.assert_array_equal(parameters(lazy), parameters(fitted(name, X, t)))


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_workers_give_the_bits_of_the_local_scheduler(name, monkeypatch):
    X, y = data()
    chunks = chunked(X, targets(name, y), 9000)
    with_workers = parameters(fitted(name, *chunks))
    monkeypatch.setattr(cluster, "_client", lambda: None)
    with dask.config.set(scheduler="threads"):
        np.testing.assert_array_equal(parameters(fitted(name, *chunks)), with_workers)


def restore(client):
    """Have two workers again: on a busy machine a nanny may give up on one that was killed."""
    client.cluster.scale(2)
    try:
        client.wait_for_workers(2, timeout=20)
    except TimeoutError:
        client.cluster.scale(0)
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=60)


def test_one_and_four_workers_give_the_same_bits(client):
    X, y = data()
    found = {}
    for count in (4, 1):
        client.cluster.scale(count)
        client.wait_for_workers(count)
        found[count] = [
            parameters(fitted(name, *chunked(X, targets(name, y), 5000))) for name in FAMILIES
        ]
    restore(client)
    for one, four in zip(found[1], found[4], strict=True):
        np.testing.assert_array_equal(one, four)


def _keys(dask_scheduler):
    return list(dask_scheduler.tasks)


class Killing:
    """Kills a worker while a fit runs: before the call of ``fetch`` number ``at``."""

    def __init__(self, client, at, monkeypatch):
        self.calls, self.killed = 0, 0
        fetch = cluster._Cluster.fetch

        def counted(runs, references):
            self.calls += 1
            if self.calls in at:
                pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
                os.kill(pids[0], signal.SIGKILL)
                self.killed += 1
            return fetch(runs, references)

        monkeypatch.setattr(cluster._Cluster, "fetch", counted)


@pytest.mark.parametrize("name", FAMILIES)
def test_workers_killed_in_sampling_and_in_a_pass_change_no_digit(name, client, monkeypatch):
    X, y = data()
    chunks = chunked(X, targets(name, y), 9000)
    clean = parameters(fitted(name, *chunks))
    at = (4, 14)
    killing = Killing(client, at, monkeypatch)
    again = parameters(fitted(name, *chunks))
    assert killing.killed == len(at)
    np.testing.assert_array_equal(again, clean)
    restore(client)


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("method", "call"), [("at", 1), ("total", 3)], ids=["sample", "pass"])
def test_a_worker_killed_before_a_sample_or_the_third_pass(name, method, call, client, monkeypatch):
    X, y = data()
    chunks = chunked(X, targets(name, y), 9000)
    clean = parameters(fitted(name, *chunks))
    calls, plain = [0], getattr(DaskRows, method)

    def counted(rows, argument):
        calls[0] += 1
        if calls[0] == call:
            pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
            os.kill(pids[0], signal.SIGKILL)
        return plain(rows, argument)

    monkeypatch.setattr(DaskRows, method, counted)
    again = parameters(fitted(name, *chunks))
    assert calls[0] >= call
    np.testing.assert_array_equal(again, clean)
    restore(client)


def test_nothing_is_left_on_the_scheduler_after_a_fit_and_after_an_exception(client):
    X, y = data()
    for name in FAMILIES:
        fitted(name, *chunked(X, targets(name, y), 5000))
    X[17_000, 1] = np.nan
    with pytest.raises(ValueError, match="contains NaN or infinity"):
        fitted("huber", *chunked(X, y, 5000))
    for _ in range(50):
        if not client.run_on_scheduler(_keys):
            break
        time.sleep(0.2)
    assert client.run_on_scheduler(_keys) == []


def test_a_chunk_that_changes_when_it_is_computed_again_is_an_error(monkeypatch):
    X, y = data()
    rng = np.random.default_rng(0)
    lock = threading.Lock()

    def noisy(block):
        with lock:
            return block + rng.normal(size=block.shape)

    lazy, t = chunked(X, y, 5000)
    # Workers keep their chunks: the local scheduler computes them in every pass.
    monkeypatch.setattr(cluster, "_client", lambda: None)
    with (
        dask.config.set(scheduler="threads"),
        pytest.raises(ValueError, match="computed again and is not the same"),
    ):
        fitted("huber", lazy.map_blocks(noisy, dtype=float), t)


@pytest.mark.parametrize("name", COLUMNS)
def test_what_is_said_of_rows_is_lazy_with_the_chunks_of_x(name):
    X, y = data()
    t = targets(name, y)
    memory, (lazy, _) = fitted(name, X, t), chunked(X, y, 5000)
    model = fitted(name, *chunked(X, t, 5000))
    size = np.abs(parameters(memory)).max()
    np.testing.assert_allclose(parameters(model), parameters(memory), atol=1e-8 * size)
    for attribute in COLUMNS[name]:
        column, expected = getattr(model, attribute), getattr(memory, attribute)
        assert isinstance(column, da.Array)
        assert column.chunks == (lazy.chunks[0],)
        assert column.dtype == expected.dtype
        np.testing.assert_allclose(column.compute(), expected, rtol=1e-6, atol=1e-8)
    if name == "pca":
        np.testing.assert_array_equal(model.outlier_kinds_.compute(), memory.outlier_kinds_)
        np.testing.assert_allclose(model.cutoffs_, memory.cutoffs_, rtol=1e-8)
    else:
        np.testing.assert_allclose(model.scale_, memory.scale_, rtol=1e-8)


def test_inference_is_that_of_memory():
    X, y = data()
    lazy, t = chunked(X, y, 5000)
    memory, model = fitted("huber", X, y), fitted("huber", lazy, t)
    assert model.predict(lazy).chunks == (lazy.chunks[0],)
    np.testing.assert_allclose(model.predict(lazy).compute(), memory.predict(X), rtol=1e-8)
    np.testing.assert_allclose(model.robust_r2_, memory.robust_r2_, rtol=1e-8)
    np.testing.assert_allclose(model.coef_cov_, memory.coef_cov_, rtol=1e-6)
    loo = model.loo_residuals_
    assert loo.chunks == (lazy.chunks[0], (1,))
    np.testing.assert_allclose(loo.compute(), memory.loo_residuals_, rtol=1e-6, atol=1e-9)


def test_intervals_of_a_machine_are_about_those_of_memory():
    X, y = data()
    memory, model = fitted("regressor", X, y), fitted("regressor", *chunked(X, y, 5000))
    half = [np.ptp(fit.predict(X[:1], return_interval=0.9)[1:]) for fit in (memory, model)]
    np.testing.assert_allclose(half[1], half[0], rtol=0.05)


def test_transforms_and_classes_are_lazy():
    X, y = data(600)
    labels = np.where(y > 0, "high", "low")
    lazy, _ = chunked(X, y, 250)
    pca, machine = RobustPCA(2).fit(X), ELMClassifier(n_hidden=12, random_state=0).fit(X, labels)
    assert pca.transform(lazy).chunks == (lazy.chunks[0], (2,))
    np.testing.assert_allclose(pca.transform(lazy).compute(), pca.transform(X), atol=1e-10)
    assert machine.predict(lazy).dtype == machine.predict(X).dtype
    np.testing.assert_array_equal(machine.predict(lazy).compute(), machine.predict(X))
    assert machine.predict_proba(lazy).shape == (len(X), 2)


@pytest.mark.parametrize("name", ["huber", "pca", "regressor", "classifier"])
@pytest.mark.parametrize("least", [3000, 14_000], ids=["many rows", "few rows"])
def test_data_frames_with_unknown_sizes_and_empty_partitions(name, least):
    pd = pytest.importorskip("pandas", reason="make test-integrations has it")
    dd = pytest.importorskip("dask.dataframe", reason="make test-integrations has it")
    X, y = data()
    t = targets(name, y)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=t)
    pieces = dd.from_pandas(frame, npartitions=10)
    # The partitions stay, one or more of them without rows.
    pieces = pieces.map_partitions(lambda part: part[part.index >= least], meta=pieces._meta)
    inputs = pieces[list("abcd")]
    model = fitted(name, inputs, pieces["y"])
    memory = fitted(name, X[least:], t[least:])
    np.testing.assert_allclose(parameters(model), parameters(memory), rtol=1e-6, atol=1e-8)
    assert model.feature_names_in_.tolist() == list("abcd")
    told = model.transform if name == "pca" else model.predict
    expected = (memory.transform if name == "pca" else memory.predict)(X[least:])
    assert np.isnan(told(inputs).shape[0])
    if name == "classifier":
        np.testing.assert_array_equal(told(inputs).compute(), expected)
    else:
        np.testing.assert_allclose(told(inputs).compute(), expected, rtol=1e-6, atol=1e-6)
    weights = model.weights_
    assert weights.numblocks == (10,)
    np.testing.assert_allclose(weights.compute(), memory.weights_, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("unit", [1.0, 0.37])
def test_weights_are_repeats_in_any_unit(unit):
    X, y = data(45_000)
    a = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    lazy, t = chunked(X, y, 5000)
    model = RobustLinearRegression(Huber()).fit(
        lazy, t, sample_weight=da.from_array(unit * a, chunks=7000)
    )
    memory = RobustLinearRegression(Huber()).fit(X, y, sample_weight=unit * a)
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-8)
    np.testing.assert_allclose(model.weights_.compute(), memory.weights_, rtol=1e-6, atol=1e-9)


def test_a_pca_and_a_machine_take_weights_as_repeats():
    X, y = data(45_000)
    a = np.random.default_rng(1).integers(0, 3, len(X)).astype(float)
    lazy, t = chunked(X, y, 5000)
    weights = da.from_array(0.37 * a, chunks=7000)
    for name in ("pca", "regressor"):
        model = fitted(name, lazy, t, sample_weight=weights)
        memory = fitted(name, X, y, sample_weight=0.37 * a)
        np.testing.assert_allclose(parameters(model), parameters(memory), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.weights_.compute(), memory.weights_, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", EVERY)
def test_few_rows_have_the_bits_of_memory(name):
    X, y = data(300)
    t = targets(name, y)
    model, memory = fitted(name, *chunked(X, t, 100)), fitted(name, X, t)
    np.testing.assert_array_equal(parameters(model), parameters(memory))
    assert model.weights_.chunks == ((100, 100, 100),)
    np.testing.assert_array_equal(model.weights_.compute(), memory.weights_)


@pytest.mark.parametrize(
    "model",
    [
        RobustPCA(0.9),
        RobustPCA(),
        RobustPCA(1, loss=KMPE(p=10, sigma="silverman")),
        RobustPCA(2, loss=Squared()),
        ELMRegressor(KMPE(p=2, sigma=3.0), n_hidden=8, activation="tanh", init="zero", alpha=1e-3),
        ELMRegressor(Squared(), n_hidden=8, activation="rbf"),
    ],
    ids=str,
)
def test_other_settings_equal_memory(model):
    X, y = data()
    if hasattr(model, "activation"):
        model = clone(model).set_params(random_state=3)
    lazy, t = chunked(X, y, 5000)
    memory = parameters(clone(model).fit(X, y))
    found = parameters(model.fit(lazy, t))
    np.testing.assert_allclose(found, memory, rtol=1e-6, atol=1e-8 * np.abs(memory).max())


def test_a_subspace_far_from_zero_loses_no_digits():
    X, y = data()
    X += 1e7
    lazy, _ = chunked(X, y, 5000)
    model, memory = RobustPCA(2).fit(lazy), RobustPCA(2).fit(X)
    np.testing.assert_allclose(model.components_, memory.components_, atol=1e-8)
    np.testing.assert_allclose(model.score_distances_.compute(), memory.score_distances_, rtol=1e-6)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_model_is_small_however_large_the_data(name):
    X, y = data()
    model = fitted(name, *chunked(X, targets(name, y), 5000))
    assert len(pickle.dumps(model)) < 2e6
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(parameters(again), parameters(model))
    with pytest.raises(AttributeError, match="into files and copies"):
        _ = again.weights_


def test_a_fit_to_collections_says_why_it_has_no_trust():
    model = fitted("huber", *chunked(*data(), 5000))
    with pytest.raises(AttributeError, match=r"needs the residuals of all rows.*are lazy"):
        _ = model.trust_
    assert not hasattr(model, "trust_")


def test_what_is_not_supported_says_so():
    X, y = data(2000)
    lazy, t = chunked(X, y, 500)
    with pytest.raises(ValueError, match="y is ndarray, but X is a Dask collection"):
        RobustLinearRegression().fit(lazy, y)
    with pytest.raises(ValueError, match="X has 4 chunks, and y has 2"):
        RobustLinearRegression().fit(lazy, t[:1000])
    for refused in (
        lambda: PCAL1(2).fit(lazy),
        lambda: ELMRegressor().partial_fit(lazy, t),
        lambda: RobustLinearRegression().fit(X, t),
        lambda: RobustPCA(2).fit(X).fill(lazy),
    ):
        with pytest.raises(ValueError, match="never converted silently"):
            refused()
    many, labels = chunked(*data(), 5000)
    with pytest.raises(ValueError, match='scale="mad" needs X in memory'):
        RobustPCA(2, scale="mad").fit(many)
    with pytest.raises(ValueError, match="y has one class only"):
        ELMClassifier().fit(many, da.zeros_like(labels))
    model = RobustLinearRegression(Huber()).fit(lazy, t)
    with pytest.raises(ValueError, match="return_interval is for rows in memory"):
        model.predict(lazy, return_interval=0.9)
