"""What the 95% confidence intervals of RobustLinearRegression() cover, noise by noise.

``python benchmarks/coverage.py [--draws 300] [--jobs 2]`` prints for each noise and shape of the
table how often the intervals of the slopes hold the true ones, and how often the 90% prediction
intervals hold the targets of new rows. Slopes are those of the mean, which the noises leave
alone: where targets are ratings, the inputs have nothing to do with them. Of skewed noise whose
spread grows with the inputs they are those of the median.
"""

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from kmpe import RobustLinearRegression
from kmpe.estimators.inputs import RobustnessWarning

SHAPES = ((30, 5), (60, 5), (300, 5), (1000, 5), (28, 10), (60, 28))
BOUNDS = (0.92, 0.98)
FIRST_SEED = 700_000

Draw = Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]


def ratings(g: np.random.Generator, X: np.ndarray, _: np.ndarray) -> np.ndarray:
    return g.choice(np.arange(1.0, 6.0), len(X), p=[0.1, 0.15, 0.2, 0.3, 0.25])


NOISES: dict[str, Draw] = {
    "Gaussian": lambda g, X, b: X @ b + g.normal(size=len(X)),
    "Student t3": lambda g, X, b: X @ b + g.standard_t(3, len(X)),
    "uniform": lambda g, X, b: X @ b + g.uniform(-1, 1, len(X)),
    "Laplace": lambda g, X, b: X @ b + g.laplace(size=len(X)),
    "Gaussian, 10% outliers": lambda g, X, b: X @ b + g.normal(size=len(X)) + 15 * spoilt(g, X),
    "Poisson, mean 10": lambda g, X, b: g.poisson(np.maximum(10 + 0.5 * X @ b, 0.5)).astype(float),
    "ratings 1 to 5": ratings,
    "rounded": lambda g, X, b: np.rint(X @ b + g.normal(size=len(X))),
    "wider with an input": lambda g, X, b: X @ b + g.normal(size=len(X)) * (0.3 + np.abs(X[:, 0])),
    "exponential, 3% wider": lambda g, X, b: X @ b + g.exponential(size=len(X)) * wider(X),
    "two variances": lambda g, X, b: X @ b + g.normal(size=len(X)) * g.choice([0.5, 2.0], len(X)),
}
# Lognormal inputs, of which few rows determine the slopes.
SKEWED = "uniform, skewed inputs", "Gaussian, skewed inputs"
NOISES |= {name: NOISES[name.split(",")[0]] for name in SKEWED}
FACTOR = {"Poisson, mean 10": 0.5, "ratings 1 to 5": 0.0}
# The median of the noise grows with each input.
SHIFT = {"exponential, 3% wider": 0.03 * np.log(2)}


def wider(X: np.ndarray) -> np.ndarray:
    """Return a spread that grows by 3% for each unit of an input."""
    return np.maximum(1 + 0.03 * X.sum(axis=1), 0.1)


def spoilt(g: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return g.random(len(X)) < 0.1


def one(noise: str, n: int, d: int, seed: int) -> tuple[float, float]:
    """Return the shares of slopes, and of new rows, that lie in their intervals."""
    g = np.random.default_rng(FIRST_SEED + seed)
    X, X_new, b = g.normal(size=(n, d)), g.normal(size=(n, d)), g.normal(size=d) / np.sqrt(d)
    X, X_new = (np.exp(X), np.exp(X_new)) if noise in SKEWED else (X, X_new)
    draw = NOISES[noise]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RobustnessWarning)
        model = RobustLinearRegression().fit(X, draw(g, X, b))
    low, high = model.confidence_intervals()[:d].T
    truth = FACTOR.get(noise, 1.0) * b + SHIFT.get(noise, 0.0)
    _, below, above = model.predict(X_new, return_interval=0.9)
    y_new = draw(g, X_new, b)
    return np.mean((low <= truth) & (truth <= high)), np.mean((below <= y_new) & (y_new <= above))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--noises", nargs="+", default=list(NOISES), choices=list(NOISES))
    args = parser.parse_args()
    missed = 0
    print("95% intervals of slopes / 90% prediction intervals cover, in %; * out of 92 to 98%")
    print(f"{'':24}" + "".join(f"{f'n = {n}, d = {d}':>18}" for n, d in SHAPES))
    with ProcessPoolExecutor(args.jobs) as pool:
        for noise in args.noises:
            cells = []
            for n, d in SHAPES:
                shares = list(pool.map(partial(one, noise, n, d), range(args.draws), chunksize=10))
                slopes, rows = np.mean(shares, axis=0)
                out = not BOUNDS[0] <= slopes <= BOUNDS[1]
                missed += out
                cells.append(f"{100 * slopes:.1f}{'*' * out} / {100 * rows:.1f}")
            print(f"{noise:24}" + "".join(f"{cell:>18}" for cell in cells), flush=True)
    print(f"{missed} of {len(args.noises) * len(SHAPES)} outside")


if __name__ == "__main__":
    main()
