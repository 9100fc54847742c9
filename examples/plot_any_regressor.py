"""
Any regressor, made robust
==========================

How strong is concrete, given its ingredients and its age? There are 1030 samples; a fifth of the
strengths in the training half are wrong. ``RobustRegressor`` works with any regressor: it weights
each row by its out-of-fold error and fits again. Linear models, nearest neighbours, trees and
forests all gain.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import LinearRegression
from sklearn.metrics import root_mean_squared_error
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from kmpe import RobustRegressor
from kmpe.datasets import load

concrete = load("concrete", download=False)
X, clean = concrete.X, concrete.y
rng = np.random.default_rng(0)
order = rng.permutation(len(clean))
train, test = order[:515], order[515:]
y = clean[train].copy()
bad = rng.choice(len(y), len(y) // 5, replace=False)
y[bad] += rng.normal(0, 10 * clean.std(), len(bad))

# %%
# Each regressor alone, inside ``RobustRegressor``, and, for comparison, fitted to the clean
# targets, which are not available in practice.
models = {
    "linear": LinearRegression(),
    "neighbours": make_pipeline(StandardScaler(), KNeighborsRegressor(5)),
    "tree": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
    "extra trees": ExtraTreesRegressor(50, min_samples_leaf=3, random_state=0),
}


def error(model, targets):
    """Return the test error of a model in standard deviations."""
    predicted = model.fit(X[train], targets).predict(X[test])
    return root_mean_squared_error(clean[test], predicted) / clean.std()


fig, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
place = np.arange(len(models))
alone = [error(model, y) for model in models.values()]
robust = [error(RobustRegressor(model), y) for model in models.values()]
best = [error(model, clean[train]) for model in models.values()]
ax.bar(place - 0.27, alone, 0.26, color="0.75", label="alone")
ax.bar(place, robust, 0.26, color="C0", label="in RobustRegressor")
ax.bar(place + 0.27, best, 0.26, color="C2", alpha=0.5, label="alone, clean targets")
ax.set_xticks(place, list(models))
ax.set(ylabel="test error, standard deviations")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()
