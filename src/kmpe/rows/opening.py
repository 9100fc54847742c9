"""Tables in files, opened by their path: Parquet, HDF5, zarr, NumPy's own, and folders of them."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kmpe.rows.chunks import Chunk, Chunks

__all__ = ["Table", "open_table"]

Target = str | int | Sequence[str] | Sequence[int] | None

_SUFFIXES = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".h5": "hdf5",
    ".hdf5": "hdf5",
    ".zarr": "zarr",
    ".npy": "npy",
}


class Table(NamedTuple):
    """Inputs that are read block by block, and targets in memory (None without a target).

    See Also
    --------
    kmpe.rows.open : Returns one.

    Examples
    --------
    >>> import tempfile
    >>> import kmpe
    >>> path = Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> table = kmpe.rows.open(path, target=-1)
    >>> table.X.shape, table.y
    ((3, 1), array([1., 3., 5.]))
    """

    X: Any
    y: npt.NDArray[Any] | None


def open_table(path: str | Path, target: Target = None, *, inputs: str | None = None) -> Table:
    """Open a table that need not fit into memory, to fit an estimator to it.

    Parameters
    ----------
    path : str or Path
        A Parquet file (``.parquet``), an HDF5 file (``.h5``, ``.hdf5``), a zarr array or group, an
        array saved by NumPy (``.npy``), or a folder with files of one of these kinds, which are
        read in the order of their names.
    target : str or int, or several, optional
        Which columns are the targets: names of columns (Parquet), the name of an array (HDF5 and
        zarr groups), or numbers of columns (arrays; -1 is the last). The others are inputs.
    inputs : str, optional
        The name of the array of inputs in an HDF5 file or a zarr group; by default the only one
        with two dimensions that is not the target.

    Returns
    -------
    Table
        A named tuple of X, which estimators read block by block, and y, an array in memory.

    See Also
    --------
    kmpe.table.fit : From a file to a report.

    Examples
    --------
    >>> import tempfile
    >>> import kmpe
    >>> folder = Path(tempfile.mkdtemp())
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 2))
    >>> np.save(folder / "rows.npy", np.column_stack([X, X @ [1.0, 2.0]]))
    >>> X, y = kmpe.rows.open(folder / "rows.npy", target=-1)
    >>> kmpe.RobustLinearRegression(kmpe.Huber()).fit(X, y).coef_.round(6)
    array([1., 2.])
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"{path} does not exist")
    kind = _kind(path)
    if kind == "parquet":
        return _parquet(path, target)
    files = [path] if path.is_file() or kind == "zarr" else _files(path)
    if kind == "npy":
        arrays = [np.load(file, mmap_mode="r", allow_pickle=False) for file in files]
        return _columns(arrays, path, target)
    stores = [_store(file, kind) for file in files]
    if hasattr(stores[0], "shape"):
        return _columns(stores, path, target)
    return _arrays(stores, path, target, inputs)


def _kind(path: Path) -> str:
    """Return the format of a file, or of the files of a folder."""
    if path.suffix.lower() in _SUFFIXES:
        return _SUFFIXES[path.suffix.lower()]
    if path.is_dir():
        if any((path / name).exists() for name in ("zarr.json", ".zarray", ".zgroup")):
            return "zarr"
        kinds = {_SUFFIXES.get(file.suffix.lower(), file.suffix) for file in _files(path)}
        known = kinds & set(_SUFFIXES.values())
        if len(kinds) == len(known) == 1:
            return known.pop()
        found = ", ".join(sorted(kinds)) or "nothing"
        raise ValueError(f"{path} must contain files of one kind, and contains {found}")
    known_ones = ", ".join(sorted(_SUFFIXES))
    raise ValueError(f"{path} ends in {path.suffix!r}, which is none of {known_ones}")


def _files(folder: Path) -> list[Path]:
    """Return the files of a folder and its subfolders, sorted by name."""
    visible = (path for path in folder.rglob("*") if not path.name.startswith((".", "_")))
    return sorted(path for path in visible if path.is_file())


def _module(name: str, path: Path) -> Any:
    try:
        return import_module(name)
    except ImportError as missing:
        package = name.split(".")[0]
        raise ImportError(
            f"{path} needs {package}, which is not installed: pip install 'kmpe[files]'"
        ) from missing


