"""Tables by their path: the fit is that of the memory map, and each chunk is decoded once."""

import subprocess
import sys

import numpy as np
import pytest

import kmpe
from kmpe import ELMRegressor, Huber, RobustLinearRegression, RobustPCA
from kmpe.rows.chunks import Chunk, Chunks
from kmpe.rows.files import Reader
from kmpe.rows.source import Rows

pa = pytest.importorskip("pyarrow", reason="Parquet files need pyarrow, which is not installed")
pq = pytest.importorskip(
    "pyarrow.parquet", reason="Parquet files need pyarrow, which is not installed"
)


def table(n=12_000, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    y = X @ np.arange(1.0, d + 1) + rng.standard_t(3, size=n)
    y[: n // 10] += 50
    return X, y


def as_parquet(X, y, path, rows=1000):
    columns = {f"x{j}": X[:, j] for j in range(X.shape[1])}
    pq.write_table(pa.table({**columns, "y": y}), path, row_group_size=rows)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    X, y = table()
    np.save(folder / "X.npy", X)
    np.save(folder / "both.npy", np.column_stack([X, y]))
    as_parquet(X, y, folder / "one.parquet")
    (folder / "many").mkdir()
    (folder / "arrays").mkdir()
    for i, rows in enumerate(np.array_split(np.arange(len(X)), [10, 10, 5000])):
        as_parquet(X[rows], y[rows], folder / "many" / f"{i}.parquet", rows=777)
        np.save(folder / "arrays" / f"{i}.npy", np.column_stack([X[rows], y[rows]]))
    return folder, X, y


@pytest.mark.parametrize(
    ("name", "target"),
    [("both.npy", -1), ("one.parquet", "y"), ("many", "y"), ("arrays", 4)],
)
@pytest.mark.parametrize(
    "model",
    [
        RobustLinearRegression(),
        RobustLinearRegression(Huber()),
        ELMRegressor(n_hidden=15, random_state=0),
    ],
    ids=["adaptive", "huber", "elm"],
)
def test_files_equal_the_memory_map(saved, name, target, model):
    folder, X, y = saved
    by_map = model.fit(np.load(folder / "X.npy", mmap_mode="r"), y)
    coef, weights, predicted = by_map.coef_, by_map.weights_, by_map.predict(X)
    Z, t = kmpe.rows.open(folder / name, target=target)
    np.testing.assert_array_equal(t, y)
    by_file = model.fit(Z, t)
    np.testing.assert_allclose(by_file.coef_, coef, rtol=1e-10)
    np.testing.assert_allclose(by_file.weights_, weights, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(by_file.predict(Z), predicted, rtol=1e-10)


def test_a_pca_of_a_file_equals_that_of_the_memory_map(saved):
    folder, _, y = saved
    Z, t = kmpe.rows.open(folder / "many")
    assert t is None
    np.save(folder / "all.npy", np.column_stack([np.load(folder / "X.npy"), y]))
    by_map = RobustPCA(2).fit(np.load(folder / "all.npy", mmap_mode="r"))
    np.testing.assert_allclose(RobustPCA(2).fit(Z).components_, by_map.components_, atol=1e-10)


class Counted:
    """Chunks of rows that count how often each is decoded."""

    def __init__(self, X, lengths):
        self.reads = [0] * len(lengths)
        pieces = np.split(X, np.cumsum(lengths)[:-1])
        chunks = [Chunk(len(p), lambda i=i, p=p: self._read(i, p)) for i, p in enumerate(pieces)]
        self.rows = Chunks(chunks, X.shape[1], X.dtype)

    def _read(self, i, piece):
        self.reads[i] += 1
        return piece


def test_a_pass_decodes_each_chunk_once_though_blocks_cross_their_borders():
    X = np.arange(1_200_000.0).reshape(-1, 4)
    counted = Counted(X, [100_001, 0, 99_999, 100_000])
    (total,) = Rows.inputs(Reader(counted.rows)).total(lambda block: (block.H.sum(axis=0),))
    np.testing.assert_allclose(total, X.sum(axis=0))
    assert max(counted.reads) == 1


def test_a_sample_decodes_each_chunk_at_most_once():
    X = np.arange(4000.0).reshape(-1, 4)
    counted = Counted(X, [300, 1, 400, 299])
    reader = Reader(counted.rows)
    some = np.array([999, 0, 5, 300, 998, 0, 702])
    np.testing.assert_array_equal(reader[some], X[some])
    assert max(counted.reads) == 1
    assert counted.reads[2] == 0
    assert reader[some[:0]].shape == (0, 4)


@pytest.mark.parametrize("where", [slice(0, 0), slice(5, 5), slice(300, 301), slice(250, 5000)])
def test_any_slice_is_what_the_array_has_there(where):
    X = np.arange(4000.0).reshape(-1, 4)
    np.testing.assert_array_equal(Counted(X, [300, 1, 400, 299]).rows[where], X[where])


def test_single_precision_stays(tmp_path):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), tmp_path / "x.parquet")
    Z, _ = kmpe.rows.open(tmp_path / "x.parquet")
    assert Z.dtype == np.float32
    np.testing.assert_array_equal(Z[1:3], X[1:3])


def test_several_targets(tmp_path):
    X, y = table(200)
    as_parquet(X, y, tmp_path / "x.parquet")
    Z, t = kmpe.rows.open(tmp_path / "x.parquet", target=["y", "x0"])
    np.testing.assert_array_equal(t, np.column_stack([y, X[:, 0]]))
    np.testing.assert_array_equal(Z[:], X[:, 1:])


def test_a_missing_value_is_named_by_its_row(tmp_path):
    pq.write_table(pa.table({"x": [1.0, 2.0, None, 4.0]}), tmp_path / "x.parquet")
    Z, _ = kmpe.rows.open(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="first in row 2"):
        Reader(Z)[:]


def test_what_cannot_be_opened_is_said(tmp_path):
    X, y = table(100)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        kmpe.rows.open(tmp_path / "none.npy")
    (tmp_path / "x.csv").write_text("1,2")
    with pytest.raises(ValueError, match="none of"):
        kmpe.rows.open(tmp_path / "x.csv")
    as_parquet(X, y, tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="no column 'z'"):
        kmpe.rows.open(tmp_path / "x.parquet", target="z")
    with pytest.raises(ValueError, match=r"one kind, and contains .csv, parquet"):
        kmpe.rows.open(tmp_path)
    pq.write_table(pa.table({"name": ["a", "b"]}), tmp_path / "words.parquet")
    with pytest.raises(ValueError, match=r"'name' .* does not contain numbers"):
        kmpe.rows.open(tmp_path / "words.parquet")
    np.save(tmp_path / "x.npy", X)
    with pytest.raises(ValueError, match="numbers of columns"):
        kmpe.rows.open(tmp_path / "x.npy", target="y")
    np.save(tmp_path / "x.npy", X[0])
    with pytest.raises(ValueError, match="must contain tables"):
        kmpe.rows.open(tmp_path / "x.npy")


@pytest.mark.parametrize(
    ("name", "package"), [("x.parquet", "pyarrow"), ("x.h5", "h5py"), ("x.zarr", "zarr")]
)
def test_a_missing_package_is_told_by_its_name_and_its_extra(tmp_path, name, package):
    (tmp_path / name).touch()
    code = (
        f"import sys; sys.modules[{package!r}] = None; import kmpe\n"
        f"kmpe.rows.open({str(tmp_path / name)!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert f"needs {package}, which is not installed: pip install 'kmpe[files]'" in run.stderr
