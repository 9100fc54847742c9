"""HDF5 and zarr by their path: the fit is that of the memory map."""

import numpy as np
import pytest

import kmpe
from kmpe import RobustLinearRegression, RobustPCA

h5py = pytest.importorskip("h5py", reason="make test-integrations has it")
zarr = pytest.importorskip("zarr", reason="make test-integrations has it")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 3))
    y = X @ [1.0, 2.0, 3.0] + rng.laplace(size=9000)
    y[:500] += 40
    np.save(folder / "X.npy", X)
    for name, rows in (
        ("one.h5", slice(None)),
        ("parts/a.h5", slice(4000)),
        ("parts/b.h5", slice(4000, None)),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        with h5py.File(folder / name, "w") as file:
            file.create_dataset("X", data=X[rows], chunks=(700, 3), compression="gzip")
            file.create_dataset("y", data=y[rows])
    group = zarr.open_group(str(folder / "group.zarr"), mode="w")
    for name, values, chunks in (("X", X, (650, 2)), ("y", y, (1000,))):
        group.create_array(name, shape=values.shape, chunks=chunks, dtype="f8")[:] = values
    both = np.column_stack([X, y])
    array = zarr.open(
        str(folder / "plain"), mode="w", shape=both.shape, chunks=(640, 4), dtype="f8"
    )
    array[:] = both
    return folder, X, y


@pytest.mark.parametrize(
    ("name", "target"), [("one.h5", "y"), ("parts", "y"), ("group.zarr", "y"), ("plain", 3)]
)
def test_files_equal_the_memory_map(saved, name, target):
    folder, _, y = saved
    by_map = RobustLinearRegression().fit(np.load(folder / "X.npy", mmap_mode="r"), y)
    X, t = kmpe.rows.open(folder / name, target=target)
    np.testing.assert_array_equal(t, y)
    np.testing.assert_allclose(RobustLinearRegression().fit(X, t).coef_, by_map.coef_, rtol=1e-10)
    components = RobustPCA(2).fit(np.load(folder / "X.npy", mmap_mode="r")).components_
    np.testing.assert_allclose(RobustPCA(2).fit(X).components_, components, atol=1e-10)


def test_the_inputs_are_named_where_there_are_several_tables(saved, tmp_path):
    _, X, _ = saved
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["one"], file["other"] = X, X + 1
    with pytest.raises(ValueError, match="inputs= must name the array of inputs"):
        kmpe.rows.open(tmp_path / "x.h5")
    np.testing.assert_array_equal(kmpe.rows.open(tmp_path / "x.h5", inputs="other").X[:], X + 1)
    with pytest.raises(ValueError, match="has no array 'y'; it has one, other"):
        kmpe.rows.open(tmp_path / "x.h5", target="y")
