"""Order statistics of rows that are distributed over parts.

Multiple selection by sampled splitters (Frazer and McKellar 1970). Every part has its rows sorted.
The wanted ranks lie between pivots whose own ranks are known: in each round the parts propose
further pivots in the intervals that contain a wanted rank, and count the weight below each. Each
round leaves a quarter of the rows, until those left are few enough to be sorted in one place. Ranks
are exact, so that the answer is that of one sort of all rows, however they are divided.

Where many ranks are wanted, the sorted keys of parts are merged first (`merged`): keys are a small
share of the data, and those of 11 million rows are one part, which answers by itself.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kmpe.arrays import Array, Index
from kmpe.rows.cluster import Engine
from kmpe.rows.threads import MOST_KEPT

__all__ = ["Ordered", "are_tied", "merged", "ordered", "select"]

# Pivots proposed for each wanted rank: a round leaves one row in so many.
_PIVOTS = 4


class Ordered(NamedTuple):
    """The sorted rows of a part: keys, compared column by column, and weights."""

    keys: Array
    weights: Array

    @property
    def reached(self) -> Array:
        """The cumulative weights."""
        return np.cumsum(self.weights)

    def ranks(self, pivots: Array) -> Index:
        """Return how many rows come before each pivot, shape (p, columns)."""
        low, high = (self.keys[:, 0].searchsorted(pivots[:, 0], side) for side in ("left", "right"))
        # Few pivots tie in the first column: others are not looked up in the next ones.
        for column, values in zip(self.keys.T[1:], pivots.T[1:], strict=True):
            low, high = (_bisect(column, low, high, values, right=right) for right in (False, True))
        return low

    def below(self, ranks: Index) -> Array:
        """Return the weight of the rows before each rank."""
        return np.concatenate([[0.0], self.reached])[ranks]


def ordered(keys: Array, a: Array) -> Ordered:
    """Return the rows of positive weight, sorted by their keys, of which the last increases."""
    counted = np.flatnonzero(a)
    return _sorted_by(counted[_order(keys[counted])], keys, a)


def _order(keys: Array) -> Index:
    """Return the order of keys by all columns; the last need not be compared if it increases."""
    columns = keys.T[:-1] if keys.shape[1] > 1 else keys.T
    # A sort that is not stable takes a fifth of the time, and is enough where nothing ties.
    order = columns[0].argsort()
    first = columns[0][order]
    return np.lexsort(columns[::-1]) if np.any(first[1:] == first[:-1]) else order


def merged(engine: Engine, parts: list[Any], sizes: Sequence[int], width: int) -> list[Any]:
    """Return fewer references to `Ordered`: consecutive parts as one, of at most 256 MB.

    Parameters
    ----------
    engine : Engine
        The engine that runs the tasks.
    parts : list of references to Ordered
        The rows. The last key increases from part to part.
    sizes : sequence of int
        The largest number of rows of each part.
    width : int
        The number of keys.
    """
    most = MOST_KEPT // (8 * (width + 1))
    groups: list[list[Any]] = []
    held = most + 1
    for part, size in zip(parts, sizes, strict=True):
        if held + size > most:
            groups.append([])
            held = 0
        groups[-1].append(part)
        held += size
    return [engine.map(_merge, *([part] for part in group))[0] for group in groups]


def _merge(*parts: Ordered) -> Ordered:
    """Return the rows of some parts in one order."""
    keys = np.concatenate([part.keys for part in parts])
    return _sorted_by(_order(keys), keys, np.concatenate([part.weights for part in parts]))


def _sorted_by(order: Index, keys: Array, a: Array) -> Ordered:
    columns = np.empty((len(order), keys.shape[1]), order="F")
    for column, values in zip(columns.T, keys.T, strict=True):
        values.take(order, out=column, mode="clip")
    return Ordered(columns, a[order])


def are_tied(engine: Engine, parts: list[Any], values: Array) -> bool:
    """Whether several rows have one of some values as their first key."""
    counts = engine.fetch(engine.map(partial(_equal, np.unique(values)), parts))
    return bool(np.any(np.sum(counts, axis=0) > 1))


def _equal(values: Array, part: Ordered) -> Index:
    low, high = (part.keys[:, 0].searchsorted(values, side) for side in ("left", "right"))
    return np.asarray(high - low)


def _bisect(column: Array, low: Index, high: Index, values: Array, *, right: bool) -> Index:
    """Return where values would be inserted into a column, each between its own low and high."""
    low, high = low.copy(), high.copy()
    while True:
        open_ = np.flatnonzero(low < high)
        if len(open_) == 0:
            return low
        middle = (low[open_] + high[open_]) // 2
        before = column[middle] <= values[open_] if right else column[middle] < values[open_]
        low[open_[before]] = middle[before] + 1
        high[open_[~before]] = middle[~before]


def select(engine: Engine, parts: list[Any], positions: Array) -> Array:
    """Return the keys of the rows at the quantiles ``positions`` of the weight of all rows.

    Parameters
    ----------
    engine : Engine
        The engine that runs the tasks.
    parts : list of references to Ordered
        The rows. No two rows have the same last key.
    positions : array of shape (m,)
        Quantiles, from 0 to 1.
    """
    if len(parts) == 1:
        (found,) = engine.fetch(engine.map(partial(_answer, positions), parts))
        return np.asarray(found)
    sizes = engine.fetch(engine.map(_size, parts))
    n, total = sum(size for size, _ in sizes), float(sum(weight for _, weight in sizes))
    places = np.asarray(positions * total)
    # Sorting this many rows takes next to no time, and a median then needs one round.
    most = _PIVOTS * max(len(np.unique(places)), 1024)
    ends = Brackets(None, None)
    below, left = np.zeros(1), n
    while left > most:
        wanted = [2 + most * size // n for size, _ in sizes]
        proposals = engine.map(partial(_proposed, ends), parts, wanted)
        pivots = _sorted(np.concatenate([*engine.fetch(proposals), *ends.known]))
        ranks, weights = _summed(engine, engine.map(partial(_ranked, pivots), parts))
        # Brackets before the first pivot and after the last are open on one side.
        rank, below = np.append(0, ranks), np.append(0.0, weights)
        held = np.unique(np.searchsorted(below, places, side="right") - 1)
        ends, below = Brackets.of(pivots, held), below[held]
        before, left = left, int((np.append(rank[1:], n) - rank)[held].sum())
        if left == before:
            break
    rows = np.concatenate(engine.fetch(engine.map(partial(_between, ends), parts)))
    return _at(rows, ends, below, places)


class Brackets(NamedTuple):
    """Ranges of keys, from one pivot to before the next; None where all rows are in one."""

    low: Array | None
    high: Array | None

    @classmethod
    def of(cls, pivots: Array, held: Index) -> "Brackets":
        """Return the ranges with the indices ``held``: range i ends at pivot i."""
        width = pivots.shape[1]
        ends = np.vstack([np.full(width, -np.inf), pivots, np.full(width, np.inf)])
        return cls(ends[held], ends[held + 1])

    @property
    def known(self) -> list[Array]:
        """The pivots at the ends of the ranges."""
        if self.low is None or self.high is None:
            return []
        return [end[np.isfinite(end).all(axis=1)] for end in (self.low, self.high)]

    def ranges(self, part: Ordered) -> tuple[Index, Index]:
        """Return where the rows of a part that are in each range begin and end."""
        if self.low is None or self.high is None:
            return np.zeros(1, dtype=np.intp), np.array([len(part.keys)], dtype=np.intp)
        return part.ranks(self.low), part.ranks(self.high)

    def rows(self, part: Ordered) -> Index:
        """Return the indices of the rows of a part that are in any range."""
        begin, end = self.ranges(part)
        sizes = end - begin
        shift = np.repeat(begin - np.append(0, np.cumsum(sizes)[:-1]), sizes)
        return np.asarray(shift + np.arange(int(sizes.sum())))


def _answer(positions: Array, part: Ordered) -> Array:
    """Return the keys at quantiles of the rows of a part."""
    reached = part.reached
    at = reached.searchsorted(positions * reached[-1], side="right")
    return np.asarray(part.keys[np.minimum(at, len(part.keys) - 1)])


def _size(part: Ordered) -> tuple[int, float]:
    return len(part.keys), float(part.weights.sum())


def _proposed(ends: Brackets, part: Ordered, wanted: int) -> Array:
    """Return keys, evenly spaced by rank, among the rows of a part that are in a range."""
    rows = ends.rows(part)
    some = np.unique(np.linspace(0, len(rows) - 1, min(wanted, len(rows))).astype(np.intp))
    return np.asarray(part.keys[rows[some]])


def _ranked(pivots: Array, part: Ordered) -> tuple[Array, Array]:
    ranks = part.ranks(pivots)
    return ranks.astype(np.float64), part.below(ranks)


def _between(ends: Brackets, part: Ordered) -> Array:
    """Return the rows of a part that are in a range: keys, and weights in a last column."""
    rows = ends.rows(part)
    return np.column_stack([part.keys[rows], part.weights[rows]])


def _summed(engine: Engine, references: list[Any]) -> tuple[Array, ...]:
    """Return the sums over parts, in their order, brought to one place by the workers."""
    return tuple(engine.fetch([chained(engine, references)])[0])


def chained(engine: Engine, references: list[Any], at_once: int = 8) -> Any:
    """Return a reference to the sums of tuples of arrays, added in the order of the parts.

    One task adds ``at_once`` of them: only the last sum is sent to the client.
    """
    so_far = references[0]
    for i in range(1, len(references), at_once):
        group = references[i : i + at_once]
        (so_far,) = engine.map(added, [so_far], *([reference] for reference in group))
    return so_far


def added(*terms: tuple[Array, ...]) -> tuple[Array, ...]:
    """Return the sums of tuples of arrays, added in their order."""
    sums = tuple(np.array(value) for value in terms[0])
    for values in terms[1:]:
        for so_far, value in zip(sums, values, strict=True):
            so_far += value
    return sums


def _sorted(keys: Array) -> Array:
    return np.asarray(keys[np.lexsort(keys.T[::-1])])


def _at(rows: Array, ends: Brackets, below: Array, places: Array) -> Array:
    """Return the keys at given ranks, from the rows in ranges and the weight below each range."""
    rows = _sorted(rows)
    keys, a = rows[:, :-1], rows[:, -1]
    reached = np.cumsum(a)
    if ends.low is None:
        at = np.searchsorted(reached, places, side="right")
        return np.asarray(keys[np.minimum(at, len(keys) - 1)])
    begin = Ordered(np.asfortranarray(keys), a).ranks(ends.low)
    end = np.append(begin[1:], len(keys))
    before = np.append(0.0, reached)[begin]
    number = np.searchsorted(below, places, side="right") - 1
    at = np.searchsorted(reached, places - below[number] + before[number], side="right")
    return np.asarray(keys[np.clip(at, begin[number], end[number] - 1)])
