"""Values and weights that sums of squares can hold."""

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array

__all__ = ["LARGEST", "check_range", "check_some_weight", "weight_unit"]

#: Squares of larger numbers, summed over the rows, overflow.
LARGEST = 1e150
# Weights of 2 and 3 are in the ratio 1 to 3/2: twice that are whole numbers.
_MOST_MULTIPLES = 6


def check_range(values: npt.NDArray[np.floating], what: str, advice: str) -> None:
    """Refuse values whose squares overflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest <= LARGEST:
        raise ValueError(
            f"{what} has values as large as {largest:.3g}, too large to square: {advice}"
        )


def check_some_weight(a: Array) -> Array:
    """Return sample weights, of which some must count."""
    if not a.any():
        raise ValueError("every sample_weight is zero: at least one row must count")
    return a


def weight_unit(a: Array) -> float:
    """Return what sample weights are multiples of, so that a / unit counts rows.

    Choices depend on the number of rows, and must not depend on the unit of the weights. Weights in
    the ratio of small whole numbers are repeats; of others the mean is the unit.
    """
    positive = a[a > 0]
    ratio = positive / positive.min()
    for multiple in range(1, _MOST_MULTIPLES + 1):
        whole = np.rint(multiple * ratio)
        if np.allclose(multiple * ratio, whole, rtol=1e-9, atol=0):
            return float(positive.min()) / multiple
    return float(positive.mean())
