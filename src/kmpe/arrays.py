"""The types of arrays that signatures name, and what is rounding in double precision."""

import numpy as np
import numpy.typing as npt

__all__ = ["ROUNDING", "SINGULAR", "Array", "Index", "Mask"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]

#: Values that differ by less than this share of them are equal but for rounding: some thousand
#: operations of 2e-16 each.
ROUNDING = 1e-12
#: Eigenvalues of a Gram matrix below this share of the largest hold nothing but rounding.
SINGULAR = 1e-13
