"""Where the work on parts of a Dask collection is done: by a distributed client or a scheduler.

A part is a reference to what a task has returned or will return, so that the scheduler recomputes
it from the user's own graph when the worker that held it is gone. What a task needs beside its part
travels with it: nothing is scattered, since scattered data cannot be recomputed.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import WeakSet

__all__ = ["Engine", "engine"]

Work = Callable[..., Any]


class Engine(Protocol):
    """What runs tasks. A reference stands for what a task returns, wherever that is kept."""

    def start(self, values: Sequence[Any]) -> list[Any]:
        """Return references to delayed values."""

    def map(self, work: Work, *references: Sequence[Any]) -> list[Any]:
        """Return references to what ``work`` makes of each; all of one length."""

    def fetch(self, references: Sequence[Any]) -> list[Any]:
        """Return what is behind references."""


@contextmanager
def engine() -> Iterator[Engine]:
    """Use the distributed client of the present context, or the scheduler that Dask has set."""
    client = _client()
    if client is None:
        yield _Scheduler()
        return
    cluster = _Cluster(client)
    try:
        yield cluster
    finally:
        cluster.release()


def _client() -> Any:
    """Return the distributed client, if there is one; distributed need not be installed."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


class _Scheduler:
    """The scheduler that Dask has set: parts are computed from the user's graph in every pass."""

    def start(self, values: Sequence[Any]) -> list[Any]:
        return list(values)

    def map(self, work: Work, *references: Sequence[Any]) -> list[Any]:
        from dask import delayed

        task = delayed(work, pure=False, traverse=False)
        return [task(*some) for some in zip(*references, strict=True)]

    def fetch(self, references: Sequence[Any]) -> list[Any]:
        import dask

        return list(dask.compute(*references))


class _Cluster:
    """A distributed client: parts are kept by the workers until the fit is over."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._futures: WeakSet[Any] = WeakSet()

    def start(self, values: Sequence[Any]) -> list[Any]:
        futures = self._client.compute(list(values))
        self._futures.update(futures)
        return list(futures)

    def map(self, work: Work, *references: Sequence[Any]) -> list[Any]:
        futures = self._client.map(work, *references, pure=False)
        self._futures.update(futures)
        return list(futures)

    def fetch(self, references: Sequence[Any]) -> list[Any]:
        return list(self._client.gather(list(references)))

    def release(self) -> None:
        """Let go of every task that is left: after a fit, and after an exception."""
        futures = list(self._futures)
        self._client.cancel(futures)
        for future in futures:
            future.release()
