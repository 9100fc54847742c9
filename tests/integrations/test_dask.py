"""Dask collections: the digits of memory, whoever computes, and whoever dies meanwhile."""

import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest

from kmpe import ELMClassifier, Huber, RobustLinearRegression, RobustPCA
from kmpe.rows import cluster, threads
from kmpe.rows.source import rows_per_block

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

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
}


def fitted(name, X, y, **weights):
    return ESTIMATORS[name].fit(X, y, **weights)


def parameters(model):
    return np.array(model.coef_)


def chunked(X, y, rows):
    return da.from_array(X, chunks=(rows, X.shape[1])), da.from_array(y, chunks=(rows,))


@pytest.fixture(scope="module")
def client():
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as workers,
        distributed.Client(workers) as client,
    ):
        yield client


@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_local_scheduler_equals_memory(name):
    X, y = data()
    memory = parameters(fitted(name, X, y))
    lazy = fitted(name, *chunked(X, y, 5000))
    np.testing.assert_allclose(parameters(lazy), memory, rtol=1e-8, atol=1e-10)


def test_over_the_same_parts_memory_and_dask_have_the_same_bits():
    name = "adaptive"
    X, y = data(270_000)
    parts = threads.parts(len(X), rows_per_block(X.shape[1] + 1))
    rows = tuple(where.stop - where.start for part in parts for where in part)
    assert len(rows) > 1
    memory = fitted(name, X, y)
    weights, bits = memory.weights_, parameters(memory)
    lazy = fitted(name, *chunked(X, y, rows))
    np.testing.assert_array_equal(parameters(lazy), bits)
    np.testing.assert_allclose(lazy.weights_.compute(), weights, atol=1e-12)


@pytest.mark.usefixtures("client")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_workers_give_the_bits_of_the_local_scheduler(name, monkeypatch):
    X, y = data()
    chunks = chunked(X, y, 9000)
    with_workers = parameters(fitted(name, *chunks))
    monkeypatch.setattr(cluster, "_client", lambda: None)
    with dask.config.set(scheduler="threads"):
        np.testing.assert_array_equal(parameters(fitted(name, *chunks)), with_workers)


def test_one_and_four_workers_give_the_same_bits(client):
    chunks = chunked(*data(), 5000)
    found = {}
    for count in (4, 1):
        client.cluster.scale(count)
        client.wait_for_workers(count)
        found[count] = parameters(fitted("adaptive", *chunks))
    client.cluster.scale(2)
    client.wait_for_workers(2)
    np.testing.assert_array_equal(found[1], found[4])


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


@pytest.mark.parametrize("name", ESTIMATORS)
def test_workers_killed_in_sampling_and_in_a_pass_change_no_digit(name, client, monkeypatch):
    X, y = data()
    chunks = chunked(X, y, 9000)
    clean = parameters(fitted(name, *chunks))
    at = (6, 20)
    killing = Killing(client, at, monkeypatch)
    again = parameters(fitted(name, *chunks))
    assert killing.killed == len(at)
    np.testing.assert_array_equal(again, clean)
    client.wait_for_workers(2)


def test_nothing_is_left_on_the_scheduler_after_a_fit_and_after_an_exception(client):
    X, y = data()
    fitted("huber", *chunked(X, y, 5000))
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
        pytest.raises(ValueError, match="computed again and is not the one that it was"),
    ):
        fitted("huber", lazy.map_blocks(noisy, dtype=float), t)


def test_what_is_said_of_rows_is_lazy_with_the_chunks_of_x():
    X, y = data()
    lazy, t = chunked(X, y, 5000)
    memory = RobustLinearRegression(Huber()).fit(X, y)
    model = RobustLinearRegression(Huber()).fit(lazy, t)
    for name in ("weights_", "outliers_", "outlier_scores_"):
        column = getattr(model, name)
        assert isinstance(column, da.Array)
        assert column.chunks == (lazy.chunks[0],)
        assert column.dtype == getattr(memory, name).dtype
        np.testing.assert_allclose(column.compute(), getattr(memory, name), rtol=1e-7, atol=1e-9)
    assert model.predict(lazy).chunks == (lazy.chunks[0],)
    np.testing.assert_allclose(model.predict(lazy).compute(), memory.predict(X), rtol=1e-8)
    np.testing.assert_allclose(model.scale_, memory.scale_, rtol=1e-8)
    np.testing.assert_allclose(model.robust_r2_, memory.robust_r2_, rtol=1e-8)
    np.testing.assert_allclose(model.coef_cov_, memory.coef_cov_, rtol=1e-6)


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


def test_data_frames_with_unknown_sizes_and_empty_partitions():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    X, y = data()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=y)
    pieces = dd.from_pandas(frame, npartitions=5)
    # The partitions stay, one of them without rows.
    pieces = pieces.map_partitions(lambda part: part[part.index >= 6000], meta=pieces._meta)
    model = RobustLinearRegression(Huber()).fit(pieces[list("abcd")], pieces["y"])
    memory = RobustLinearRegression(Huber()).fit(X[6000:], y[6000:])
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-8)
    assert model.feature_names_in_.tolist() == list("abcd")
    predicted = model.predict(pieces[list("abcd")])
    assert np.isnan(predicted.shape[0])
    np.testing.assert_allclose(predicted.compute(), memory.predict(X[6000:]), rtol=1e-8)
    np.testing.assert_allclose(model.weights_.compute(), memory.weights_, rtol=1e-7)


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


def test_few_rows_are_fitted_like_those_in_memory():
    X, y = data(300)
    model = RobustLinearRegression().fit(*chunked(X, y, 100))
    memory = RobustLinearRegression().fit(X, y)
    np.testing.assert_allclose(model.coef_, memory.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.weights_.compute(), memory.weights_, rtol=1e-4, atol=1e-6)


def test_a_model_is_small_however_large_the_data():
    X, y = data()
    model = RobustLinearRegression().fit(*chunked(X, y, 5000))
    assert len(pickle.dumps(model)) < 1e6
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X[:9]), model.predict(X[:9]))
    assert not hasattr(again, "weights_")


def test_what_is_not_supported_says_so():
    X, y = data(2000)
    lazy, t = chunked(X, y, 500)
    with pytest.raises(ValueError, match="y is ndarray beside a Dask collection X"):
        RobustLinearRegression().fit(lazy, y)
    with pytest.raises(ValueError, match="X has 4 chunks, and y has 2"):
        RobustLinearRegression().fit(lazy, t[:1000])
    with pytest.raises(ValueError, match="RobustPCA is fitted to rows in memory or in files"):
        RobustPCA(2).fit(lazy)
    model = RobustLinearRegression(Huber()).fit(lazy, t)
    with pytest.raises(ValueError, match="return_interval is for rows in memory"):
        model.predict(lazy, return_interval=0.9)
