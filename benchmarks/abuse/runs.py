"""Runs of many cases: one case, a part of a hundred, parts in parallel that go on when stopped."""

import hashlib
import json
import os
import signal
import traceback
from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.abuse.cases import Case, draw
from benchmarks.abuse.fitting import BrokenError, EdgeError, Fits, RefusedError
from benchmarks.abuse.promises import ALWAYS, PAIRED

PART = 100
# No case is so large that it should take longer, in seconds of CPU time.
_LONGEST = 60.0


@dataclass
class Outcome:
    """What came of some cases."""

    #: The code that was run.
    code: str = ""
    fits: int = 0
    refused: int = 0
    #: Comparisons of two fits up to rounding.
    compared: int = 0
    benign: int = 0
    warned: list[int] = field(default_factory=list)
    #: Seed and what was broken.
    broken: list[tuple[int, str]] = field(default_factory=list)
    #: Seed and what rounding decides.
    edges: list[tuple[int, str]] = field(default_factory=list)
    #: Seed, kind and size of a default fit, and its seconds.
    times: list[tuple[int, str, float]] = field(default_factory=list)


def run_case(case: Case, outcome: Outcome) -> None:
    """Fit a case, look at its promises, and note what came of it."""
    fits = Fits()
    try:
        with _limited():
            _promises(case, fits, outcome)
    except RefusedError:
        outcome.refused += 1
    except EdgeError as edge:
        outcome.edges.append((case.seed, str(edge)))
    except BrokenError as broken:
        outcome.broken.append((case.seed, str(broken)))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        outcome.broken.append((case.seed, f"{type(error).__name__}: {error} ({where})"))
    outcome.fits += fits.count
    outcome.compared += fits.compared


def _promises(case: Case, fits: Fits, outcome: Outcome) -> None:
    model = fits.fit(case)
    if case.default:
        outcome.times.append((case.seed, size_of(case), fits.seconds))
        if case.benign:
            outcome.benign += 1
            if any(issubclass(warning.category, ConvergenceWarning) for warning in fits.warned):
                outcome.warned.append(case.seed)
    for promise in ALWAYS:
        promise(case, model, fits)
    order = np.random.default_rng([1, case.seed]).permutation(len(PAIRED))
    # The first that says something of this case.
    for k in order:
        before = fits.count
        PAIRED[k](case, model, fits)
        if fits.count > before:
            break


def size_of(case: Case) -> str:
    """Return the kind of a fit whose times are compared: estimator and size."""
    n, d = case.X.shape
    return f"{case.estimator} {n} x {d}"


@contextmanager
def _limited() -> Iterator[None]:
    """Interrupt what takes too long."""

    def stop(*_: Any) -> None:
        raise BrokenError(f"time: more than {_LONGEST:.0f} s")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, _LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def run_part(number: int, size: int) -> Outcome:
    """Run the cases of a part."""
    outcome = Outcome()
    for seed in range(number * size, (number + 1) * size):
        run_case(draw(seed), outcome)
    return outcome


def run(fits: int, folder: Path, jobs: int, size: int = PART, first: int = 0) -> Iterator[Outcome]:
    """Yield parts until there are so many fits: of an earlier run of the same code, or new ones.

    The first has the seed ``first``, a multiple of ``size``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    code, done, numbers = fingerprint(), 0, count(first // size)
    # Each process has one thread of BLAS: they would fight over the cores.
    os.environ["OPENBLAS_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        waiting: dict[Future[Outcome], int] = {}
        while done < fits:
            number = next(numbers)
            outcome = _stored(_file(folder, number), code)
            if outcome is None:
                waiting[pool.submit(run_part, number, size)] = number
                if len(waiting) < 2 * jobs:
                    continue
                ready = next(as_completed(waiting))
                outcome = replace(ready.result(), code=code)
                _write(_file(folder, waiting.pop(ready)), outcome)
            done += outcome.fits
            yield outcome
        for future in waiting:
            future.cancel()


def fingerprint() -> str:
    """Return a checksum of the package and of these cases: other code starts anew."""
    package = Path(str(files("kmpe")))
    sources = [*sorted(package.rglob("*.py")), *sorted(Path(__file__).parent.glob("*.py"))]
    return hashlib.sha256(b"".join(file.read_bytes() for file in sources)).hexdigest()


def _stored(file: Path, code: str) -> Outcome | None:
    """Return what an earlier run of the same code has left, if it is whole."""
    try:
        outcome = Outcome(**json.loads(file.read_text()))
    except (OSError, ValueError, TypeError):
        return None
    return outcome if outcome.code == code else None


def _file(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06d}.json"


def _write(file: Path, outcome: Outcome) -> None:
    beside = file.with_suffix(".writing")
    beside.write_text(json.dumps(asdict(outcome)))
    beside.replace(file)
