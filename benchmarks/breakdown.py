"""Breakdown map of RobustLinearRegression(): which bad rows move its slopes.

``python benchmarks/breakdown.py [--draws 5] [--sizes 100 500 2000] [--inputs 1 3 8 20]`` counts
lost draws over shares of bad rows, inputs, distances and rows. Bad rows are off the plane by their
distance, in standard deviations of the noise, or are leverage points, which lie at the distance in
the inputs and off the plane by three times as much; both are clustered (one side, one direction) or
scattered (either side, any direction). Inputs are Gaussian, correlated in every second draw. A draw
is lost when the squared error of the slopes exceeds ten times the mean for least squares on the m
clean rows, d / (m - d - 2); errors are taken for uncorrelated inputs.

``--lmrob`` fits the same draws with R's lmrob (Rscript and robustbase) and shows draws lost by
kmpe / by lmrob / by kmpe only. ``--bias`` shows the mean scale of `high_breakdown` on Gaussian
noise of scale 1: the S-scale over 1 - 0.6 k/n. ``--constants`` halves and doubles the constants of
`kmpe.starts.fast_s`, counts the leverage draws that the start loses, and shows the median squared
error of the others in units of d / (m - d - 2). All of it is deterministic.
"""

import argparse
import itertools
import shutil
import subprocess
import sys
import tempfile
import warnings
import zlib
from collections import defaultdict
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

from kmpe import RobustLinearRegression
from kmpe.starts import fast_s, regression
from kmpe.starts.regression import high_breakdown

KINDS = ("vertical clustered", "vertical scattered", "leverage clustered", "leverage scattered")
SHARES = (0.10, 0.20, 0.30, 0.40, 0.45)
INPUTS = (1, 3, 8, 20)
DISTANCES = (3, 8, 30, 100)
SIZES = (100, 500, 2000)
SLOPE = 3.0
LOST = 10
CORRELATION = 0.9
CONSTANTS = ("SUBSETS", "SAMPLE", "_CARRIED_ON", "_WORK", "_SETTLED")
# Draws come as n, d and the columns y, X; the slopes go back one line for each draw.
LMROB = r"""
suppressMessages(library(robustbase))
paths <- commandArgs(TRUE); input <- file(paths[1], "rb"); output <- file(paths[2], "w")
while (length(shape <- readBin(input, "double", 2)) == 2) {
  M <- matrix(readBin(input, "double", shape[1] * (shape[2] + 1)), shape[1]); set.seed(1)
  X <- cbind(M[, -1, drop = FALSE], 1)
  model <- tryCatch(suppressWarnings(lmrob.fit(X, M[, 1], lmrob.control())),
                    error = function(e) list(coefficients = rep(NaN, ncol(X))))
  cat(model$coefficients[seq_len(shape[2])], "\n", file = output)
}
close(output)
"""


class Cell(NamedTuple):
    """One cell of the map."""

    kind: str
    n: int
    d: int
    distance: float
    share: float


class Draw(NamedTuple):
    """Contaminated rows, and what tells whether slopes are lost."""

    X: np.ndarray
    y: np.ndarray
    mix: np.ndarray
    beta: np.ndarray
    limit: float

    def error(self, slopes):
        """Return the squared error of slopes over its mean for least squares on clean rows."""
        return LOST * np.sum((self.mix @ slopes - self.beta) ** 2) / self.limit

    def lost(self, slopes):
        # A fit that failed has NaN slopes.
        return not self.error(slopes) <= LOST


def cells(kinds, sizes, inputs=INPUTS):
    return [Cell(*c) for c in itertools.product(kinds, sizes, inputs, DISTANCES, SHARES)]


def draw(cell, seed):
    rng = np.random.default_rng(zlib.crc32(repr((tuple(cell), seed)).encode()))
    n, d, m = cell.n, cell.d, round(cell.share * cell.n)
    X, y, beta = rng.normal(size=(n, d)), rng.normal(size=n), rng.normal(size=d)
    clustered = cell.kind.endswith("clustered")
    sides = np.ones(m) if clustered else rng.choice([-1.0, 1.0], m)
    offset = cell.distance
    if cell.kind.startswith("leverage"):
        directions = rng.normal(size=(1 if clustered else m, d))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        X[:m] = (0.5 if clustered else 1.0) * X[:m] + cell.distance * directions
        offset *= SLOPE
    y[:m] += offset * sides
    mix = mixing(d) if seed % 2 else np.eye(d)
    rows = rng.permutation(n)
    limit = LOST * d / (n - m - d - 2)
    return Draw((X @ mix)[rows], (y + X @ beta + 1.0)[rows], mix, beta, limit)


def mixing(d):
    apart = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return np.linalg.cholesky(CORRELATION**apart).T


def ours(X, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RobustLinearRegression().fit(X, y).coef_


def lmrob(draws):
    """Return the slopes of R's lmrob for many draws, from one call of Rscript."""
    with tempfile.TemporaryDirectory() as folder:
        there, back = Path(folder, "draws.bin"), Path(folder, "slopes.txt")
        with there.open("wb") as file:
            for X, y, *_ in draws:
                np.array(X.shape, dtype=float).tofile(file)
                np.asfortranarray(np.column_stack([y, X])).ravel("F").tofile(file)
        command = ["Rscript", "-e", LMROB, there, back]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"R stopped; --lmrob needs robustbase. It said:\n{done.stderr}")
        return [np.array(line.split(), dtype=float) for line in back.read_text().splitlines()]


def lost_draws(cell_list, draws, *, beside):
    """Return for each draw its cell, and whether kmpe and lmrob lost it."""
    batch = [(cell, draw(cell, seed)) for cell in cell_list for seed in range(draws)]
    peer = lmrob([made for _, made in batch]) if beside else [None] * len(batch)
    return [
        (cell, made.lost(ours(made.X, made.y)), beside and made.lost(slopes))
        for (cell, made), slopes in zip(batch, peer, strict=True)
    ]


