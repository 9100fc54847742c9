"""What is done to one part of a Dask collection, by whoever has it: pure functions."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kmpe.arrays import Array, Index, Mask
from kmpe.rows.checks import eleven_digits, not_whole
from kmpe.rows.parts import Part
from kmpe.rows.selection import Ordered, added, ordered
from kmpe.rows.source import Block, Features, mixture

__all__ = [
    "View",
    "block",
    "check",
    "counted",
    "fractions",
    "in_order",
    "kept_weights",
    "mapped",
    "n_targets",
    "ordered_by",
    "same",
    "some",
    "total",
    "values",
    "weight",
    "without",
]


class View(NamedTuple):
    """What is made of the rows of a part: features, and targets less a centre."""

    features: Features | None
    centre: Array


def kept_weights(least: float, part: Part) -> tuple[float, float, int]:
    """Return the least of the weights that count, their sum and their number."""
    kept = part.a[part.a >= least]
    return float(kept.min(initial=np.inf)), float(kept.sum()), len(kept)


def fractions(least: float, smallest: float, part: Part) -> Mask:
    """Return which multiples of the weights are not all whole."""
    return not_whole(part.a[part.a >= least], smallest)


def counted(least: float, unit: float, whole: bool, part: Part) -> Array:
    """Return the weights as numbers of rows."""
    a = np.where(part.a >= least, part.a, 0.0) / unit
    return np.asarray(np.rint(a)) if whole else eleven_digits(a)


def n_targets(part: Part) -> int:
    """Return the number of targets."""
    return int(part.T.shape[1])


def same(view: View, _: int) -> View:
    """Return a view: a task whose result travels to each worker once."""
    return view


def weight(a: Array) -> tuple[float, int]:
    """Return the sum of weights, and how many are not 0."""
    return float(a.sum()), int(np.count_nonzero(a))


def check(part: Part, checksum: int) -> None:
    """Refuse a part that is not the one that it was."""
    if checksum and part.checksum != checksum:
        raise ValueError(
            "a chunk was computed again and is not the one that it was: the graph of X, y or "
            "sample_weight must give the same rows every time. Seed what is random in it, and do "
            "not change its files while a model is fitted"
        )


def _slices(n: int, most: int) -> list[slice]:
    """Return equal blocks of at most ``most`` rows."""
    count = max(1, -(-n // most))
    ends = [n * i // count for i in range(count + 1)]
    return [slice(i, j) for i, j in pairwise(ends)]


def block(part: Part, a: Array, view: View, where: slice) -> Block:
    """Return some rows of a part."""
    X = part.X[where]
    H = X if view.features is None else view.features(X)
    return Block(np.asarray(H, dtype=np.float64), part.T[where] - view.centre, a[where])


def total(
    term: Callable[[Block], tuple[Array, ...]],
    most: int,
    part: Part,
    a: Array,
    checksum: int,
    view: View,
) -> tuple[Array, ...]:
    """Return the sums of a term over the blocks of a part, in their order."""
    check(part, checksum)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [term(block(part, a, view, where)) for where in _slices(len(a), most)]
    return sums[0] if len(sums) == 1 else added(*sums)


def values(
    value: Callable[[Block], Array],
    most: int,
    part: Part,
    a: Array,
    checksum: int,
    view: View,
) -> Array:
    """Return a value of every row of a part."""
    check(part, checksum)
    pieces = [value(block(part, a, view, where)) for where in _slices(len(a), most)]
    return np.concatenate(pieces)


def without(
    rule: Callable[[Block], Array],
    most: int,
    part: Part,
    a: Array,
    checksum: int,
    view: View,
) -> Array:
    """Return the weights of a part without those rows that a rule marks."""
    return np.asarray(a * (1 - values(rule, most, part, a, checksum, view)))


def mapped(
    value: Callable[[Block], Array],
    most: int,
    part: Part,
    a: Array,
    checksum: int,
    view: View,
) -> Part:
    """Return a part whose inputs are a value of every row."""
    return Part(values(value, most, part, a, checksum, view), part.T, part.a, 0)


def ordered_by(
    value: Callable[[Block], Array],
    part: Part,
    a: Array,
    checksum: int,
    view: View,
) -> Ordered:
    """Return the rows of a part in the order of a value."""
    s = values(value, len(a) + 1, part, a, checksum, view)
    # Equal values are one: their weights are added.
    distinct, inverse = np.unique(s[a > 0], return_inverse=True)
    weights = np.bincount(inverse, weights=a[a > 0], minlength=len(distinct))
    return Ordered(np.asfortranarray(distinct[:, None]), np.cumsum(weights))


def some(part: Part, a: Array, checksum: int, inside: Index) -> tuple[Any, Array, Array]:
    """Return inputs, targets and weights of some rows of a part."""
    check(part, checksum)
    return part.X[inside], part.T[inside], a[inside]


def in_order(centre: Array, part: Part, a: Array, start: int) -> Ordered:
    """Return the rows of a part by their targets, a mixture of their inputs, and their number."""
    numbers = start + np.arange(len(a), dtype=np.float64)
    mixed = mixture(np.asarray(part.X, dtype=np.float64))
    return ordered(np.column_stack([(part.T - centre)[:, ::-1], mixed, numbers]), a)
