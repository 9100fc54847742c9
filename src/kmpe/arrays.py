"""The types of arrays that signatures name, and what is rounding in double precision."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg

__all__ = [
    "LAST_DIGITS",
    "ROUNDING",
    "SINGULAR",
    "Array",
    "Index",
    "Mask",
    "held",
    "norm",
    "squared",
]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]

#: What a sum of numbers, or of their differences, is off by, as a share of it.
LAST_DIGITS = 16 * float(np.finfo(np.float64).eps)
#: Values that differ by less than this share of them are equal but for rounding: some thousand
#: operations of 2e-16 each.
ROUNDING = 1e-12
#: Eigenvalues of a Gram matrix below this share of the largest hold nothing but rounding.
SINGULAR = 1e-13


def squared(x: float) -> float:
    """Return x², correctly rounded: that of 8x is 64 times as large to the last digit.

    ``x**2`` calls ``pow`` of the C library, which rounds one number in a thousand the other way.
    """
    return x * x


def norm(x: Array) -> float:
    """Return the Euclidean norm of all entries by BLAS, whose squares do not overflow."""
    return float(linalg.norm(x.ravel(), check_finite=False))


def held(values: Array, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return values in a precision, or in double precision if it does not hold them.

    Single precision holds neither 1e40 nor 1e-40.
    """
    limits, largest = np.finfo(dtype), float(np.abs(values).max(initial=0.0))
    low, high = float(limits.tiny / limits.eps), float(limits.max * limits.eps)
    fits = largest == 0 or low <= largest <= high
    return np.asarray(values.astype(dtype, copy=False) if fits else values)
