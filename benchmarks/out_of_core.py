"""Memory maps of several GB, fitted in a process whose own memory is watched.

The fit runs in a process of its own; what counts is the largest anonymous memory (RssAnon) it
ever had, not the pages of the file, which the system may drop at any time. Linear regression and
PCA are also compared with the fit in memory, in time and digits, on rows that fit into both.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import OUT, Line, bounded, compared, interleave

GIGABYTE = 1e9
# Estimator, gigabytes, columns.
SETTINGS = (
    ("elm", 8.0, 1000),
    ("elm", 8.0, 100),
    ("linear", 4.0, 100),
    ("pca", 4.0, 100),
)
N_HIDDEN = 200


def write_inputs(folder: Path, n: int, d: int, name: str) -> None:
    """Write X and y, a block at a time; for a PCA three columns carry most of the variance."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (n, d))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.float64, (n,))
    rng = np.random.default_rng(0)
    for start in range(0, n, 50_000):
        where = slice(start, min(start + 50_000, n))
        block = rng.standard_normal((where.stop - start, d))
        if name == "pca":
            block[:, :3] *= [10.0, 7.0, 5.0]
        X[where] = block
        noise = 0.1 * rng.standard_normal(len(block))
        bad = rng.random(len(block)) < 0.1
        y[where] = np.sin(block[:, 0]) + block[:, 1] * block[:, 2] + noise + 20 * bad
    X.flush()
    y.flush()


def anonymous() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


def models() -> dict[str, Any]:
    from kmpe import KMPE, ELMRegressor, RobustLinearRegression, RobustPCA

    return {
        "elm": ELMRegressor(
            KMPE(p=2, sigma=0.5), n_hidden=N_HIDDEN, activation="sigmoid", random_state=0
        ),
        "linear": RobustLinearRegression(),
        "pca": RobustPCA(3, random_state=0),
    }


def fit(folder: Path, name: str) -> None:
    """Fit, and print the largest anonymous memory on the way."""
    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], anonymous())

    X = np.load(folder / "X.npy", mmap_mode="r")
    y = np.load(folder / "y.npy", mmap_mode="r")
    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    model = models()[name].fit(X, y)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    record = {"peak": peak[0], "seconds": round(seconds, 2), "steps": model.n_iter_}
    print(json.dumps(record | {"cost": float(model.history_[-1]), "status": model.status_}))


def own_memory(name: str, gigabytes: float, d: int) -> Line:
    n = int(gigabytes * GIGABYTE / (8 * d))
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        write_inputs(Path(folder), n, d, name)
        command = [sys.executable, "-m", "benchmarks.out_of_core", folder, name]
        output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    record = json.loads(output)
    peak = record.pop("peak") / GIGABYTE
    what = f"{name}, own memory for a memory map of {gigabytes:g} GB: N = {n}, d = {d}"
    return bounded(what, peak, "GB", 1.0, **record)


def against_memory(name: str, n: int = 500_000, d: int = 100, rounds: int = 5) -> list[Line]:
    """Compare the fit of a memory map with that of the same rows in memory."""
    with tempfile.TemporaryDirectory(dir=OUT) as folder:
        write_inputs(Path(folder), n, d, name)
        mapped, y = (np.load(Path(folder) / f"{part}.npy", mmap_mode="r") for part in "Xy")
        X, y = np.array(mapped), np.array(y)
        candidates = {
            "map": lambda: models()[name].fit(mapped, y),
            "memory": lambda: models()[name].fit(X, y),
        }
        timings = interleave(candidates, rounds)
    found = [np.ravel(getattr(t.value, "coef_", None)) for t in timings.values()]
    if name == "pca":
        found = [np.ravel(t.value.components_) for t in timings.values()]
    apart = float(np.max(np.abs(found[0] - found[1])) / np.max(np.abs(found[1])))
    what = f"{name}, memory map over memory: N = {n}, d = {d}"
    return [
        compared(what, timings, "map", "memory", 1.5),
        bounded(f"{name}, difference of the two fits", apart, "", 1e-8),
    ]


def run() -> list[Line]:
    if not Path("/proc/self/status").exists():
        return [Line("out of core: anonymous memory is read from /proc, which is not here", 0, "")]
    OUT.mkdir(parents=True, exist_ok=True)
    lines = against_memory("linear") + against_memory("pca")
    return lines + [own_memory(*setting) for setting in SETTINGS]


if __name__ == "__main__":
    fit(Path(sys.argv[1]), sys.argv[2])
