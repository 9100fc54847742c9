"""Rows of a sparse matrix as dense blocks; the whole matrix is never made dense."""

from typing import Any

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Index

__all__ = ["Dense"]


class Dense:
    """The rows of a CSR matrix, made dense when they are read.

    Parameters
    ----------
    X : sparse matrix of shape (n, d)
        The rows.
    """

    ndim = 2

    def __init__(self, X: Any) -> None:
        self._X = X
        self.shape: tuple[int, int] = tuple(X.shape)
        self.dtype: np.dtype[Any] = X.dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: slice | Index) -> npt.NDArray[Any]:
        return np.asarray(self._X[where].toarray())
