"""The types of arrays that signatures name."""

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Index", "Mask"]

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]
Index = npt.NDArray[np.intp]
