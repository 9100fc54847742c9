"""Threads for passes over the rows, with digits that do not depend on their number, and memory.

BLAS threads and our own would fight over the cores. Inside `team` BLAS keeps to one thread per
caller, and as many workers as BLAS had threads take its place: a user's limits
(``OPENBLAS_NUM_THREADS``, `threadpoolctl.threadpool_limits`) hold for both.

Rows are divided into parts by their number and size alone. One worker sums the blocks of a part in
their order, and the parts are summed in theirs.
"""

import math
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from kmpe.arrays import Array

__all__ = ["MOST_KEPT", "Team", "each", "free_memory", "parts", "team", "total"]

Item = TypeVar("Item")
Result = TypeVar("Result")
Part = list[slice]
Term = Callable[[slice], tuple[Array, ...]]

#: Bytes that rows kept beside the data take at most: a sample, the first batches of a stream, the
#: features of data that are out of core.
MOST_KEPT = 256 << 20
_MEMINFO = Path("/proc/meminfo")


class Team:
    """Workers that share the cores; they are hired when there is work for two."""

    def __init__(self, size: int, stack: ExitStack) -> None:
        self.size = size
        self.process = os.getpid()
        self._stack = stack
        self._pool: ThreadPoolExecutor | None = None

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield the result for every item, in the order of the items."""
        items = list(items)
        if self.size == 1 or len(items) < 2:
            return map(work, items)
        if self._pool is None:
            self._pool = self._stack.enter_context(ThreadPoolExecutor(self.size))
        return self._pool.map(work, items)


_present: ContextVar[Team | None] = ContextVar("_present", default=None)


@contextmanager
def team() -> Iterator[Team]:
    """Work with one BLAS thread per worker; inside another team, with that one."""
    present = _present.get()
    # The threads of a team do not follow a fork.
    if present is not None and present.process == os.getpid():
        yield present
        return
    size = _blas.enter()
    try:
        with ExitStack() as stack:
            hired = Team(size, stack)
            token = _present.set(hired)
            try:
                yield hired
            finally:
                _present.reset(token)
    finally:
        _blas.leave()


class _Blas:
    """The limit of one thread for BLAS, for as long as any team of the process works.

    The limit belongs to the process, and teams of several threads overlap: the first to enter sets
    it, the last to leave restores what there was, whichever thread that is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._teams = 0
        self._before: list[int] = []

    def enter(self) -> int:
        """Limit BLAS to one thread, and return how many it had."""
        with self._lock:
            if self._teams == 0:
                self._before = [library.num_threads for library in _libraries()]
                _set_threads([1] * len(self._before))
            self._teams += 1
            return min(self._before, default=1)

    def leave(self) -> None:
        """Restore the number of threads if nobody works any more."""
        with self._lock:
            self._teams -= 1
            if self._teams == 0:
                _set_threads(self._before)

    def forget_teams(self) -> None:
        """Begin anew in a forked process: teams and whoever held the lock stayed behind."""
        self._lock = threading.Lock()
        if self._teams:
            self._teams = 0
            _set_threads(self._before)


_blas = _Blas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.forget_teams)


def _set_threads(threads: list[int]) -> None:
    for library, count in zip(_libraries(), threads, strict=True):
        # From 3.8 on threadpoolctl lets one thread only change the limit, until it is released.
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
        library.set_num_threads(count)
        if release is not None:
            release(force=True)


@cache
def _libraries() -> list[Any]:
    """Return the controllers of the BLAS libraries."""
    # Looking for the libraries takes 2 ms, more than a small fit: once is enough. The import
    # waits for the first fit for the same reason.
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def parts(n: int, most: int) -> list[Part]:
    """Return the parts of n rows, each a list of slices of at most ``most`` rows."""
    count = max(1, math.ceil(n / most))
    if 2 * n > most:
        # Rows that fill half a block are divided among the workers, but not into pieces on which
        # the interpreter would take as long as the arithmetic.
        count = max(count, min(8, n // 512))
    ends = [n * i // count for i in range(count + 1)]
    blocks = [slice(i, j) for i, j in pairwise(ends)]
    # Parts of one block share the work evenly; where there are more than 128 blocks, larger parts
    # have fewer sums to add up.
    size = -(-count // 128)
    return [blocks[i : i + size] for i in range(0, count, size)]


def each(divided: list[Part], work: Callable[[slice], object]) -> None:
    """Call ``work`` on every slice."""
    if len(divided) == 1:
        _through(work, divided[0])
        return
    with team() as workers:
        for _ in workers.map(partial(_through, work), divided):
            pass


def total(divided: list[Part], term: Term) -> tuple[Array, ...]:
    """Return the sums of what ``term`` returns over all slices."""
    if len(divided) == 1:
        return _sum(term, divided[0])
    with team() as workers:
        return _added(workers.map(partial(_sum, term), divided))


def _through(work: Callable[[slice], object], part: Part) -> None:
    for where in part:
        work(where)


def _sum(term: Term, part: Part) -> tuple[Array, ...]:
    return term(part[0]) if len(part) == 1 else _added(map(term, part))


def _added(terms: Iterator[tuple[Array, ...]]) -> tuple[Array, ...]:
    sums = tuple(np.array(value) for value in next(terms))
    for values in terms:
        for so_far, value in zip(sums, values, strict=True):
            so_far += value
    return sums


def free_memory() -> int:
    """Return the number of bytes that can be had without swapping."""
    if _MEMINFO.exists():
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2 << 30  # where the system does not say
