"""A memory-mapped X of 8 GB, fitted in a process whose own memory is watched.

The fit runs in a process of its own; what counts is the largest anonymous memory (RssAnon) it
ever had, not the pages of the file, which the system may drop at any time.
"""

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

from benchmarks.measure import OUT, Line, bounded

GIGABYTE = 1e9
DIMS = (1000, 100)


def write_inputs(folder: Path, n: int, d: int) -> None:
    """Write X and y, a block at a time."""
    X = np.lib.format.open_memmap(folder / "X.npy", "w+", np.float64, (n, d))
    y = np.lib.format.open_memmap(folder / "y.npy", "w+", np.float64, (n,))
    rng = np.random.default_rng(0)
    for start in range(0, n, 50_000):
        where = slice(start, min(start + 50_000, n))
        block = rng.standard_normal((where.stop - start, d))
        X[where] = block
        noise = 0.1 * rng.standard_normal(len(block))
        bad = rng.random(len(block)) < 0.1
        y[where] = np.sin(block[:, 0]) + block[:, 1] * block[:, 2] + noise + 20 * bad
    X.flush()
    y.flush()


def anonymous() -> int:
    status = Path("/proc/self/status").read_text()
    return 1024 * int(status.split("RssAnon:")[1].split()[0])


def fit(folder: Path, n_hidden: int) -> None:
    """Fit, and print the largest anonymous memory on the way."""
    from kmpe import KMPE, ELMRegressor

    peak, done = [0], threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            peak[0] = max(peak[0], anonymous())

    X = np.load(folder / "X.npy", mmap_mode="r")
    y = np.load(folder / "y.npy", mmap_mode="r")
    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    model = ELMRegressor(KMPE(p=2, sigma=0.5), n_hidden=n_hidden, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    clean = np.sin(X[:10_000, 0]) + X[:10_000, 1] * X[:10_000, 2]
    error = float(np.sqrt(np.mean((model.predict(X[:10_000]) - clean) ** 2)))
    record = {"peak": peak[0], "seconds": seconds, "steps": model.n_iter_, "error": error}
    print(json.dumps(record | {"cost": float(model.history_[-1]), "status": model.status_}))


def run(gigabytes: float = 8.0, n_hidden: int = 200) -> list[Line]:
    if not Path("/proc/self/status").exists():
        return [Line("out of core: anonymous memory is read from /proc, which is not here", 0, "")]
    OUT.mkdir(parents=True, exist_ok=True)
    lines = []
    for d in DIMS:
        n = int(gigabytes * GIGABYTE / (8 * d))
        with tempfile.TemporaryDirectory(dir=OUT) as folder:
            write_inputs(Path(folder), n, d)
            command = [sys.executable, "-m", "benchmarks.out_of_core", folder, str(n_hidden)]
            output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        record = json.loads(output)
        peak = record.pop("peak") / GIGABYTE
        what = f"own memory for a memory map of {gigabytes:g} GB: N = {n}, d = {d}, L = {n_hidden}"
        lines.append(bounded(what, peak, "GB", 1.0, **record))
    return lines


if __name__ == "__main__":
    fit(Path(sys.argv[1]), int(sys.argv[2]))
