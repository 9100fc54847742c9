"""Rows that are not in memory: a memory map, an HDF5 or a zarr array, anything with row slices.

They are never copied or checked as a whole: each block is checked when it is read. Some of the
rows are read chunk by chunk, each chunk once, never row by row.
"""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Index

__all__ = ["Reader", "Subset"]


class Reader:
    """Rows of X, read and checked when they are asked for.

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
        # A memory map is read by several threads at once; a file's own reader may not allow it.
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
        # Grouped by one sort: a comparison for each chunk would take chunks times rows.
        order = np.argsort(chunks, kind="stable")
        borders = np.flatnonzero(np.diff(chunks[order])) + 1
        for inside in np.split(order, borders):
            first, last = int(where[inside].min()), int(where[inside].max())
            read = self._checked(self._slice(slice(first, last + 1)), first)
            rows[inside] = read[where[inside] - first]
        return rows

    def _chunks_of(self, where: Index) -> Index:
        """Return the number of the chunk that each row is in: rows that the file keeps together."""
        starts, chunks = (getattr(self._X, name, None) for name in ("starts", "chunks"))
        if starts is not None:
            return np.asarray(np.searchsorted(starts, where, side="right"))
        size = 256 << 10  # bytes read at a time where the file has no chunks of its own
        rows = int(chunks[0]) if chunks else max(1, size // (8 * max(1, self.shape[1])))
        return np.asarray(where // rows)

    def _slice(self, where: slice) -> npt.NDArray[Any]:
        if self._lock is None:
            return np.asarray(self._X[where])
        with self._lock:
            return np.asarray(self._X[where])

    def _checked(self, rows: npt.NDArray[Any], first: int) -> npt.NDArray[Any]:
        rows = np.asarray(rows, dtype=self.dtype)
        # One sum is finite where all values are: the values are looked at only where it is not.
        with np.errstate(over="ignore", invalid="ignore"):
            if not np.isfinite(rows.sum()) and not np.isfinite(rows).all():
                bad = first + int(np.flatnonzero(~np.isfinite(rows).all(axis=1))[0])
                raise ValueError(f"Input X contains NaN or infinity, first in row {bad}")
        return rows


class Subset:
    """Some rows of a `Reader`, in an order of their own, still not in memory.

    Parameters
    ----------
    reader : Reader
        The rows.
    index : array of int of shape (m,)
        Which of them.
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
        """Return all rows in memory, for an estimator that wants them so."""
        return np.asarray(self[:], dtype=dtype)
