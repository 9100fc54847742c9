"""Tasks on one part of a Dask collection: pure functions."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from kmpe.arrays import Array, Index, Mask
from kmpe.rows.checks import nine_digits, not_whole
from kmpe.rows.parts import Part
from kmpe.rows.selection import Ordered, added, ordered
from kmpe.rows.source import Block, Features, mixed, scaled_targets

__all__ = [
    "Held",
    "View",
    "check",
    "counted",
    "fractions",
    "in_order",
    "kept_weights",
    "mapped",
    "n_targets",
    "ordered_by",
    "per",
    "reweighed",
    "same",
    "some",
    "total",
    "values",
    "weight",
    "without",
]


class View(NamedTuple):
    """How the rows of a part are used: feature map, centre and size of the targets."""

    features: Features | None
    centre: Array
    size: float = 1.0

    def targets(self, T: Array) -> Array:
        """Return the centred and scaled targets."""
        return scaled_targets(T - self.centre, self.size)


class Held(NamedTuple):
    """A part with its weights, checksum, view, and targets that replace its own."""

    part: Part
    a: Array
    checksum: int
    view: View
    kept: Array | None

    def block(self, where: slice) -> Block:
        """Return some rows."""
        X = self.part.X[where]
        H = X if self.view.features is None else self.view.features(X)
        T = (self.part.T if self.kept is None else self.kept)[where]
        return Block(np.asarray(H, dtype=np.float64), self.view.targets(T), self.a[where])

    def blocks(self, most: int) -> Iterator[Block]:
        """Yield all rows, at most ``most`` at a time, after comparing the checksum."""
        check(self.part, self.checksum)
        count = max(1, -(-len(self.a) // most))
        ends = [len(self.a) * i // count for i in range(count + 1)]
        return (self.block(slice(i, j)) for i, j in pairwise(ends))


def kept_weights(least: float, part: Part) -> tuple[float, float, int]:
    """Return the smallest positive weight, the sum of the weights and their number."""
    kept = part.a[part.a >= least]
    return float(kept.min(initial=np.inf)), float(kept.sum()), len(kept)


def fractions(least: float, smallest: float, part: Part) -> Mask:
    """Return for which multiples some weights are not integers."""
    return not_whole(part.a[part.a >= least], smallest)


def counted(least: float, unit: float, whole: bool, part: Part) -> Array:
    """Return the weights as numbers of repeats."""
    a = np.where(part.a >= least, part.a, 0.0) / unit
    return np.asarray(np.rint(a)) if whole else nine_digits(a)


def n_targets(part: Part) -> int:
    """Return the number of targets."""
    return int(part.T.shape[1])


def same(view: View, _: int) -> View:
    """Return a view: as the result of a task it is sent to each worker once."""
    return view


def weight(a: Array) -> tuple[float, int]:
    """Return the sum of the weights, and the number of positive ones."""
    return float(a.sum()), int(np.count_nonzero(a))


def check(part: Part, checksum: int) -> None:
    """Refuse a part whose checksum has changed."""
    if checksum and part.checksum != checksum:
        raise ValueError(
            "a chunk was computed again and is not the same: the graph of X, y or sample_weight "
            "must give the same rows every time. Seed its random numbers, and do not change its "
            "files while a model is fitted"
        )


def total(term: Callable[[Block], tuple[Array, ...]], most: int, *held: Any) -> tuple[Array, ...]:
    """Return the sums of a term over the blocks of a part, in their order."""
    with np.errstate(over="ignore", invalid="ignore"):
        sums = [term(block) for block in Held(*held).blocks(most)]
    return sums[0] if len(sums) == 1 else added(*sums)


def values(value: Callable[[Block], Array], most: int, *held: Any) -> Array:
    """Return a value of every row of a part, in the order of the rows."""
    return np.ascontiguousarray(np.concatenate([value(b) for b in Held(*held).blocks(most)]))


def without(rule: Callable[[Block], Array], most: int, *held: Any) -> Array:
    """Return the weights of a part, 0 for the rows that a rule marks."""
    return np.asarray(Held(*held).a * (1 - values(rule, most, *held)))


def reweighed(value: Callable[[Block], Array], most: int, *held: Any) -> Array:
    """Return the weights of a part times a value of every row."""
    return np.asarray(Held(*held).a * values(value, most, *held))


def per(unit: float, a: Array) -> Array:
    """Return weights divided by a unit."""
    return np.asarray(a / unit)


def mapped(value: Callable[[Block], Array], most: int, *held: Any) -> Part:
    """Return a part whose inputs are a value of every row."""
    part = Held(*held).part
    return Part(values(value, most, *held), part.T, part.a, 0)


def ordered_by(value: Callable[[Block], Array], most: int, *held: Any) -> Ordered:
    """Return the rows of a part, sorted by a value."""
    a = Held(*held).a
    s = values(value, most, *held)
    # Equal values are merged, and their weights added.
    distinct, inverse = np.unique(s[a > 0], return_inverse=True)
    weights = np.bincount(inverse, weights=a[a > 0], minlength=len(distinct))
    return Ordered(np.asfortranarray(distinct[:, None]), np.cumsum(weights))


def some(
    part: Part, a: Array, checksum: int, kept: Array | None, inside: Index
) -> tuple[Any, Array, Array]:
    """Return inputs, targets and weights of some rows of a part."""
    check(part, checksum)
    return part.X[inside], (part.T if kept is None else kept)[inside], a[inside]


def in_order(most: int, start: int, *held: Any) -> Ordered:
    """Return the rows of a part, sorted by targets, a combination of features, and index."""
    part, a, _, view, _ = Held(*held)
    numbers = start + np.arange(len(a), dtype=np.float64)
    mixture = values(mixed, most, *held)
    return ordered(np.column_stack([view.targets(part.T)[:, ::-1], mixture, numbers]), a)
