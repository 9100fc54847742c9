"""Rows that are not in memory: memory maps, HDF5 and zarr arrays, anything with row slices.

They are never copied or checked as a whole: each block is checked when it is read. A selection of
rows is read chunk by chunk, each chunk once.
"""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Index

__all__ = ["Reader", "Subset"]


class Reader:
    """Rows of X, read and checked on access.

    Parameters
    ----------
    X : object
        With ``shape`` and row slices, such as a `numpy.memmap` or an HDF5 or zarr array.
    """

    ndim = 2

    def __init__(self, X: Any) -> None:
        self._X = X
        self.shape: tuple[int, int] = tuple(X.shape)
        kind = np.asarray(X[:1]).dtype
        self.dtype: np.dtype[Any] = np.dtype(np.float32 if kind == np.float32 else np.float64)
        # Several threads may read a memory map at once; other readers may not be thread-safe.
        self._lock = None if isinstance(X, np.ndarray) else threading.Lock()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: slice | Index) -> npt.NDArray[Any]:
        if isinstance(where, slice):
            return self._checked(self._slice(where), where.start or 0)
        rows = np.empty((len(where), self.shape[1]), self.dtype)
        if len(where) == 0:
            return rows
        chunks = self._chunks_of(where)
        # Grouped by one sort: comparing every row with every chunk would be slow.
        order = np.argsort(chunks, kind="stable")
        borders = np.flatnonzero(np.diff(chunks[order])) + 1
        for inside in np.split(order, borders):
            first, last = int(where[inside].min()), int(where[inside].max())
            read = self._checked(self._slice(slice(first, last + 1)), first)
            rows[inside] = read[where[inside] - first]
        return rows

    def _chunks_of(self, where: Index) -> Index:
        """Return the index of the chunk of each row."""
        starts, chunks = (getattr(self._X, name, None) for name in ("starts", "chunks"))
        if starts is not None:
            return np.asarray(np.searchsorted(starts, where, side="right"))
        size = 256 << 10  # bytes per read if the file is not chunked
        rows = int(chunks[0]) if chunks else max(1, size // (8 * max(1, self.shape[1])))
        return np.asarray(where // rows)

    def _slice(self, where: slice) -> npt.NDArray[Any]:
        if self._lock is None:
            return np.asarray(self._X[where])
        with self._lock:
            return np.asarray(self._X[where])

    def _checked(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        rows = np.asarray(rows, dtype=self.dtype)
        # If the sum is finite all values are; only otherwise is each value checked.
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(rows.sum()) and not np.isfinite(rows).all():
                bad = first + int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
                raise ValueError(f"Input X contains NaN or infinity, first in row {bad}")
        return rows


class Subset:
    """Some rows of a `Reader`, in any order, not in memory.

    Parameters
    ----------
    reader : Reader
        The rows.
    index : array of int of shape (m,)
        Their indices.
    """

    def __init__(self, reader: Reader, index: Index) -> None:
        self._reader = reader
        self._index = np.asarray(index, dtype=np.intp)
        self.shape: tuple[int, int] = (len(self._index), reader.shape[1])

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: slice | Index) -> npt.NDArray[Any]:
        return self._reader[self._index[where]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Return all rows as an array, for estimators that need one."""
        return np.asarray(self[:], dtype=dtype)
