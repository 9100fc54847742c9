"""Rows on a Dask cluster of two local workers: ``python -m benchmarks cluster``.

A linear regression of rows with 10% outliers, beside the same fit of a memory map on the same two
cores; what the client receives and keeps; workers that are killed; dask-ml's LinearRegression on
the same cluster; samples from files. The full size is ``--gigabytes 8 --peer-gigabytes 4`` (the
default); a quick look is ``--gigabytes 0.5 --peer-gigabytes 0.25``. ``--only overhead map`` runs
some parts, and ``--folder`` keeps the data for the next run. It needs kmpe[dask,files], and dask-ml
for the peer.
"""

import argparse
import importlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.file_samples import samples
from benchmarks.measure import OUT, Line, bounded
from benchmarks.out_of_core import GIGABYTE, anonymous

D = 100
TRUTH = np.linspace(-1.0, 1.0, D)


def write_rows(folder: Path, n: int) -> None:
    """Write X.npy and y.npy, a tenth of the targets moved far up."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (n, D))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.float64, (n,))
    rng = np.random.default_rng(0)
    for start in range(0, n, 50_000):
        where = slice(start, min(start + 50_000, n))
        X[where] = rng.standard_normal((where.stop - start, D))
        noise = rng.standard_t(3, size=where.stop - start)
        y[where] = X[where] @ TRUTH + noise + 50 * (rng.random(len(noise)) < 0.1)
    X.flush()
    y.flush()


def _read(path: str, start: int, stop: int) -> np.ndarray:
    return np.array(np.load(path, mmap_mode="r")[start:stop])


def collections(folder: Path, n: int, chunk_bytes: float) -> tuple[Any, Any]:
    """Return lazy arrays whose chunks the workers read from the files."""
    import dask.array as da
    from dask import delayed

    per = max(1, int(chunk_bytes / (8 * D)))
    ends = [*range(0, n, per), n]
    read = delayed(_read, pure=True)
    arrays = []
    for name, width in (("X", (D,)), ("y", ())):
        path = str(folder / f"{name}.npy")
        pieces = [
            da.from_delayed(read(path, i, j), shape=(j - i, *width), dtype=np.float64)
            for i, j in pairwise(ends)
        ]
        arrays.append(da.concatenate(pieces, axis=0))
    return arrays[0], arrays[1]


def fit(X: Any, y: Any) -> tuple[Any, float]:
    from kmpe import RobustLinearRegression

    start = time.perf_counter()
    model = RobustLinearRegression().fit(X, y)
    return model, time.perf_counter() - start


def of_map(folder: Path) -> tuple[np.ndarray, float]:
    """Fit the memory map in a process of its own with two threads."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2"}
    command = [sys.executable, "-m", "benchmarks.cluster", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    *coef, seconds = (float(value) for value in done.stdout.split())
    return np.array(coef), seconds


class Watch:
    """The memory of this process beyond what it had, and what it fetches from workers."""

    def __init__(self) -> None:
        self.peak, self.received = 0, 0

    @contextmanager
    def on(self) -> Iterator[None]:
        from kmpe.rows import cluster

        before, done, fetch = anonymous(), threading.Event(), cluster._Cluster.fetch

        def watch() -> None:
            while not done.wait(0.02):
                self.peak = max(self.peak, anonymous() - before)

        def counted(runs: Any, references: Any) -> list[Any]:
            found = fetch(runs, references)
            self.received += len(pickle.dumps(found))
            return found

        watcher = threading.Thread(target=watch)
        watcher.start()
        cluster._Cluster.fetch = counted  # type: ignore[method-assign]
        try:
            yield
        finally:
            cluster._Cluster.fetch = fetch  # type: ignore[method-assign]
            done.set()
            watcher.join()


def _keys(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def keys_left(client: Any) -> int:
    for _ in range(50):
        if not client.run_on_scheduler(_keys):
            break
        time.sleep(0.1)
    return int(client.run_on_scheduler(_keys))


def pass_overhead(client: Any) -> float:
    """Return the milliseconds of a pass over 8 tiny parts: the median of 50."""
    import dask.array as da

    from kmpe.rows.cluster import engine
    from kmpe.rows.dask import open_rows
    from kmpe.rows.parts import Numbers

    X, y = da.ones((8000, 4), chunks=(1000, 4)), da.ones(8000, chunks=1000)
    seconds = []
    with engine() as runs:
        rows, _ = open_rows(runs, X, y, None, Numbers())
        for _ in range(50):
            start = time.perf_counter()
            rows.total(_count)
            seconds.append(time.perf_counter() - start)
    client.wait_for_workers(2)
    return 1000 * float(np.median(seconds))


def cost_model(passes: int = 30) -> Iterator[Line]:
    """Yield the seconds of a pass, a part and a gigabyte, and what they predict for 4 TB.

    Least squares through the medians of passes over parts of several numbers and sizes, which two
    workers hold. A part and a gigabyte are of one worker: several share them.
    """
    import dask.array as da

    from kmpe.losses import Huber
    from kmpe.problems.ridge_sums import CostAndPull
    from kmpe.rows.cluster import engine
    from kmpe.rows.dask import open_rows
    from kmpe.rows.parts import Numbers

    term = CostAndPull(np.zeros((D, 1)), Huber(1.0))
    sizes, times = [], []
    for parts, megabytes in ((8, 1), (32, 1), (32, 4), (8, 16), (32, 8)):
        n = int(parts * megabytes * 1e6 / (8 * D))
        X = da.random.default_rng(0).normal(size=(n, D), chunks=(-(-n // parts), D))
        seconds = []
        with engine() as runs:
            rows, _ = open_rows(runs, X, X[:, 0], None, Numbers())
            for _ in range(7):
                start = time.perf_counter()
                rows.total(term)
                seconds.append(time.perf_counter() - start)
        sizes.append([1.0, parts / 2, parts * megabytes / 2000])
        times.append(float(np.median(seconds)))
    model = np.maximum(np.linalg.lstsq(np.array(sizes), np.array(times), rcond=None)[0], 0.0)
    for name, value in zip(("a pass", "a part", "a gigabyte"), model, strict=True):
        yield Line(f"cost model: {name}", 1000 * value, "ms")
    gigabytes = 1e9 * 500 * 8 / GIGABYTE
    for workers in (8, 64):
        of_pass = model @ [1.0, gigabytes / 0.128 / workers, gigabytes / workers]
        what = f"predicted: 1e9 rows x 500, {passes} passes, {workers} workers of one core"
        yield Line(what, passes * of_pass / 60, "minutes")


def _count(block: Any) -> tuple[np.ndarray]:
    return (np.asarray(block.a.sum()),)


@contextmanager
def killing(client: Any, method: str, at: tuple[int, ...]) -> Iterator[list[int]]:
    """Kill a worker before some calls of a method of the rows; the list has who died."""
    from kmpe.rows.dask import DaskRows

    called, killed, plain = [0], list[int](), getattr(DaskRows, method)

    def counted(rows: Any, *arguments: Any) -> Any:
        called[0] += 1
        if called[0] in at:
            pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid]
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)
        return plain(rows, *arguments)

    setattr(DaskRows, method, counted)
    try:
        yield killed
    finally:
        setattr(DaskRows, method, plain)


def against_the_map(client: Any, folder: Path, n: int) -> Iterator[Line]:
    """Yield times over the memory map's, digits, and what the client had to hold."""
    coef, of_file = of_map(folder)
    nbytes = 8.0 * n * (D + 1)
    for chunk, most in ((128e6, 1.3), (10e6, 1.5)):
        X, y = collections(folder, n, chunk)
        watch = Watch()
        with watch.on():
            model, seconds = fit(X, y)
        what = f"{nbytes / GIGABYTE:.3g} GB in chunks of {chunk / 1e6:g} MB"
        detail = {"seconds": round(seconds, 1), "memory map": round(of_file, 1)}
        yield bounded(f"{what}, time over the memory map", seconds / of_file, "x", most, **detail)
        apart = float(np.max(np.abs(model.coef_ - coef)) / np.max(np.abs(coef)))
        yield bounded(f"{what}, difference from the memory map", apart, "", 1e-8)
        sample = model._of_sample[1].nbytes * (D + 1)
        most_memory = 64 + 3 * sample / 1e6
        yield bounded(f"{what}, growth of the client", watch.peak / 1e6, "MB", most_memory)
        share = max(watch.received - 3 * sample, 0) / nbytes
        received = {"MB": round(watch.received / 1e6, 1), "MB of a sample": round(sample / 1e6, 1)}
        yield bounded(f"{what}, share received beyond samples", share, "", 0.01, **received)
        yield bounded(f"{what}, keys left", keys_left(client), "", 0)
        yield bounded(f"{what}, pickled model", len(pickle.dumps(model)) / 1e6, "MB", 10)


def killed_workers(client: Any, folder: Path, n: int) -> Iterator[Line]:
    """Yield times of fits of which workers are killed, beside the clean one."""
    X, y = collections(folder, n, 32e6)
    clean, seconds = fit(X, y)
    start = time.perf_counter()
    X.sum().compute()
    reload = time.perf_counter() - start
    cases: dict[str, tuple[str, tuple[int, ...]]] = {
        "in the third pass": ("total", (3,)),
        "while sampling": ("at", (1,)),
        "twice": ("total", (3, 9)),
    }
    for name, (method, at) in cases.items():
        with killing(client, method, at) as killed:
            model, took = fit(X, y)
        same = len(killed) == len(at) and bool(np.array_equal(model.coef_, clean.coef_))
        detail = {"clean": round(seconds, 1), "reload": round(reload, 1), "same digits": same}
        most = seconds + len(at) * (reload + 15)
        line = bounded(f"a worker killed {name}, {n} rows", took, "s", most, **detail)
        yield line if same else Line(line.what, took, "s", line.target, False, line.detail)
        client.cluster.scale(2)
        client.wait_for_workers(2, timeout=60)


def against_dask_ml(folder: Path, n: int) -> Iterator[Line]:
    """Yield time and error beside dask-ml's LinearRegression."""
    try:
        from dask_ml.linear_model import LinearRegression
        from distributed import wait
    except ImportError as error:
        yield Line(f"dask-ml is not installed, or does not load: {error}", 0, "")
        return
    X, y = collections(folder, n, 128e6)
    X, y = X.persist(), y.persist()
    wait([X, y])
    ours, theirs = [], []
    for _ in range(2):  # in turn; the first round also imports what the workers need
        model, seconds = fit(X, y)
        ours.append(seconds)
        start = time.perf_counter()
        try:
            other = LinearRegression(solver="lbfgs").fit(X, y)
        except Exception as error:  # a peer that cannot be run is a result
            yield Line(f"dask-ml's LinearRegression fails: {type(error).__name__} {error}", 0, "")
            return
        theirs.append(time.perf_counter() - start)
    seconds, peer = min(ours), min(theirs)
    errors = [float(np.abs(np.ravel(m.coef_)[:D] - TRUTH).max()) for m in (model, other)]
    detail = {"seconds": round(seconds, 1), "dask-ml": round(peer, 1)}
    yield bounded(
        f"time over dask-ml's LinearRegression, {n} rows", seconds / peer, "x", 1, **detail
    )
    detail = {"largest error": f"{errors[0]:.2g}", "dask-ml": f"{errors[1]:.2g}"}
    yield bounded("error over dask-ml's", errors[0] / errors[1], "x", 1, **detail)


def overheads(client: Any) -> Iterator[Line]:
    """Yield what a pass costs however few the rows are, and what the cost model predicts."""
    yield bounded("a pass over 8 tiny parts", pass_overhead(client), "ms", 30)
    yield from cost_model()


#: The parts, and the option that gives the size of their data.
STEPS: dict[str, tuple[str, Callable[[Any, Path, int], Iterator[Line]]]] = {
    "overhead": ("", lambda client, _, __: overheads(client)),
    "map": ("gigabytes", against_the_map),
    "killed": ("kill_gigabytes", killed_workers),
    "peer": ("peer_gigabytes", lambda _, folder, n: against_dask_ml(folder, n)),
    "files": ("file_gigabytes", lambda _, folder, n: samples(folder, n)),
}


def run(options: list[str]) -> list[Line]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks cluster", description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=8.0)
    parser.add_argument("--kill-gigabytes", type=float, default=1.0)
    parser.add_argument("--peer-gigabytes", type=float, default=4.0)
    parser.add_argument("--file-gigabytes", type=float, default=1.0)
    parser.add_argument("--only", nargs="*", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--folder", type=Path)
    given = parser.parse_args(options)
    from distributed import Client, LocalCluster

    # Dask gives each worker one BLAS thread, unless the environment says otherwise.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.pop(name, None)
    # The modules that a fit needs are not what it keeps of the data.
    importlib.import_module("kmpe.estimators.linear")
    OUT.mkdir(parents=True, exist_ok=True)
    sizes = {name: getattr(given, STEPS[name][0], 0.0) for name in given.only}
    rows = {name: int(size * GIGABYTE / (8 * D)) for name, size in sizes.items()}
    lines: list[Line] = []
    with (
        tempfile.TemporaryDirectory(dir=OUT) as temporary,
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        folder = given.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if max(rows.values()) and not (folder / "y.npy").exists():
            write_rows(folder, max(rows.values()))
        for name in given.only:
            part = Path(temporary) / name
            part.mkdir()
            for file in ("X", "y") if rows[name] else ():
                _cut(folder / f"{file}.npy", part / f"{file}.npy", rows[name])
            for line in STEPS[name][1](client, part, rows[name]):
                print(line.what, line.value, line.target, line.detail, flush=True)
                lines.append(line)
    return lines


def _cut(source: Path, target: Path, n: int) -> None:
    """Give the first rows of a file a name of their own; all of them without a copy."""
    values = np.load(source, mmap_mode="r")
    if len(values) == n:
        target.symlink_to(source.resolve())
    else:
        np.save(target, values[:n])


if __name__ == "__main__":
    where = Path(sys.argv[1])
    fitted, took = fit(*(np.load(where / f"{name}.npy", mmap_mode="r") for name in "Xy"))
    print(*(repr(float(value)) for value in fitted.coef_), took)
