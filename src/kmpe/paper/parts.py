"""The work of a run, cut into parts that are done once and kept.

A part is a few repeats of one experiment. Its name is a checksum of all that decides its
result, so that a run that was stopped takes up every part that was finished, and nothing is
taken up that another seed, setting or version made.
"""

import hashlib
import importlib.metadata
import json
import multiprocessing
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import kmpe
from kmpe.paper.files import prepare_folder, write

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
        Seconds that it takes, roughly; for the progress bar only.
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
        """The name of its file: readable first, then the checksum of all that it depends on."""
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
    """Do all parts that are not done yet, in ``jobs`` processes, and return all, in order."""
    prepare_folder(folder)
    done = {part: kept for part in parts if (kept := _kept(part, folder)) is not None}
    for part in done.values():
        progress(part)
    rest = [part for part in parts if part not in done]
    if rest:
        for finished in _in_processes(rest, work, data_dir, jobs):
            content = {"seconds": finished.seconds, "results": list(finished.results)}
            write(folder / finished.part.name, json.dumps(content))
            done[finished.part] = finished
            progress(finished)
    return [done[part] for part in parts]


def _kept(part: Part, folder: Path) -> Done | None:
    try:
        content = json.loads((folder / part.name).read_text("utf-8"))
        return Done(part, content["results"], content["seconds"], kept=True)
    except (OSError, ValueError, KeyError):
        return None  # not there, or not readable: it is simply done again


def _in_processes(
    parts: Iterable[Part], work: Work, data_dir: str | None, jobs: int
) -> Iterable[Done]:
    """Yield parts as they are finished.

    Every part is computed in a process with one BLAS thread, also when there is one job: sums
    are then rounded in the same way for any number of jobs.
    """
    threads = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in threads}
    os.environ.update(dict.fromkeys(threads, "1"))
    pool = ProcessPoolExecutor(
        jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_die_with_the_parent
    )
    try:
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
        # A fit that stops at max_iter is a result here; the report says how the fits are made.
        warnings.simplefilter("ignore")
        results = work(part, data_dir)
    return Done(part, results, time.process_time() - start, kept=False)


def _die_with_the_parent() -> None:
    """End this process when the one that started it is gone, however it went."""
    threading.Thread(target=_wait_for_the_parent, daemon=True).start()


def _wait_for_the_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@cache
def _versions() -> list[str]:
    """Return what results depend on beside inputs: our own code, and the numerical packages.

    How results are shown is no part of it.
    """
    digest = hashlib.sha256()
    source = Path(kmpe.__file__).parent
    for path in sorted(source.rglob("*.py")):
        shown = path.is_relative_to(source / "paper" / "report") or path.name == "cli.py"
        if not shown:
            digest.update(path.read_bytes())
    packages = ("numpy", "scipy", "scikit-learn")
    return [digest.hexdigest(), *(importlib.metadata.version(package) for package in packages)]
