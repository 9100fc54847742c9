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
from kmpe.rows.standardised import Standardised

__all__ = [
    "Held",
    "View",
    "by_target",
    "check",
    "counted",
    "fractions",
    "in_order",
    "kept_weights",
    "mapped",
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

    @property
    def targets(self) -> Array:
        """The targets of all rows."""
        return self.view.targets(self.part.T if self.kept is None else self.kept)

    def blocks(self, most: int) -> Iterator[tuple[slice, Block]]:
        """Yield all rows, at most ``most`` at a time, after comparing the checksum.

        A block is valid until the next one is asked for, which may be written to its memory.
        """
        check(self.part, self.checksum)
        count = max(1, -(-len(self.a) // most))
        ends = [len(self.a) * i // count for i in range(count + 1)]
        T, features = self.part.T if self.kept is None else self.kept, self.view.features
        # Workers return freed memory to the system at once (MALLOC_TRIM_THRESHOLD_), and a pass
        # that allocates 8 MB for each block takes 1.5 times as long.
        room = np.empty((-(-len(self.a) // count), features.n_features if features else 0))
        for where in (slice(i, j) for i, j in pairwise(ends)):
            X = self.part.X[where]
            if isinstance(features, Standardised):
                H = features(X, room[: len(X)])
            else:
                H = X if features is None else features(X)
            of_block = self.view.targets(T[where])
            yield where, Block(np.asarray(H, dtype=np.float64), of_block, self.a[where])


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
    sums: tuple[Array, ...] = ()
    with np.errstate(over="ignore", invalid="ignore"):
        for _, block in Held(*held).blocks(most):
            found = term(block)
            sums = added(sums, found) if sums else added(found)
    return sums


def values(value: Callable[[Block], Array], most: int, *held: Any) -> Array:
    """Return a value of every row of a part, in the order of the rows."""
    out = np.empty(0)
    for where, block in Held(*held).blocks(most):
        found = value(block)
        if where.start == 0:
            out = np.empty((len(held[1]), *found.shape[1:]), found.dtype)
        out[where] = found
    return out


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
    s, a = s[a > 0], a[a > 0]
    if len(a) and a.min() == a.max():
        s = np.sort(s)  # a tenth of the time of the order
    else:
        order = np.argsort(s)
        s, a = s[order], a[order]
    # Equal values are merged, and their weights added.
    first = np.flatnonzero(np.append(True, s[1:] != s[:-1])[: len(s)])
    weights = np.add.reduceat(a, first) if len(first) else a
    return Ordered(s[first][:, None], weights)


def some(
    part: Part, a: Array, checksum: int, kept: Array | None, inside: Index
) -> tuple[Any, Array, Array]:
    """Return inputs, targets and weights of some rows of a part."""
    check(part, checksum)
    return part.X[inside], (part.T if kept is None else kept)[inside], a[inside]


def by_target(start: int, *held: Any) -> Ordered:
    """Return the rows of a part, sorted by their last target and index."""
    rows = Held(*held)
    check(rows.part, rows.checksum)
    return ordered(np.column_stack([rows.targets[:, -1], _numbers(start, rows)]), rows.a)


def in_order(most: int, start: int, *held: Any) -> Ordered:
    """Return the rows of a part, sorted by targets, a combination of features, and index."""
    rows = Held(*held)
    mixture = values(mixed, most, *held)
    keys = np.column_stack([rows.targets[:, ::-1], mixture, _numbers(start, rows)])
    return ordered(keys, rows.a)


def _numbers(start: int, rows: Held) -> Array:
    return start + np.arange(len(rows.a), dtype=np.float64)