def counted(rows, *, beside):
    lost = np.array([(own, peer, own and not peer) for _, own, peer in rows]).sum(axis=0)
    return "/".join(map(str, lost)) if beside else str(lost[0])


def show_map(rows, *, beside):
    """Print the lost draws of one kind and size, distances and inputs by shares."""
    grid = defaultdict(list)
    for row in rows:
        grid[row[0].d, row[0].distance, row[0].share].append(row)
    first = rows[0][0]
    print(f"\n{first.kind}, n = {first.n}: lost of {len(next(iter(grid.values())))} draws")
    print("  d  distance" + "".join(f"{share:>10.0%}" for share in SHARES))
    for d, distance in sorted({key[:2] for key in grid}):
        found = [counted(grid[d, distance, share], beside=beside) for share in SHARES]
        print(f"{d:3d}  {distance:8g}" + "".join(f"{word:>10}" for word in found), flush=True)


def show_sums(rows, *, beside):
    """Print the lost draws by each side of the map."""
    print("\nLost in all: " + counted(rows, beside=beside) + f" of {len(rows)} draws")
    places = defaultdict(lambda: [False, False])
    for cell, own, peer in rows:
        places[cell] = [places[cell][0] or own, places[cell][1] or bool(peer)]
    found = counted([(cell, *lost) for cell, lost in places.items()], beside=beside)
    print(f"Cells with a lost draw: {found} of {len(places)}")
    for field in Cell._fields:
        groups = defaultdict(list)
        for row in rows:
            groups[getattr(row[0], field)].append(row)
        words = [f"{k}: {counted(v, beside=beside)} of {len(v)}" for k, v in groups.items()]
        print(f"  {field}: " + ", ".join(words))


def breakdown_map(draws, sizes, inputs, *, beside):
    if beside:
        print("Each entry: lost by kmpe / by lmrob / by kmpe only.")
    everything = []
    for kind, n in itertools.product(KINDS, sizes):
        rows = lost_draws(cells([kind], [n], inputs), draws, beside=beside)
        show_map(rows, beside=beside)
        everything += rows
    show_sums(everything, beside=beside)


def start(X, y):
    """Return the start's slopes."""
    centre, size = X.mean(axis=0), X.std(axis=0)
    H = np.column_stack([(X - centre) / size, np.ones(len(y))])
    return high_breakdown(H, y[:, None], np.ones(len(y))).theta[:-1, 0] / size


def bias(draws):
    """Print the mean scale, with its standard error, by coefficients and rows per coefficient."""
    per_coefficient = (2, 3, 4, 6, 8, 12, 24)
    print("Mean scale of Gaussian noise of scale 1 (standard error)")
    print("  k  rows / k" + "".join(f"{f:>14d}" for f in per_coefficient))
    for k in (2, 5, 10, 20):
        words = []
        for f in per_coefficient:
            rng = np.random.default_rng([k, f])
            scales = [gaussian_scale(rng, f * k, k) for _ in range(draws)]
            error = np.std(scales) / np.sqrt(draws)
            words.append(f"{np.mean(scales):.3f} ({error:.3f})")
        print(f"{k:3d}          " + "".join(f"{word:>14}" for word in words), flush=True)


def gaussian_scale(rng, n, k):
    H = np.column_stack([rng.normal(size=(n, k - 1)), np.ones(n)])
    return high_breakdown(H, rng.normal(size=(n, 1)), np.ones(n)).scale


def constants(draws, sizes, inputs):
    batch = [draw(cell, seed) for cell in cells(KINDS[2:], sizes, inputs) for seed in range(draws)]
    print(f"Leverage draws lost by the start, of {len(batch)}")
    print(f"{'as they are':24}" + start_lost(batch), flush=True)
    for name in CONSTANTS:
        value = getattr(fast_s, name)
        for other in (value / 2, 2 * value):
            with_constant(name, type(value)(other))
            print(f"{f'{name} = {other:g}':24}" + start_lost(batch), flush=True)
        with_constant(name, value)


def with_constant(name, value):
    # regression imports some of them by name.
    for module in (fast_s, regression):
        if hasattr(module, name):
            setattr(module, name, value)


def start_lost(batch):
    begun = process_time()
    errors = np.array([made.error(start(made.X, made.y)) for made in batch])
    seconds = process_time() - begun
    kept = errors <= LOST
    return f"{np.sum(~kept):5d} lost, error {np.median(errors[kept]):.4f}, {seconds:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, help="draws per cell, 5; 50 with --bias")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of rows")
    parser.add_argument("--inputs", type=int, nargs="+", default=INPUTS, help="numbers of inputs")
    parser.add_argument("--lmrob", action="store_true", help="beside R's lmrob")
    parser.add_argument("--bias", action="store_true", help="the mean of the start's scale")
    parser.add_argument("--constants", action="store_true", help="constants halved and doubled")
    options = parser.parse_args()
    needed = 5 * max(options.inputs)  # twice as many good rows as coefficients, of 55%
    if min(options.sizes) < needed:
        parser.error(f"--sizes {min(options.sizes)}: {max(options.inputs)} inputs need {needed}")
    if options.lmrob and shutil.which("Rscript") is None:
        parser.error("--lmrob needs Rscript with the package robustbase; Rscript is not installed")
    if options.bias:
        bias(options.draws or 50)
    elif options.constants:
        constants(options.draws or 5, options.sizes, options.inputs)
    else:
        breakdown_map(options.draws or 5, options.sizes, options.inputs, beside=options.lmrob)


if __name__ == "__main__":
    main()
