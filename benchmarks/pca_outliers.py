"""Subspace error under outliers: RobustPCA, plain PCA, PCA of the clean rows, and ROBPCA.

    python benchmarks/pca_outliers.py --robpy-python /path/to/python

ROBPCA is robpy's, which needs an environment of its own: name its interpreter, or the rows for
it are left out. Errors are ‖P - P̂‖ / √(2m) and the largest principal angle; means over draws.
"""

import argparse
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from pca_problems import contaminated, largest_angle, subspace_error
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from kmpe import KMPE, Correntropy, RobustPCA

CASES = [
    (2000, 500, 20, 0.1, "clustered"),
    (2000, 500, 20, 0.1, "scattered"),
    (500, 50, 3, 0.3, "point"),
    (500, 50, 3, 0.3, "clustered"),
    (300, 100, 10, 0.2, "clustered"),
    (60, 200, 5, 0.2, "point"),
    (500, 10, 2, 0.0, "none"),
]
ROBPY = """
import sys, time, warnings
import matplotlib
import numpy as np
matplotlib.use("Agg")
warnings.simplefilter("ignore")
from robpy.pca import ROBPCA
X = np.load(sys.argv[1])
start = time.process_time()
model = ROBPCA(n_components=int(sys.argv[2]), random_seed=1).fit(X)
seconds = time.process_time() - start
score, orthogonal, far, off = model.plot_outlier_map(X, return_distances=True)
np.savez(sys.argv[3], components=model.components_.T, variances=model.explained_variance_,
         outliers=(score > far) | (orthogonal > off), seconds=seconds)
"""


def robpca(python, X, m):
    """Return directions, variances, outliers and CPU seconds of robpy's ROBPCA."""
    with tempfile.TemporaryDirectory() as folder:
        rows, result = Path(folder) / "X.npy", Path(folder) / "result.npz"
        np.save(rows, X)
        subprocess.run([python, "-c", ROBPY, str(rows), str(m), str(result)], check=True)
        with np.load(result) as found:
            return (
                found["components"],
                found["variances"],
                found["outliers"],
                float(found["seconds"]),
            )


def models(m):
    return {
        "PCA": PCA(m, svd_solver="full"),
        "RobustPCA": RobustPCA(m, random_state=0),
        "PCA-KMPE p=10 silverman": RobustPCA(m, loss=KMPE(10, "silverman"), random_state=0),
        "HQ-PCA, init=pca": RobustPCA(m, loss=Correntropy("silverman"), init="pca"),
    }


def measure(case, seed, python):
    X, U, spoilt = contaminated(*case, seed)
    m = case[2]
    clean = PCA(m, svd_solver="full").fit(X[~spoilt])
    found = {"PCA of the clean rows": (clean.components_, np.nan)}
    for name, model in models(m).items():
        start = time.perf_counter()
        model.fit(X)
        found[name] = model.components_, time.perf_counter() - start
    if python:
        W, _, _, seconds = robpca(python, X, m)
        found["ROBPCA (robpy)"] = W, seconds
    return {
        name: (subspace_error(W, U), largest_angle(W, U), seconds)
        for name, (W, seconds) in found.items()
    }


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=3, help="draws of each case (default 3)")
    parser.add_argument("--cases", type=int, nargs="*", help="which cases, from 0 (default all)")
    parser.add_argument("--robpy-python", help="an interpreter that imports robpy")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # HQ-PCA as printed may go in circles
    if not options.robpy_python:
        print("robpy is left out: name an interpreter that imports it with --robpy-python")
    for case in CASES if options.cases is None else [CASES[i] for i in options.cases]:
        n, d, m, share, kind = case
        print(f"\nn={n} d={d} m={m}, {share:.0%} {kind}")
        print(f"  {'model':26}{'error':>8}{'angle':>8}{'seconds':>9}")
        draws = [measure(case, seed, options.robpy_python) for seed in range(options.draws)]
        for name in draws[0]:
            error, angle, seconds = np.mean([draw[name] for draw in draws], axis=0)
            print(f"  {name:26}{error:8.4f}{angle:8.2f}{seconds:9.3f}")


if __name__ == "__main__":
    main()
