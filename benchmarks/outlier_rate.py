"""Which rows `outliers_` marks: ``python benchmarks/outlier_rate.py [--draws 150]``.

The share of clean Gaussian rows that is marked, nominally one in a hundred, and the share that is
found of 20% of the rows with targets 5 standard deviations off to either side, by the share of
clean rows that is left out of the scale. The seeds are the draws' numbers.
"""

import argparse
import warnings

import numpy as np

from kmpe import RobustLinearRegression
from kmpe.estimators.inputs import RobustnessWarning
from kmpe.inference import outliers

SHARES = (0.01, 0.025, 0.05, 0.1)
SHAPES = ((20, 3), (30, 3), (30, 6), (60, 3), (60, 10), (200, 5))


def marked(n, d, seed):
    """Return the shares of rows that are marked, of clean ones and of outliers."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    clean = RobustLinearRegression().fit(X, y).outliers_.mean()
    m = n // 5
    y[:m] += 5 * rng.choice([-1, 1], m)
    return clean, RobustLinearRegression().fit(X, y).outliers_[:m].mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=150)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore", RobustnessWarning)
    print("marked of clean rows / found of outliers, in %, by the share of clean rows left out")
    print("  n   d" + "".join(f"{share:>14}" for share in SHARES))
    for n, d in SHAPES:
        words = []
        for share in SHARES:
            outliers._LEFT_OUT = share
            clean, found = 100 * np.mean([marked(n, d, seed) for seed in range(draws)], axis=0)
            words.append(f"{clean:.2f} / {found:.0f}")
        print(f"{n:3d}  {d:2d}" + "".join(f"{word:>14}" for word in words), flush=True)


if __name__ == "__main__":
    main()
