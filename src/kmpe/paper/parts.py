"""The parts of a run: each is computed once and kept in a file.

A part is a few repeats of one experiment. The name of its file contains a checksum of everything
that its result depends on. A run that was stopped therefore reuses the parts that it finished, and
never one that was made with another seed, setting or version. The file holds a checksum of its
content: a part whose file is damaged or was altered is computed again.
"""

import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kmpe
from kmpe.io.output import prepare_folder, write

__all__ = ["Done", "Part", "run_parts"]


@dataclass(frozen=True)
class Part:
    """Some repeats of an experiment.

    Parameters
    ----------
    experiment, key : str
        Which experiment, and which of its rows.
    first, last : int
        The repeats, ``last`` not included.
    seed : int
        Seed of the whole run.
    payload : str
        Its settings as JSON.
    cost : float
        Approximate seconds, for the progress bar only.
    """

    experiment: str
    key: str
    first: int
    last: int
    seed: int
    payload: str = "{}"
    cost: float = 1.0

    @property
    def name(self) -> str:
        """The name of its file: experiment, row and first repeat, then the checksum."""
        inputs = (self.experiment, self.key, self.first, self.last, self.seed, self.payload)
        digest = hashlib.sha256(json.dumps([_versions(), inputs]).encode()).hexdigest()[:16]
        return f"{self.experiment}-{self.key}-{self.first}-{digest}.json"


@dataclass(frozen=True)
class Done:
    """The results of a part, one for each repeat, and the processor seconds that they took."""

    part: Part
    results: Sequence[Any]
    seconds: float
    kept: bool


# What shows results and makes none.
_PRESENTING = (
    "__main__.py",
    "cli.py",
    "io",
    "paper/report",
    "plots",
    "table",
)

Work = Callable[[Part, str | None], list[Any]]


def run_parts(
    parts: Sequence[Part],
    work: Work,
    *,
    folder: Path,
    data_dir: str | None,
    jobs: int,
    progress: Callable[[Done], None],
) -> list[Done]:
    """Run the parts that have no file yet, in ``jobs`` processes; return all of them, in order."""
    prepare_folder(folder)
    done = {part: kept for part in parts if (kept := _kept(part, folder)) is not None}
    for part in done.values():
        progress(part)
    rest = [part for part in parts if part not in done]
    if rest:
        for finished in _in_processes(rest, work, data_dir, jobs):
            write(folder / finished.part.name, _text(finished))
            done[finished.part] = finished
            progress(finished)
    return [done[part] for part in parts]


def _text(done: Done) -> str:
    """Return the content of a part's file."""
    content = {"seconds": done.seconds, "results": list(done.results)}
    return json.dumps({"sha256": _checksum(done.part, content), **content})


def _kept(part: Part, folder: Path) -> Done | None:
    """Return the part as its file has it; None if there is none, or not as it was written."""
    try:
        content = json.loads((folder / part.name).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict) or content.pop("sha256", "") != _checksum(part, content):
        return None
    return Done(part, content["results"], content["seconds"], kept=True)


def _checksum(part: Part, content: Mapping[str, Any]) -> str:
    """Return the checksum of a part's content and name: another part's file does not pass."""
    return hashlib.sha256(json.dumps([part.name, content]).encode()).hexdigest()


def _in_processes(
    parts: Iterable[Part], work: Work, data_dir: str | None, jobs: int
) -> Iterable[Done]:
    """Run parts and yield each when it is finished.

    Every part runs in a process with one BLAS thread, even if there is only one job: rounding then
    does not depend on the number of jobs.
    """
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in threads}
    os.environ.update(dict.fromkeys(threads, "1"))
    pool = ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_prepare_process
    )
    try:
        with _interrupts_wait():  # submitting a part starts a process
            waiting: set[Future[Done]] = {pool.submit(_do, part, work, data_dir) for part in parts}
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def _do(part: Part, work: Work, data_dir: str | None) -> Done:
    start = time.process_time()
    with warnings.catch_warnings():
        # A fit that stops at max_iter counts as a result here, so its warning is not shown.
        warnings.simplefilter("ignore")
        results = work(part, data_dir)
    return Done(part, results, time.process_time() - start, kept=False)


@contextmanager
def _interrupts_wait() -> Iterator[None]:
    """Hold Ctrl-C back, here and in the processes that are started meanwhile.

    A process that is interrupted while it imports numpy prints a traceback.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _prepare_process() -> None:
    """Let Ctrl-C, or the end of the parent, end this process without a message."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not if nohup ignores it
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_wait_for_the_parent, daemon=True).start()


def _wait_for_the_parent() -> None:
    """End this process when its parent has ended, even if it was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _versions() -> list[str]:
    """Return what results depend on besides their inputs: our code and the numerical packages.

    Code that only presents results does not count.
    """
    digest = hashlib.sha256()
    source = Path(kmpe.__file__).parent
    for path in sorted(source.rglob("*.py")):
        if not any(path.is_relative_to(source / name) for name in _PRESENTING):
            digest.update(path.read_bytes())
    packages = ("numpy", "scipy", "scikit-learn")
    return [digest.hexdigest(), *(importlib.metadata.version(package) for package in packages)]
