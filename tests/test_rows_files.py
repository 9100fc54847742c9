"""Rows in files: each chunk is read once, whole blocks are checked, nothing row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmpe.rows.files import Reader
from kmpe.rows.source import Rows


class Chunked:
    """An array that is kept in chunks, like HDF5's: slices only, and it remembers them."""

    def __init__(self, X, chunk=None):
        self._X, self.shape = X, X.shape
        self.chunks = None if chunk is None else (chunk, X.shape[1])
        self.reads = []

    def __getitem__(self, where):
        assert isinstance(where, slice), "a chunked file is slow for lists of rows"
        self.reads.append((where.start or 0, where.stop))
        return self._X[where]

    def touched(self, chunk):
        """Return which chunks each read has to open."""
        return [set(range(a // chunk, (b - 1) // chunk + 1)) for a, b in self.reads]


def numbers(n, d=3):
    return np.arange(float(n * d)).reshape(n, d)


@given(
    n=st.integers(1, 300),
    chunk=st.integers(1, 100),
    rows=st.lists(st.integers(0, 299), min_size=1, max_size=50),
)
def test_some_rows_are_read_chunk_by_chunk_each_once(n, chunk, rows):
    where = np.array(rows) % n
    file = Chunked(numbers(n), chunk)
    reader = Reader(file)
    file.reads.clear()
    np.testing.assert_array_equal(reader[where], numbers(n)[where])
    opened = file.touched(chunk)
    assert all(len(chunks) == 1 for chunks in opened)
    assert sorted(c for chunks in opened for c in chunks) == sorted(set((where // chunk).tolist()))


def test_without_chunks_neighbours_are_read_together():
    file = Chunked(numbers(100_000))
    reader = Reader(file)
    file.reads.clear()
    where = np.arange(0, 100_000, 7)
    np.testing.assert_array_equal(reader[where], numbers(100_000)[where])
    assert len(file.reads) < len(where) / 100


@given(n=st.integers(1, 200), start=st.integers(0, 220), length=st.integers(0, 220))
def test_a_slice_is_one_read(n, start, length):
    file = Chunked(numbers(n), 16)
    reader = Reader(file)
    file.reads.clear()
    where = slice(start, start + length)
    np.testing.assert_array_equal(reader[where], numbers(n)[where])
    assert len(file.reads) == 1


def test_a_pass_reads_every_row_once_and_no_large_part_at_a_time():
    n = 400_000
    file = Chunked(numbers(n), 1000)
    rows = Rows.inputs(Reader(file))
    file.reads.clear()
    (total,) = rows.total(lambda block: (block.H.sum(axis=0),))
    np.testing.assert_allclose(total, numbers(n).sum(axis=0))
    read = np.concatenate([np.arange(a, b) for a, b in sorted(file.reads)])
    np.testing.assert_array_equal(read, np.arange(n))
    assert max(b - a for a, b in file.reads) <= n / 2


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("how", [slice(10, 90), np.array([5, 42, 60])])
def test_the_first_row_that_is_no_number_is_named(bad, how):
    X = numbers(100)
    X[42, 1] = X[60, 0] = bad
    with pytest.raises(ValueError, match="NaN or infinity, first in row 42"):
        Reader(Chunked(X, 10))[how]


def test_rows_that_are_not_asked_for_are_not_judged():
    X = numbers(100)
    X[42] = np.nan
    np.testing.assert_array_equal(Reader(Chunked(X, 10))[:42], X[:42])


def test_sums_that_overflow_are_not_taken_for_bad_rows():
    X = np.full((4, 2), 1e308)
    np.testing.assert_array_equal(Reader(Chunked(X, 2))[:], X)


@pytest.mark.parametrize(
    ("given_type", "kept"), [("f4", "f4"), ("f8", "f8"), ("i8", "f8"), ("?", "f8"), ("f2", "f8")]
)
def test_single_precision_stays_and_everything_else_is_double(given_type, kept):
    X = numbers(20).astype(given_type)
    reader = Reader(Chunked(X, 8))
    assert reader.dtype == kept
    assert reader[:3].dtype == reader[np.array([1, 5])].dtype == kept
    np.testing.assert_array_equal(reader[np.array([1, 5])], X[[1, 5]].astype(kept))


def test_a_memory_map_is_read_like_any_other(tmp_path):
    np.save(tmp_path / "X.npy", numbers(500))
    reader = Reader(np.load(tmp_path / "X.npy", mmap_mode="r"))
    assert len(reader) == 500
    where = np.array([499, 0, 0, 250])
    np.testing.assert_array_equal(reader[where], numbers(500)[where])
    np.testing.assert_array_equal(reader[490:], numbers(500)[490:])


def test_hdf5(tmp_path):
    h5py = pytest.importorskip("h5py", reason="HDF5 files need h5py, which is not installed")
    with h5py.File(tmp_path / "X.h5", "w") as file:
        data = file.create_dataset("X", data=numbers(500), chunks=(32, 3))
        where = np.array([499, 0, 0, 250])
        np.testing.assert_array_equal(Reader(data)[where], numbers(500)[where])


def test_zarr(tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr arrays need zarr, which is not installed")
    data = zarr.open(str(tmp_path / "X"), mode="w", shape=(500, 3), chunks=(32, 3), dtype="f8")
    data[:] = numbers(500)
    where = np.array([499, 0, 0, 250])
    np.testing.assert_array_equal(Reader(data)[where], numbers(500)[where])
