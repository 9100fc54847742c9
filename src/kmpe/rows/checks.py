"""Checks that sums of squares of values and weights neither overflow nor underflow."""

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Mask

__all__ = [
    "LARGEST",
    "check_range",
    "check_some_size",
    "check_some_weight",
    "check_weight_range",
    "counted_weights",
    "eleven_digits",
    "negligible",
    "nine_digits",
    "not_whole",
    "repeats",
]

#: Sums of squares of larger numbers overflow; squares of numbers below 1 / LARGEST underflow.
LARGEST = 1e150
_EPS = float(np.finfo(np.float64).eps)
# Ratios to the smallest weight are tried as fractions with denominators up to this: weights 2 and 3
# have the ratios 1 and 3/2, and twice these are integers.
_MOST_MULTIPLES = 6


def check_range(values: npt.NDArray[np.floating], what: str, advice: str) -> None:
    """Refuse values whose squares overflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest <= LARGEST:
        raise ValueError(
            f"{what} has values as large as {largest:.3g}, too large to square: {advice}"
        )


def check_some_size(values: npt.NDArray[np.floating], what: str) -> None:
    """Refuse nonzero values whose squares all underflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if 0 < largest < 1 / LARGEST:
        raise ValueError(
            f"{what} has no value above {largest:.3g}, too small to square: rescale {what}"
        )


def check_some_weight(a: Array) -> Array:
    """Return sample weights, of which at least one must be positive."""
    if not a.any():
        raise ValueError("every sample_weight is zero: at least one row must count")
    return a


def check_weight_range(a: Array) -> Array:
    """Return sample weights, of which at least one must be positive; negligible ones become 0."""
    largest = float(check_some_weight(a).max())
    least = negligible(largest)
    too_small = a < least
    return np.where(too_small, 0.0, a) if too_small.any() else a


def negligible(largest: float) -> float:
    """Return the size below which sample weights are rounding, given the largest of them."""
    if not 1 / LARGEST <= largest <= LARGEST:
        raise ValueError(
            f"sample_weight has values as large as {largest:.3g}, and sums of squares in that unit "
            "overflow or vanish: divide it by its mean"
        )
    return _EPS * largest


def counted_weights(a: Array, T: Array | None = None) -> tuple[Array, float]:
    """Return sample weights as multiples of a unit, so that they count rows, and the unit.

    Choices depend on the number of rows, and must not depend on the unit of the weights. Weights in
    the ratio of small integers are numbers of repeats; for others the unit is the mean, and they
    are rounded to nine digits, which are the same in every unit. Targets T whose squares overflow
    in that unit are refused.
    """
    positive = a[a > 0]
    counts = repeats(positive)
    # Neither depends on the order of the rows.
    unit = float(np.sort(positive).mean() if counts is None else positive.min() / counts.min())
    if T is not None and unit > 1:
        with np.errstate(over="ignore"):
            check_range(
                T * np.sqrt(unit), "y, times the root of sample_weight,", "rescale one of them"
            )
    if counts is None:
        return nine_digits(a / unit), unit
    counted = np.zeros(len(a))
    counted[a > 0] = counts
    return counted, unit


def nine_digits(a: Array) -> Array:
    """Return weights rounded to nine digits, as in `not_whole`.

    In another unit a weight differs by a few units in its last place, 2⁻⁵³ of it, and is rounded
    the other way if it lies so near to the middle of two numbers of b bits: about once in 2^(52-b)
    weights, here in 4 million. With eleven digits it would be once in 65 000.
    """
    return _rounded(a, 30)


def eleven_digits(values: Array) -> Array:
    """Return values rounded to eleven digits."""
    return _rounded(values, 36)


def _rounded(values: Array, bits: int) -> Array:
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissa, bits)), exponent - bits))


def repeats(a: Array) -> Array | None:
    """Return the number of repeats of each row, if positive weights are in integer ratios."""
    least = float(a.min())
    fractions = not_whole(a, least)
    if fractions.all():
        return None
    return np.asarray(np.rint((1 + int(np.argmin(fractions))) * (a / least)))


def not_whole(a: Array, least: float) -> Mask:
    """Return for which of the first multiples of a / least some are not integers."""
    ratio = a / least
    multiples = np.arange(1, _MOST_MULTIPLES + 1)
    # Above 1e8 every number is an integer to nine digits.
    if ratio.max(initial=0.0) > 1e8:
        return np.ones(len(multiples), dtype=np.bool_)
    return np.array([(np.abs(np.rint(r) - r) > 1e-9 * r).any() for r in multiples[:, None] * ratio])
