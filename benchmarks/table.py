"""From a CSV file of a million rows to a report: seconds, memory and the size of the page.

    python benchmarks/table.py --rows 1000000

Ends with 1 if it takes 60 s, 3 GB or a page of 2 MB.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv

SECONDS, BYTES, PAGE = 60.0, 3e9, 2e6


def write_table(path: Path, n: int, d: int = 20) -> None:
    """Write a linear problem with Student's noise, a twentieth of its targets spoilt."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).round(5)
    y = X @ np.arange(d) / 10 + rng.standard_t(3, size=n)
    y[rng.random(n) < 0.05] += 30
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(d)]).assign(y=y.round(5))
    pa.csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), path)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    n = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as place:
        table, out = Path(place, "table.csv"), Path(place, "out")
        write_table(table, n)
        command = [sys.executable, "-m", "kmpe", "fit", str(table), "--target", "y"]
        start = time.monotonic()
        subprocess.run([*command, "--out", str(out)], check=True)
        seconds = time.monotonic() - start
        page = (out / "report.html").stat().st_size
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    most = used.ru_maxrss * 1024
    print(f"{n:,} rows: {seconds:.1f} s ({used.ru_utime + used.ru_stime:.0f} CPU s), ", end="")
    print(f"{most / 1e9:.2f} GB, page of {page / 1e6:.2f} MB")
    return int(seconds > SECONDS or most > BYTES or page > PAGE)


if __name__ == "__main__":
    sys.exit(main())
