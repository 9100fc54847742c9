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


def row_products(X: Any, W: npt.NDArray[Any]) -> Array:
    """Return X W. The rows of a NumPy array are filled up to whole tiles, of 8 rows at most.

    Examples
    --------
    >>> row_products(np.eye(2), np.array([[1.0], [2.0]]))
    array([[1.],
           [2.]])
    """
    missing = -X.shape[0] % 8
    if not isinstance(X, np.ndarray) or missing == 0:
        return asarray(X @ W)
    filled = np.concatenate([X, np.zeros((missing, X.shape[1]), X.dtype)])
    return asarray((filled @ W)[: len(X)])
