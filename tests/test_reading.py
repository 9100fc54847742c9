"""Inputs that are not in memory, and hidden layers that would not fit."""

import numpy as np
import pytest

from kmpe import KMPE, ELMClassifier, ELMRegressor
from kmpe.estimators.inputs import BlockReader, is_read_by_block
from kmpe.rows.threads import free_memory


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


@pytest.fixture
def data():
    rng = np.random.RandomState(0)
    X = rng.normal(size=(60_000, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=len(X))
    y[::10] += 5
    return X, y


@pytest.fixture
def mapped(data, tmp_path):
    X, _ = data
    file = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", X.dtype, X.shape)
    file[:] = X
    file.flush()
    return np.load(tmp_path / "X.npy", mmap_mode="r")


def model(**params):
    return ELMRegressor(KMPE(p=2, sigma=0.5), n_hidden=40, random_state=0, **params)


def test_memory_map_gives_the_fit_of_the_array(data, mapped):
    X, y = data
    inside, outside = model().fit(X, y), model().fit(mapped, y)
    np.testing.assert_array_equal(inside.coef_, outside.coef_)
    np.testing.assert_array_equal(inside.predict(X), outside.predict(mapped))
    assert outside.n_features_in_ == 3


def test_sliced_object_is_read_block_by_block(data):
    X, y = data
    sliced = Sliced(X)
    fitted = model(memory_limit=0).fit(sliced, y)
    np.testing.assert_array_equal(fitted.coef_, model().fit(X, y).coef_)
    assert sliced.longest < len(X) / 2


def test_limit_of_memory_does_not_change_the_fit(data):
    X, y = data
    np.testing.assert_array_equal(
        model(memory_limit=0).fit(X, y).coef_, model(memory_limit=1e9).fit(X, y).coef_
    )


def test_hidden_layer_is_kept_only_within_the_limit(data, monkeypatch):
    from kmpe.rows.source import Rows

    kept = []
    stored = Rows.stored
    monkeypatch.setattr(
        Rows, "stored", lambda self, dtype: kept.append(dtype) or stored(self, dtype)
    )
    X, y = data
    size = X.shape[0] * 40 * 8
    model(memory_limit=size - 1).fit(X, y)
    assert not kept
    model(memory_limit=size).fit(X, y)
    assert len(kept) == 1


def test_single_precision_stays_single(data):
    X, y = data
    fitted = model().fit(X.astype(np.float32), y)
    assert fitted.coef_.dtype == np.float32
    assert fitted.transform_hidden(X[:5].astype(np.float32)).dtype == np.float32
    assert fitted.predict(X[:5].astype(np.float32)).dtype == np.float32


def test_bad_block_is_refused(data):
    X, y = data
    X[50_000, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model().fit(Sliced(X), y)


def test_wrong_lengths_are_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model().fit(Sliced(X), y[:-1])


def test_wrong_width_is_refused(data):
    X, y = data
    with pytest.raises(ValueError, match="features"):
        model().fit(X, y).predict(Sliced(X[:, :2]))


def test_classifier_reads_slices(data):
    X, _ = data
    y = (X[:, 0] > 0).astype(int)
    sliced = ELMClassifier(n_hidden=20, random_state=0).fit(Sliced(X), y)
    whole = ELMClassifier(n_hidden=20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(sliced.coef_, whole.coef_)


def test_what_is_in_memory_is_not_read_by_block(data, mapped):
    import pandas as pd
    from scipy.sparse import csr_matrix

    X, _ = data
    assert is_read_by_block(mapped)
    assert is_read_by_block(Sliced(X))
    for inside in (X, pd.DataFrame(X), csr_matrix(X), X.tolist()[:3]):
        assert not is_read_by_block(inside)


def test_reader_gives_the_rows_that_are_asked_for(data):
    X, _ = data
    reader = BlockReader(Sliced(X))
    np.testing.assert_array_equal(reader[3:7], X[3:7])
    np.testing.assert_array_equal(reader[np.array([1, 5, 5])], X[[1, 5, 5]])
    assert len(reader) == len(X)


@pytest.mark.parametrize("limit", [-1, "2GB"])
def test_impossible_memory_limit_is_refused(data, limit):
    X, y = data
    with pytest.raises(ValueError, match="memory_limit"):
        model(memory_limit=limit).fit(X[:100], y[:100])


def test_free_memory_is_a_number_of_bytes(monkeypatch, tmp_path):
    assert free_memory() > 1 << 20
    monkeypatch.setattr("kmpe.rows.threads._MEMINFO", tmp_path / "absent")
    assert free_memory() > 1 << 20
