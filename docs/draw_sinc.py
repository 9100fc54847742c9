"""Fit a curve through outliers: the example and the picture of the README.

python docs/draw_sinc.py docs/images/sinc.svg
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import HuberRegressor, Ridge
from sklearn.metrics import root_mean_squared_error
from sklearn.pipeline import make_pipeline

from kmpe import ELMRegressor
from kmpe.datasets import make_sinc


def models():
    """Return the models: the peers on random features that serve them well, ours as it comes."""
    features = RBFSampler(gamma=0.1, n_components=90, random_state=0)
    return {
        "Ridge": make_pipeline(features, Ridge(alpha=0.1)),
        "HuberRegressor": make_pipeline(features, HuberRegressor(alpha=0.1, max_iter=1000)),
        "ELMRegressor()": ELMRegressor(random_state=0),
    }


def main(path):
    X, y = make_sinc(200, outlier_share=0, random_state=0)
    y[:50] += 10  # one row in four
    X_test, y_test = make_sinc(400, noise=None, random_state=1)
    order = np.argsort(X_test[:, 0])
    X_test, y_test = X_test[order], y_test[order]
    plt.rcParams["svg.hashsalt"] = "kmpe"  # the same picture gives the same file
    figure, axis = plt.subplots(figsize=(8, 4), layout="constrained")
    axis.plot(X[:, 0], y, ".", color="0.65", label="data, a quarter moved up by 10", zorder=0)
    axis.plot(X_test[:, 0], y_test, "k--", lw=1, label="truth")
    for name, model in models().items():
        curve = model.fit(X, y).predict(X_test)
        error = root_mean_squared_error(y_test, curve)
        print(f"{name:15} {error:.2f}")
        axis.plot(X_test[:, 0], curve, lw=1.5, label=f"{name}: RMSE {error:.2f}")
    axis.set(ylim=(-4, 20), xlabel="x", ylabel="y")
    axis.spines[["top", "right"]].set_visible(False)
    axis.legend(frameon=False, fontsize=9)
    figure.savefig(path, metadata={"Date": None} if path.endswith("svg") else None)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