def _parquet(path: Path, target: Target) -> Table:
    """Return the inputs by row group, and the columns of the targets."""
    dataset = _module("pyarrow.dataset", path).dataset(path, format="parquet")
    names = list(dataset.schema.names)
    targets = _several(target)
    strange = [name for name in targets if name not in names]
    if strange:
        raise ValueError(f"{path} has no column {strange[0]!r}; it has {', '.join(names[:8])}")
    columns = [name for name in names if name not in targets]
    kinds = [dataset.schema.field(name).type.to_pandas_dtype() for name in columns]
    for name, kind in zip(columns, kinds, strict=True):
        if np.dtype(kind).kind not in "fiub":
            raise ValueError(
                f"column {name!r} of {path} does not contain numbers: encode it, or leave it out"
            )
    dtype = np.float32 if all(kind is np.float32 for kind in kinds) else np.float64

    def read(part: Any) -> npt.NDArray[Any]:
        table = part.to_table(columns=columns)
        rows = np.empty((table.num_rows, len(columns)), dtype)
        for j, column in enumerate(table.itercolumns()):
            rows[:, j] = column.to_numpy()
        return rows

    chunks = [
        # count_rows() of a fragment counts the whole file (pyarrow 26).
        Chunk(sum(group.num_rows for group in part.row_groups), partial(read, part))
        for fragment in dataset.get_fragments()
        for part in fragment.split_by_row_group()
    ]
    y = None
    if targets:
        table = dataset.to_table(columns=targets)
        y = np.column_stack([column.to_numpy() for column in table.itercolumns()])
        y = y[:, 0] if isinstance(target, str) else y
    return Table(Chunks(chunks, len(columns), dtype), y)


def _store(path: Path, kind: str) -> Any:
    if kind == "hdf5":
        return _module("h5py", path).File(path, "r")
    return _module("zarr", path).open(str(path), mode="r")


def _columns(arrays: list[Any], path: Path, target: Target) -> Table:
    """Return some columns of the arrays as targets and the others as inputs."""
    shapes = {array.shape[1:] for array in arrays}
    if len(shapes) != 1 or len(shape := shapes.pop()) != 1:
        raise ValueError(f"{path} must contain tables with the same number of columns")
    numbers = [column for column in _several(target) if isinstance(column, int)]
    if len(numbers) < len(_several(target)) or any(not -shape[0] <= j < shape[0] for j in numbers):
        raise ValueError(f"target={target!r} must be numbers of columns: {path} has {shape[0]}")
    if not numbers and len(arrays) == 1 and isinstance(arrays[0], np.ndarray):
        return Table(arrays[0], None)
    kept = np.setdiff1d(np.arange(shape[0]), np.arange(shape[0])[numbers])
    X = _chunked(arrays, kept if numbers else None)
    if not numbers:
        return Table(X, None)
    columns = np.array(numbers, dtype=np.intp)
    y = np.concatenate([part.read(columns) for array in arrays for part in _slices(array)])
    return Table(X, y[:, 0] if isinstance(target, int) else y)


def _arrays(stores: list[Any], path: Path, target: Target, inputs: str | None) -> Table:
    """Return one array of each store as inputs, and another as targets."""
    for name in (target, inputs):
        if name is not None and not (isinstance(name, str) and all(name in s for s in stores)):
            has = ", ".join(sorted(stores[0])) or "none"
            raise ValueError(f"{path} has no array {name!r}; it has {has}")
    if inputs is None:
        tables = [name for name in stores[0] if getattr(stores[0][name], "ndim", 0) == 2]
        others = [name for name in tables if name != target]
        if len(others) != 1:
            has = ", ".join(others) or "none"
            raise ValueError(f"inputs= must name the array of inputs; {path} has {has}")
        inputs = others[0]
    X = _chunked([store[inputs] for store in stores], None)
    if target is None:
        return Table(X, None)
    return Table(X, np.concatenate([np.asarray(store[target][:]) for store in stores]))


def _chunked(arrays: list[Any], kept: npt.NDArray[np.intp] | None) -> Chunks:
    """Return all columns of several arrays, or some, as chunks."""
    chunks = [Chunk(len(part), partial(part.read, kept)) for a in arrays for part in _slices(a)]
    single = all(array.dtype == np.float32 for array in arrays)
    width = arrays[0].shape[1] if kept is None else len(kept)
    return Chunks(chunks, width, np.float32 if single else np.float64)


class _Slice(NamedTuple):
    """Some rows of an array in a file."""

    array: Any
    where: slice

    def __len__(self) -> int:
        return int(self.where.stop - self.where.start)

    def read(self, kept: npt.NDArray[np.intp] | None = None) -> npt.NDArray[Any]:
        rows = np.asarray(self.array[self.where])
        return rows if kept is None else rows[:, kept]


def _slices(array: Any) -> list[_Slice]:
    """Return the chunks of an array; pieces of 8 MB if it is not chunked."""
    n, per_row = array.shape[0], array.dtype.itemsize * array.shape[1]
    chunks = getattr(array, "chunks", None)
    size = int(chunks[0]) if chunks else max(1, (8 << 20) // max(1, per_row))
    return [_Slice(array, slice(i, min(i + size, n))) for i in range(0, n, size)]


def _several(target: Target) -> list[Any]:
    if target is None:
        return []
    return [target] if isinstance(target, str | int) else list(target)
