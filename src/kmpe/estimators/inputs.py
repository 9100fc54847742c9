"""Inputs: checked whole when they are in memory, block by block when they are not.

Anything with a shape and row slices will do, such as a memory map, an HDF5 or a zarr array. It
is never copied or checked as a whole: each block is checked when it is read.
"""

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_y,
    check_array,
    check_consistent_length,
    validate_data,
)

__all__ = ["BlockReader", "is_read_by_block", "read", "read_with_targets"]

_PRECISIONS = [np.float64, np.float32]


def read(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return X checked, or a reader that checks its blocks."""
    if is_read_by_block(X):
        return validate_data(estimator, BlockReader(X), reset=reset, skip_check_array=True)
    return validate_data(estimator, X, accept_sparse="csr", dtype=_PRECISIONS, reset=reset)


def read_with_targets(
    estimator: BaseEstimator, X: Any, y: Any, *, numeric: bool, reset: bool
) -> tuple[Any, npt.NDArray[Any]]:
    """Return X as `read` does, and y checked; numeric targets may have several columns."""
    if is_read_by_block(X):
        X = read(estimator, X, reset=reset)
        y = _check_y(y, multi_output=numeric, y_numeric=numeric, estimator=estimator)
        check_consistent_length(X, y)
        return X, y
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=_PRECISIONS,
        multi_output=numeric,
        y_numeric=numeric,
        reset=reset,
    )
    return X, y


def is_read_by_block(X: object) -> bool:
    """Return whether X is something to slice rather than to load.

    Arrays, sparse matrices and data frames are in memory already.
    """
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap) and X.ndim == 2
    if issparse(X) or hasattr(X, "columns") or hasattr(X, "__array_namespace__"):
        return False
    sliceable = hasattr(X, "shape") and hasattr(X, "__getitem__")
    return sliceable and len(X.shape) == 2  # type: ignore[attr-defined]


class BlockReader:
    """Rows of X, read and checked when they are asked for.

    Parameters
    ----------
    X : object
        With ``shape`` and row slices, such as a `numpy.memmap` or an HDF5 or zarr array.
    """

    def __init__(self, X: Any) -> None:
        self._X = X
        self.shape: tuple[int, int] = tuple(X.shape)
        first = check_array(np.asarray(X[:1]), dtype=_PRECISIONS)
        self.dtype: np.dtype[Any] = first.dtype
        self.ndim = 2
        # A memory map is read by several threads at once; a file's own reader may not allow it.
        self._lock = None if isinstance(X, np.ndarray) else threading.Lock()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        return np.asarray(check_array(self._read(where), dtype=self.dtype))

    def _read(self, where: slice | npt.NDArray[np.intp]) -> npt.NDArray[Any]:
        if self._lock is None:
            return np.asarray(self._X[where])
        with self._lock:
            if isinstance(where, slice):
                return np.asarray(self._X[where])
            # Row by row: slices are all that was promised.
            return np.concatenate([np.asarray(self._X[int(i) : int(i) + 1]) for i in where])
