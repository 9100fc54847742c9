"""Time of RobustPCA against scikit-learn's PCA: both in one process, interleaved, medians.

    python benchmarks/pca_speed.py

Prints the medians of --repeats fits and their ratio for three shapes: the Yale faces (where
their file is found), many rows, and many rows and columns.
"""

import argparse
import os
import time
from pathlib import Path

import numpy as np
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
    seconds = {name: [] for name in models}
    for _ in range(repeats):
        for name, model in models.items():
            start = time.perf_counter()
            model.fit(X)
            seconds[name].append(time.perf_counter() - start)
    return {name: np.median(times) for name, times in seconds.items()}


def report(title, limit, models, X, repeats, U=None):
    medians = time_fits(models, X, repeats)
    base = next(iter(medians.values()))
    for name, median in medians.items():
        error = "" if U is None else f"{subspace_error(models[name].components_, U):9.4f}"
        print(f"{title:22}{name:24}{median:10.4f}{median / base:8.2f}{limit:>7}{error}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=7, help="fits of each model (default 7)")
    parser.add_argument(
        "--only", choices=["faces", "tall", "square"], help="one of the three shapes"
    )
    options = parser.parse_args()
    print(f"{'data':22}{'model':24}{'seconds':>10}{'ratio':>8}{'limit':>7}{'error':>9}")
    X = faces() if options.only in (None, "faces") else None
    if X is not None:
        models = {
            "PCA full": PCA(50, svd_solver="full"),
            "RobustPCA": RobustPCA(50, random_state=0),
            "PCA-KMPE p=10 m_r=10": RobustPCA(
                50, loss=KMPE(10, "silverman"), n_robust_components=10, random_state=0
            ),
        }
        report("faces 165 x 4096", "1.5", models, X, options.repeats)
    elif options.only in (None, "faces"):
        print("faces: no yale_64x64.npz; set KMPE_DATA to its folder")
    for name, shape, m, solver in (
        ("tall", (200_000, 200), 10, "covariance_eigh"),
        ("square", (5_000, 5_000), 20, "randomized"),
    ):
        if options.only in (None, name):
            X, U, _ = contaminated(*shape, m, 0.1, "clustered", 0)
            models = {
                f"PCA {solver}": PCA(m, svd_solver=solver, random_state=0),
                "RobustPCA": RobustPCA(m, random_state=0),
                "PCA-KMPE p=2": RobustPCA(m, loss=KMPE(2, "silverman"), random_state=0),
                "PCA-KMPE p=10": RobustPCA(m, loss=KMPE(10, "silverman"), random_state=0),
            }
            report(f"{name} {shape[0]} x {shape[1]}", "3", models, X, options.repeats, U)


if __name__ == "__main__":
    main()
