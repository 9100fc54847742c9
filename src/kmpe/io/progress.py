"""Progress of long computations: a bar in a terminal, a line every 30 seconds elsewhere."""

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

__all__ = ["Progress"]


class Progress:
    """The progress of a computation, shown on standard error.

    Parameters
    ----------
    title : str
        What is being done.
    total : float
        The total amount of work, in any unit.
    quiet : bool, default=False
        Whether to print nothing.

    Examples
    --------
    >>> with Progress("fitting", total=3) as progress:
    ...     for _ in range(3):
    ...         progress.advance(1)
    """

    def __init__(self, title: str, total: float, *, quiet: bool = False) -> None:
        self._title = title
        self._total = total
        self._quiet = quiet
        self._done = self._kept = 0.0
        self._bar: Any = None

    def __enter__(self) -> Self:
        self._start = self._told = time.monotonic()
        if not self._quiet and sys.stderr.isatty():
            layout = "{desc} {percentage:3.0f}%|{bar}| {elapsed} gone, {remaining} left"
            with suppress(ImportError):  # without tqdm there are lines
                from tqdm import tqdm

                self._bar = tqdm(total=round(self._total, 1), desc=self._title, bar_format=layout)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    def advance(self, amount: float, *, kept: bool = False) -> None:
        """Count work as done; ``kept`` work is of an earlier run and has no effect on the speed."""
        self._done += amount
        self._kept += amount if kept else 0.0
        if self._bar is not None:
            if kept:
                self._bar.initial += amount
            self._bar.update(amount)
        # A log should show that work goes on without filling up: some hundred lines for an hour.
        elif not self._quiet and time.monotonic() - self._told >= 30:
            self._told = time.monotonic()
            print(self._line(), file=sys.stderr, flush=True)

    def _line(self) -> str:
        gone = time.monotonic() - self._start
        line = f"{self._title}: {self._done / self._total:.0%} after {_duration(gone)}"
        new = self._done - self._kept
        if new > 0:
            line += f", about {_duration(gone / new * (self._total - self._done))} left"
        return line


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
