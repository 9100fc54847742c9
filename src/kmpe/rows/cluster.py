"""The engine for tasks on parts of a Dask collection: a distributed client or a scheduler.

A part is a reference to the result of a task, so that the scheduler recomputes it from the user's
own graph if its worker is lost. Further arguments of a task are sent with it: nothing is scattered,
since scattered data cannot be recomputed.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import WeakSet

__all__ = ["Engine", "engine"]

Work = Callable[..., Any]


class Engine(Protocol):
    """Runs tasks. A reference represents the result of a task, wherever it is kept."""

    def start(self, values: Sequence[Any]) -> list[Any]:
        """Return references to delayed values."""

    def map(self, work: Work, *references: Sequence[Any]) -> list[Any]:
        """Return references to the results of ``work``; all sequences have the same length."""

    def fetch(self, references: Sequence[Any]) -> list[Any]:
        """Return the results that references represent."""


@contextmanager
def engine() -> Iterator[Engine]:
    """Use the current distributed client, or the scheduler configured in Dask."""
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
    """Return the current distributed client or None; distributed need not be installed."""
    if "distributed" not in sys.modules:
        return None
    from distributed import get_client

    try:
        return get_client()
    except ValueError:
        return None


class _Scheduler:
    """The scheduler configured in Dask: parts are computed from the user's graph in every pass."""

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
    """A distributed client: parts are kept on the workers until the end of the fit."""

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
        """Release all remaining tasks, after a fit and after an exception."""
        # Not by `Client.cancel`, which fails on a task whose dependents nobody asks for any more.
        for future in list(self._futures):
            future.release()
