"""Threads for passes over the rows; the digits of sums do not depend on their number.

BLAS threads and our own would compete for the cores. Inside `team` BLAS uses one thread per caller,
and there are as many workers as BLAS had threads, so that limits set by the user
(``OPENBLAS_NUM_THREADS``, `threadpoolctl.threadpool_limits`) hold for both.

Rows are divided into parts by their number and size alone. One worker adds the blocks of a part in
order, and the sums of the parts are added in the order of the parts.
"""

import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache, cached_property, partial
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

#: The largest number of bytes of rows kept in memory beside the data: a sample, the first batches
#: of a stream, the features of data that are out of core.
MOST_KEPT = 256 << 20
_MEMINFO = Path("/proc/meminfo")


class Team:
    """A pool of threads, started when there is work for at least two."""

    def __init__(self, size: int, stack: ExitStack) -> None:
        self.size = size
        self.process = os.getpid()
        self._stack = stack
        self._pool: ThreadPoolExecutor | None = None

    def map(
        self, work: Callable[[Item], Result], items: Iterable[Item], *, limited: bool = False
    ) -> Iterator[Result]:
        """Yield the result for every item, in the order of the items.

        If ``limited``, OpenMP has one thread for each of the team, for libraries that use it.
        """
        items = list(items)
        if self.size == 1 or len(items) < 2:
            return map(work, items)
        if self._pool is None:
            self._pool = self._stack.enter_context(ThreadPoolExecutor(self.size))
        return self._pool.map(partial(_limited, work) if limited else work, items)


_present: ContextVar[Team | None] = ContextVar("_present", default=None)


@contextmanager
def team() -> Iterator[Team]:
    """Limit BLAS to one thread per worker and yield a team; inside another team, yield that one."""
    present = _present.get()
    # The threads of a team do not follow a fork.
    if present is not None and present.process == os.getpid():
        yield present
        return
    member = object()
    try:
        with ExitStack() as stack:
            hired = Team(_blas.enter(member), stack)
            token = _present.set(hired)
            try:
                yield hired
            finally:
                _present.reset(token)
    finally:
        try:
            _blas.leave(member)
        except KeyboardInterrupt:  # Ctrl-C on the way out
            _blas.leave(member)
            raise


class _Blas:
    """The limit of one BLAS thread, in force while any team of the process is active.

    The limit is global to the process, and teams of several threads overlap: the first to enter
    sets it, and the last to leave restores the number there was, whichever thread that is.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._teams: set[object] = set()
        self._before: list[int] = []
        self._limited = False

    def enter(self, member: object) -> int:
        """Limit BLAS to one thread, and return how many it had."""
        with self._lock:
            if not self._limited:
                self._before = [library.num_threads for library in _libraries()]
                self._limited = True
                _set_threads([1] * len(self._before))
            self._teams.add(member)
            return min(self._before, default=1)

    def leave(self, member: object) -> None:
        """Restore the number of threads if no team is active any more; twice is the same."""
        with self._lock:
            self._teams.discard(member)
            if self._limited and not self._teams:
                _set_threads(self._before)
                self._limited = False

    def forget_teams(self) -> None:
        """Reset in a forked process, which has neither the teams nor the holder of the lock."""
        self._lock = threading.Lock()
        self._teams = set()
        if self._limited:
            _set_threads(self._before)
            self._limited = False


def _renew_locks() -> None:
    """Renew the locks of cached properties, which a thread that a forked process lacks may hold.

    Up to Python 3.11 each has one for all objects of its class.
    """
    modules = [module for name, module in sys.modules.items() if name.split(".")[0] == "kmpe"]
    for module in modules:
        for kind in [value for value in vars(module).values() if isinstance(value, type)]:
            for member in vars(kind).values():
                if isinstance(member, cached_property) and hasattr(member, "lock"):
                    member.lock = threading.RLock()


_blas = _Blas()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_blas.forget_teams)
    os.register_at_fork(after_in_child=_renew_locks)


def _limited(work: Callable[[Item], Result], item: Item) -> Result:
    """Call ``work`` in a thread of a team, for which OpenMP has one thread and no more.

    The number is a variable of each thread (OpenMP 5.2, 2.4): that of others is not changed.
    """
    if not getattr(_of_thread, "limited", False):
        _set_threads([1] * len(_openmp()), _openmp())
        _of_thread.limited = True
    return work(item)


_of_thread = threading.local()


@cache
def _openmp() -> list[Any]:
    """Return the controllers of the OpenMP libraries."""
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="openmp").lib_controllers)


def _set_threads(threads: list[int], libraries: list[Any] | None = None) -> None:
    for library, count in zip(
        _libraries() if libraries is None else libraries, threads, strict=True
    ):
        # threadpoolctl 3.8 lets only one thread change the limit until that thread releases it.
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=True)
        library.set_num_threads(count)
        if release is not None:
            release(force=True)


@cache
def _libraries() -> list[Any]:
    """Return the controllers of the BLAS libraries."""
    # Finding the libraries takes 2 ms, more than a small fit, so it is done once. The import is
    # deferred to the first fit for the same reason.
    from threadpoolctl import ThreadpoolController

    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def parts(n: int, most: int) -> list[Part]:
    """Return the parts of n rows, each a list of slices of at most ``most`` rows."""
    count = max(1, math.ceil(n / most))
    if 2 * n > most:
        # Half a block or more is divided among the workers, but not into pieces so small that the
        # interpreter takes as long as the arithmetic.
        count = max(count, min(8, n // 512))
    ends = [n * i // count for i in range(count + 1)]
    blocks = [slice(i, j) for i, j in pairwise(ends)]
    # Parts of one block each balance the load; with more than 128 blocks, parts of several blocks
    # leave fewer sums to add.
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
    """Return the number of bytes that can be allocated without swapping."""
    if _MEMINFO.exists():
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 2 << 30  # a guess where the system does not report it
