"""Products of rows with a matrix, with digits that do not depend on the other rows.

BLAS multiplies tiles of rows; the rows left over, and a single one, are computed by other
instructions with other last digits. A sample of the rows would then differ from the same rows in
their blocks, and a fit on a cluster from one in memory.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.foreign import asarray

__all__ = ["row_products"]


# Whole tiles have multiples of 4 or 8 rows and columns, with AVX2 and with AVX-512.
_TILE = 8


def row_products(X: Any, W: npt.NDArray[Any]) -> Array:
    """Return X W. Rows of a NumPy array, and columns of W, are filled up to whole tiles.

    Examples
    --------
    >>> row_products(np.eye(2), np.array([[1.0], [2.0]]))
    array([[1.],
           [2.]])
    """
    n, width = X.shape[0], W.shape[1]
    if not isinstance(X, np.ndarray) or n % _TILE == width % _TILE == 0:
        return asarray(X @ W)
    if n % _TILE:
        X = np.concatenate([X, np.zeros((-n % _TILE, X.shape[1]), X.dtype)])
    if width > _TILE and width % _TILE:  # a single tile has no rest
        W = np.concatenate([W, np.zeros((len(W), -width % _TILE), W.dtype)], axis=1)
    return asarray((X @ W)[:n, :width])
