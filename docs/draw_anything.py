"""Draw a forest through spoilt targets, plain and made robust: the picture of docs/anything.md.

python docs/draw_anything.py docs/images/anything.svg
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import RandomForestRegressor

from kmpe import RobustRegressor


def main(path):
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(-3, 3, 300))
    y = np.sin(2 * x) + x / 2 + 0.2 * rng.normal(size=300)
    bad = rng.random(300) < 0.2
    y[bad] += 4 + rng.normal(size=bad.sum())
    grid = np.linspace(-3, 3, 400)
    forest = RandomForestRegressor(50, min_samples_leaf=3, random_state=0)
    robust = RobustRegressor(forest).fit(x[:, None], y)
    plt.rcParams["svg.hashsalt"] = "kmpe"  # the same picture gives the same file
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    left = robust.outliers_
    axis.plot(x[~left], y[~left], ".", color="0.6", label="rows that are kept", zorder=0)
    axis.plot(x[left], y[left], "x", color="0.6", ms=5, label="rows that are left out", zorder=0)
    axis.plot(grid, np.sin(2 * grid) + grid / 2, "k--", lw=1, label="truth")
    for name, model in (("forest", clone(forest).fit(x[:, None], y)), ("robust forest", robust)):
        axis.plot(grid, model.predict(grid[:, None]), lw=1.5, label=name)
    axis.set(xlabel="x", ylabel="y")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None} if path.endswith("svg") else None)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
