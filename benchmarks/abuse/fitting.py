"""One fit: what came of it, what it warned of, what it left behind, and how long it took."""

import os
import resource
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sklearn
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning
from threadpoolctl import ThreadpoolController

import kmpe
from benchmarks.abuse.cases import Case
from kmpe.estimators.inputs import RobustnessWarning

# What a fit may say; anything else is numpy's or ours by mistake.
SPOKEN = (ConvergenceWarning, RobustnessWarning, DataConversionWarning)
# Whose errors are sentences; those of numpy and scipy are crashes.
_HOMES = [Path(module.__file__).parent for module in (kmpe, sklearn)]
_DESCRIPTORS = Path("/proc/self/fd")


def cpu_seconds() -> float:
    """Return the CPU time of this process.

    While the virtual timer of a case is armed, `time.process_time` has steps of 4 ms on Linux.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class BrokenError(Exception):
    """A promise that was not kept; the text says how."""


class EdgeError(Exception):
    """Two fits that differ, as two do when the targets are rounded otherwise."""


class RefusedError(Exception):
    """Data that an estimator refuses with a sentence."""


@dataclass
class Fits:
    """Counts fits, and remembers what the last one said and took."""

    count: int = 0
    #: Comparisons of two fits up to rounding.
    compared: int = 0
    seconds: float = 0.0
    warned: list[Any] = field(default_factory=list)

    def fit(self, case: Case, model: Any = None) -> Any:
        """Return the fitted model of a case; refused data raise, and so do broken promises."""
        model = case.model() if model is None else model
        arguments, given = case.arguments()
        self.count += 1
        before = _surroundings()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            filters = list(warnings.filters)
            begin = cpu_seconds()
            try:
                model.fit(*arguments, **given)
            except Exception as error:
                raise _judged(error) from error
            finally:
                self.seconds = cpu_seconds() - begin
                self.warned += warned
            if list(warnings.filters) != filters:
                raise BrokenError("leaves nothing behind: the filters of warnings")
        _compare(before, _surroundings())
        for warning in warned:
            if not issubclass(warning.category, SPOKEN):
                where = f"{Path(warning.filename).name}:{warning.lineno}"
                raise BrokenError(f"warns in words: {warning.message} ({where})")
        return model


def _judged(error: Exception) -> Exception:
    """Return whether an error is a sentence for the user, or a crash."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    # Not the word in the path: an environment may have the name of the package.
    ours = any(Path(last.filename).is_relative_to(home) for home in _HOMES)
    if isinstance(error, BrokenError):
        return error
    if isinstance(error, ValueError | TypeError) and ours and not isinstance(error, UnicodeError):
        return RefusedError(str(error))
    where = f"{Path(last.filename).name}:{last.lineno}"
    return BrokenError(f"finite or a sentence: {type(error).__name__}: {error} ({where})")


@cache
def _libraries() -> list[Any]:
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


def _surroundings() -> dict[str, Any]:
    """Return what a fit must leave as it was."""
    return {
        "BLAS threads": [library.num_threads for library in _libraries()],
        "threads": threading.active_count(),
        "open files": len(os.listdir(_DESCRIPTORS)) if _DESCRIPTORS.exists() else 0,
        "numpy's error state": np.geterr(),
        "numpy's random numbers": np.random.get_state()[2],  # noqa: NPY002
    }


def _compare(before: dict[str, Any], after: dict[str, Any]) -> None:
    for name, value in before.items():
        if after[name] != value:
            raise BrokenError(f"leaves nothing behind: {name}, {value} before, {after[name]} after")


Promise = Callable[[Case, Any, Fits], None]
