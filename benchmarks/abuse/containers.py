"""What a table may come in: types of numbers, and arrays, frames and sparse matrices."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

# int8 holds no more.
_MOST = 100.0


@dataclass(frozen=True)
class Container:
    """A way to hand over numbers: which numbers it holds, and the object that holds them."""

    rounded: Callable[[np.ndarray], np.ndarray]
    made: Callable[[np.ndarray], Any]
    #: Whether it holds double precision.
    exact: bool = True


def wrapped(X: np.ndarray, name: str) -> Any:
    """Return an array in a container, which holds its numbers."""
    return CONTAINERS[name].made(X)


def _same(X: np.ndarray) -> np.ndarray:
    return X


def _through(dtype: type) -> Callable[[np.ndarray], np.ndarray]:
    """Return what a type makes of numbers, as double precision."""

    def rounded(X: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", under="ignore"):
            return X.astype(dtype).astype(np.float64)

    return rounded


def _whole(X: np.ndarray) -> np.ndarray:
    size = float(np.median(np.abs(X))) or 1.0
    return np.rint(np.clip(X / size, -_MOST, _MOST))


def _binary(X: np.ndarray) -> np.ndarray:
    return (np.median(X) < X).astype(np.float64)


def _as(dtype: Any) -> Callable[[np.ndarray], Any]:
    return lambda X: X.astype(dtype)


def _read_only(X: np.ndarray) -> np.ndarray:
    X = X.copy()
    X.setflags(write=False)
    return X


def _strided(X: np.ndarray) -> np.ndarray:
    return np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2]


def _nullable(dtype: str) -> Callable[[np.ndarray], Any]:
    return lambda X: pd.DataFrame(X, columns=_names(X)).astype(dtype)


def _names(X: np.ndarray) -> list[str]:
    return [f"c{j}" for j in range(X.shape[1])]


def _long_indices(matrix: Any) -> Any:
    for name in ("indices", "indptr", "row", "col"):
        if hasattr(matrix, name):
            setattr(matrix, name, getattr(matrix, name).astype(np.int64))
    return matrix


def _memory_map(X: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryFile() as file:
        np.save(file, X)
        offset = file.tell() - X.nbytes
        return np.memmap(file, np.float64, "r", offset, X.shape)


CONTAINERS = {
    "array": Container(_same, np.array),
    "fortran": Container(_same, np.asfortranarray),
    "read-only": Container(_same, _read_only),
    "strided": Container(_same, _strided),
    "masked": Container(_same, np.ma.masked_array),
    "list": Container(_same, lambda X: X.tolist()),
    "longdouble": Container(_same, _as(np.longdouble)),
    "float32": Container(_through(np.float32), _as(np.float32), exact=False),
    "float16": Container(_through(np.float16), _as(np.float16), exact=False),
    "int64": Container(_whole, _as(np.int64)),
    "int8": Container(_whole, _as(np.int8)),
    "bool": Container(_binary, _as(bool)),
    "pandas": Container(_same, lambda X: pd.DataFrame(X, columns=_names(X))),
    "pandas Float64": Container(_same, _nullable("Float64")),
    "pandas Int64": Container(_whole, _nullable("Int64")),
    "pandas boolean": Container(_binary, _nullable("boolean")),
    "polars": Container(_same, lambda X: pl.DataFrame(X, schema=_names(X))),
    "csr": Container(_same, lambda X: _long_indices(sparse.csr_matrix(X))),
    "csc": Container(_same, lambda X: _long_indices(sparse.csc_array(X))),
    "coo": Container(_same, lambda X: _long_indices(sparse.coo_matrix(X))),
    "memory map": Container(_same, _memory_map),
}
