"""What a sample of rows in a file costs beside a pass over them: a part of ``benchmarks cluster``.

The sample is that of a linear regression, 200 rows for each column, from all over the file: each
chunk is read once. The pass is one of the passes of the fit.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Line, bounded

ROWS = 20_000  # of a chunk, or a row group


def _write(folder: Path, X: np.ndarray, y: np.ndarray) -> dict[str, tuple[Path, Any]]:
    """Write Parquet, HDF5 and zarr, and return their paths with the name of the target."""
    import h5py
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zarr

    names = [f"x{j}" for j in range(X.shape[1])]
    starts = range(0, len(X), ROWS)
    schema = pa.schema([(name, pa.float64()) for name in [*names, "y"]])
    with pq.ParquetWriter(folder / "rows.parquet", schema) as writer:
        for i in starts:
            columns = [*np.asarray(X[i : i + ROWS]).T, y[i : i + ROWS]]
            writer.write_table(pa.table([pa.array(column) for column in columns], schema=schema))
    group = zarr.open_group(str(folder / "rows.zarr"), mode="w")
    with h5py.File(folder / "rows.h5", "w") as file:
        stores = [
            (file.create_dataset("X", X.shape, "f8", chunks=(ROWS, X.shape[1])), "y", file),
            (group.create_array("X", shape=X.shape, chunks=(ROWS, X.shape[1]), dtype="f8"), "y", 0),
        ]
        file.create_dataset("y", data=y)
        group.create_array("y", shape=y.shape, chunks=(ROWS,), dtype="f8")[:] = y
        for i in starts:
            for store, _, _ in stores:
                store[i : i + ROWS] = X[i : i + ROWS]
    return {
        "Parquet": (folder / "rows.parquet", "y"),
        "HDF5": (folder / "rows.h5", "y"),
        "zarr": (folder / "rows.zarr", "y"),
    }


def samples(folder: Path, n: int) -> Iterator[Line]:
    """Yield the time of a sample over that of a pass, for each kind of file."""
    import kmpe
    from kmpe.losses import Huber
    from kmpe.problems.ridge_sums import CostAndPull
    from kmpe.rows.files import Reader
    from kmpe.rows.sample import draw
    from kmpe.rows.source import Rows

    X, y = (np.load(folder / f"{name}.npy", mmap_mode="r")[:n] for name in "Xy")
    d = X.shape[1]
    for name, (path, target) in _write(folder, X, np.array(y)).items():
        opened = kmpe.rows.open(path, target=target)
        rows = Rows(Reader(opened.X), opened.y[:, None], np.ones(n))
        term = CostAndPull(np.zeros((d, 1)), Huber(1.0))

        def timed(work: Callable[[], Any]) -> float:
            start = time.perf_counter()
            work()
            return time.perf_counter() - start

        passes, drawn = [], []
        for seed in range(3):
            passes.append(timed(lambda: rows.total(term)))  # noqa: B023 - called at once
            drawn.append(timed(lambda: draw(rows, 200 * d, seed)))  # noqa: B023
        ratio = float(np.median(np.divide(drawn, passes)))
        detail = {"sample s": round(min(drawn), 2), "pass s": round(min(passes), 2)}
        yield bounded(f"a sample from {name}, {n} rows, over a pass", ratio, "x", 1, **detail)
