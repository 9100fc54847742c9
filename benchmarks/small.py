"""Small data, and what the import costs."""

import subprocess
import sys
import time
import warnings

import numpy as np
from sklearn.linear_model import HuberRegressor, Ridge
from threadpoolctl import threadpool_limits

from benchmarks.measure import Line, bounded, compared, interleave, ratio
from benchmarks.problems import fit_ridge
from benchmarks.ridge import problem_of
from kmpe import KMPE, ELMRegressor, RobustLinearRegression
from kmpe.datasets import make_sinc

IMPORT = """
import time
import sklearn
start = time.process_time()
import kmpe
middle = time.process_time()
from kmpe import *
print(middle - start, time.process_time() - start)
"""


def small(n=200, n_hidden=90, rounds=60) -> list[Line]:
    X, y = make_sinc(n, random_state=0)
    lines = []
    for loss in (KMPE(p=4, sigma=0.8), KMPE(p=2), KMPE(p=1.5, sigma=1.0)):
        model = ELMRegressor(
            loss, n_hidden=n_hidden, activation="sigmoid", alpha=2e-6, random_state=0
        ).fit(X, y)
        H = model.transform_hidden(X)
        candidates = {
            "ridge": lambda H=H: Ridge(alpha=1e-3, solver="cholesky").fit(H, y),
            "same H": lambda H=H, loss=loss: fit_ridge(problem_of(H, y), loss),
            "whole fit": lambda model=model: model.fit(X, y),
        }
        timings = interleave(candidates, rounds)
        lines += [
            compared(
                f"{loss}, {name} over Ridge: N = {n}, L = {n_hidden}",
                timings,
                name,
                "ridge",
                10,
                steps=model.n_iter_,
            )
            for name in ("same H", "whole fit")
        ]
    return lines


def regressions(tables=7, rounds=15) -> list[Line]:
    """Compare the CPU time of a fit with HuberRegressor's, on tables with 10% outliers."""
    lines = []
    for n, d, most in ((60, 3, 5), (100, 5, 5), (1000, 10, 8)):
        ours, theirs = RobustLinearRegression(), HuberRegressor()
        ratios = []
        for seed in range(tables):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(n, d))
            y = X @ np.arange(1.0, d + 1) + rng.standard_t(5, n) + 20 * (rng.random(n) < 0.1)
            with warnings.catch_warnings(), threadpool_limits(1):
                warnings.simplefilter("ignore")
                timings = interleave(
                    {"ours": lambda: ours.fit(X, y), "theirs": lambda: theirs.fit(X, y)},  # noqa: B023
                    rounds,
                    clock=time.process_time,
                )
            ratios.append(ratio(timings, "ours", "theirs")[0])
        what = f"RobustLinearRegression.fit over HuberRegressor, CPU time: N = {n}, d = {d}"
        between = f"{min(ratios):.2f} to {max(ratios):.2f}"
        lines.append(bounded(what, float(np.median(ratios)), "x", most, between=between))
    return lines


def imports(rounds=7) -> list[Line]:
    runs = [
        subprocess.run([sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True)
        for _ in range(rounds)
    ]
    alone, names = np.median([[1e3 * float(x) for x in run.stdout.split()] for run in runs], axis=0)
    return [
        bounded("import kmpe, beside scikit-learn", float(alone), "ms", 60),
        bounded("the same with all its names", float(names), "ms", 60),
    ]


def run() -> list[Line]:
    return small() + regressions() + imports()
