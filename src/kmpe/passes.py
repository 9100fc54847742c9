"""Passes over blocks of rows, several at a time, with digits that do not depend on how many.

Consecutive blocks form a part; one worker sums the blocks of a part in their order, and the parts
are summed in theirs. What a part is depends on the size of the blocks only.
"""

from collections.abc import Callable, Iterator

import numpy as np

from kmpe.machine import team
from kmpe.scale import Array

__all__ = ["each", "slices", "total"]

Part = list[slice]

_BLOCKS_PER_PART = 8


def slices(n: int, size: int) -> list[Part]:
    """Return the parts of n rows, each a list of slices of ``size`` rows."""
    blocks = [slice(i, min(i + size, n)) for i in range(0, n, size)]
    return [blocks[i : i + _BLOCKS_PER_PART] for i in range(0, len(blocks), _BLOCKS_PER_PART)]


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
