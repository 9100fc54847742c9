"""What the machine offers: threads for the passes over the rows, and memory.

BLAS threads and our own would fight over the cores. Inside `team` BLAS keeps to one thread per
caller, and as many workers as BLAS had threads take its place: a user's limits
(``OPENBLAS_NUM_THREADS``, `threadpoolctl.threadpool_limits`) hold for both.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["Team", "free_memory", "team"]

Item = TypeVar("Item")
Result = TypeVar("Result")

_MEMINFO = Path("/proc/meminfo")
# Where the system does not say how much memory is free.
_MODEST = 2 << 30


class Team:
    """Workers that share the cores; they are hired when there is work for two."""

    def __init__(self, size: int, stack: ExitStack) -> None:
        self.size = size
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
    if present is not None:
        yield present
        return
    blas = _controller().select(user_api="blas")
    size = min((lib.num_threads for lib in blas.lib_controllers), default=1)
    with ExitStack() as stack:
        stack.enter_context(blas.limit(limits=1))
        hired = Team(size, stack)
        token = _present.set(hired)
        try:
            yield hired
        finally:
            _present.reset(token)


def free_memory() -> int:
    """Return the number of bytes that can be had without swapping."""
    if _MEMINFO.exists():
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return _MODEST


@cache
def _controller() -> "ThreadpoolController":
    # Looking for the libraries takes 2 ms, more than a small fit: once is enough. The import
    # waits for the first fit for the same reason.
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
