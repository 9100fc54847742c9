"""Progress of a fit on standard error, for ``verbose=1``.

The stages of `kmpe.solvers.walk` and the loops of the solvers report here, whether or not a
listener is registered. In a terminal one line is overwritten; elsewhere at most one line per second
is written.
"""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["said", "station", "stepped"]


class _Listener:
    """The progress of one fit."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.began = self.told = time.monotonic()
        self.station, self.steps, self.cost = "", 0, float("nan")
        self.width = 0

    def step(self, cost: float) -> None:
        self.steps, self.cost = self.steps + 1, cost
        if time.monotonic() - self.told >= 1:
            self.tell()

    def tell(self, end: str = "") -> None:
        self.told = time.monotonic()
        line = f"{self.name}: {self.station}, {self.told - self.began:.1f} s"
        if self.steps:
            line += f", {self.steps} steps, cost {self.cost:.8g}"
        line += end
        over = sys.stderr.isatty() and not end
        print(line.ljust(self.width), end="\r" if over else "\n", file=sys.stderr, flush=True)
        self.width = len(line) if over else 0


_listener: ContextVar[_Listener | None] = ContextVar("_listener", default=None)


@contextmanager
def said(name: str, verbose: int) -> Iterator[None]:
    """Report the progress of a fit within this context; do nothing if ``verbose`` is 0."""
    if not verbose:
        yield
        return
    listener = _Listener(name)
    token = _listener.set(listener)
    try:
        yield
        listener.tell(end=", done")
    finally:
        _listener.reset(token)


def station(name: str) -> None:
    """Report the next stage."""
    listener = _listener.get()
    if listener is not None:
        listener.station, listener.steps = name, 0
        listener.tell()


def stepped(cost: float) -> None:
    """Report a step and the cost after it."""
    listener = _listener.get()
    if listener is not None:
        listener.step(cost)
