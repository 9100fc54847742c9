"""Time of RobustPCA against scikit-learn's PCA: both in one process, interleaved, medians.

    python benchmarks/pca_speed.py

Prints the medians of the CPU time of --repeats fits and their ratio to PCA's for four shapes: the
Yale faces (where their file is found), many rows, and many rows and columns. Then the largest CPU
time over --seeds random states over their median: a rule for σ that does not settle shows there.
"""

import argparse
import os
import time
from functools import partial
from pathlib import Path

import numpy as np
from measure import interleave
from pca_problems import contaminated, subspace_error
from sklearn.decomposition import PCA

from kmpe import KMPE, RobustPCA
from kmpe.datasets import contaminate_images


def faces():
    beside = Path(__file__).parents[2] / "shared" / "data"
    path = Path(os.environ.get("KMPE_DATA", beside)) / "yale_64x64.npz"
    if not path.is_file():
        return None
    images = np.load(path)["images"].astype(float)
    return contaminate_images(images, 15, random_state=0)[0].reshape(len(images), -1)


def time_fits(models, X, repeats):
    calls = {name: partial(model.fit, X) for name, model in models.items()}
    timings = interleave(calls, repeats, time.process_time)
    return {name: timing.median for name, timing in timings.items()}


def report(title, limit, models, X, repeats, U=None):
    medians = time_fits(models, X, repeats)
    base = next(iter(medians.values()))
    for name, median in medians.items():
        error = "" if U is None else f"{subspace_error(models[name].components_, U):9.4f}"
        most = "" if median is base else limit
        print(f"{title:22}{name:24}{median:10.4f}{median / base:8.2f}{most:>7}{error}", flush=True)


def robust(m):
    return {
        "RobustPCA": RobustPCA(m),
        "PCA-KMPE p=2": RobustPCA(m, loss=KMPE(2, "silverman")),
        "PCA-KMPE p=10": RobustPCA(m, loss=KMPE(10, "silverman")),
    }


def on_faces(repeats):
    X = faces()
    if X is None:
        print("faces: no yale_64x64.npz; set KMPE_DATA to its folder")
        return
    models = {
        "PCA full": PCA(50, svd_solver="full"),
        "RobustPCA": RobustPCA(50),
        "PCA-KMPE p=10 m_r=10": RobustPCA(50, loss=KMPE(10, "silverman"), n_robust_components=10),
    }
    report("faces 165 x 4096", "1.5", models, X, repeats)


def over_seeds(seeds):
    """Print the longest fit over random states, over the median."""
    cases = [
        (600, 20, 3, 0.2, "clustered"),
        (5000, 50, 5, 0.1, "scattered"),
        (100_000, 20, 3, 0.1, "clustered"),
    ]
    print(f"\n{'data':22}{'model':24}{'median':>10}{'longest / median':>18}{'limit':>7}")
    for case in cases:
        X, _, _ = contaminated(*case, 0)
        for name, model in robust(case[2]).items():
            model.fit(X)
            spent = []
            for seed in range(seeds):
                model.random_state = seed
                start = time.process_time()
                model.fit(X)
                spent.append(time.process_time() - start)
            middle = np.median(spent)
            title = f"{case[0]} x {case[1]}"
            print(f"{title:22}{name:24}{middle:10.4f}{max(spent) / middle:18.2f}{'2':>7}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    shapes = {
        "tall": ((100_000, 200), 10, "covariance_eigh"),
        "taller": ((200_000, 200), 10, "covariance_eigh"),
        "square": ((5_000, 5_000), 20, "randomized"),
    }
    parser.add_argument("--repeats", type=int, default=7, help="fits of each model (default 7)")
    parser.add_argument("--seeds", type=int, default=30, help="random states (default 30)")
    parser.add_argument("--only", choices=["faces", *shapes, "seeds"], help="one part of it")
    options = parser.parse_args()
    print(f"{'data':22}{'model':24}{'seconds':>10}{'ratio':>8}{'limit':>7}{'error':>9}")
    if options.only in (None, "faces"):
        on_faces(options.repeats)
    for name, (shape, m, solver) in shapes.items():
        if options.only in (None, name):
            X, U, _ = contaminated(*shape, m, 0.1, "clustered", 0)
            models = {f"PCA {solver}": PCA(m, svd_solver=solver, random_state=0)} | robust(m)
            report(f"{shape[0]} x {shape[1]}", "3", models, X, options.repeats, U)
    if options.only in (None, "seeds"):
        over_seeds(options.seeds)


if __name__ == "__main__":
    main()
