"""Passes over blocks of rows, several at a time, with digits that do not depend on how many.

Consecutive blocks form a part; one worker sums the blocks of a part in their order, and the parts
are summed in theirs. What a part is depends on the number and the size of the rows only.
"""

import math
from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from kmpe.arrays import Array
from kmpe.rows.threads import team

__all__ = ["each", "slices", "total"]

Part = list[slice]

# Parts of one block share the work evenly; where there are many blocks, larger parts have fewer
# sums to add up.
_BLOCKS_PER_PART = 8
_MANY_BLOCKS = 128
# Rows that fill half a block are divided among the workers, but not into pieces on which the
# interpreter would take as long as the arithmetic.
_FEW_BLOCKS = 8
_LEAST_ROWS = 512


def slices(n: int, most: int) -> list[Part]:
    """Return the parts of n rows, each a list of slices of at most ``most`` rows."""
    count = max(1, math.ceil(n / most))
    if 2 * n > most:
        count = max(count, min(_FEW_BLOCKS, n // _LEAST_ROWS))
    ends = [n * i // count for i in range(count + 1)]
    blocks = [slice(i, j) for i, j in pairwise(ends)]
    size = _BLOCKS_PER_PART if count >= _MANY_BLOCKS else 1
    return [blocks[i : i + size] for i in range(0, count, size)]


def each(parts: list[Part], work: Callable[[slice], object]) -> None:
    """Call ``work`` on every slice."""

    def through(part: Part) -> None:
        for where in part:
            work(where)

    with team() as workers:
        for _ in workers.map(through, parts):
            pass


def total(parts: list[Part], term: Callable[[slice], tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return the sums of what ``term`` returns over all slices."""
    with team() as workers:
        return _sums(workers.map(lambda part: _sums(map(term, part)), parts))


def _sums(terms: Iterator[tuple[Array, ...]]) -> tuple[Array, ...]:
    sums = tuple(np.array(value) for value in next(terms))
    for values in terms:
        for so_far, value in zip(sums, values, strict=True):
            so_far += value
    return sums
