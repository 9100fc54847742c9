"""
XGBoost with a robust objective
===============================

House prices in 506 districts of Boston; in the training half every fifth price is wrong. Boosting
with squared errors overfits the wrong prices, round by round. ``kmpe.boosting.Objective`` gives
XGBoost or LightGBM the gradient and the curvature of a robust loss instead.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import xgboost
from sklearn.metrics import root_mean_squared_error

from kmpe import Tukey
from kmpe.boosting import Objective
from kmpe.datasets import load

housing = load("housing", download=False)
X, clean = housing.X, housing.y
rng = np.random.default_rng(0)
order = rng.permutation(len(clean))
train, test = order[:253], order[253:]
y = clean[train].copy()
bad = rng.choice(len(y), len(y) // 5, replace=False)
y[bad] = rng.uniform(0, 300, len(bad))

# %%
# The test error after each round, on clean prices.
objectives = {
    "squared error": "reg:squarederror",
    "absolute error": "reg:absoluteerror",
    "kmpe.boosting.Objective(Tukey())": Objective(Tukey()),
}
rounds = np.arange(1, 201)
fig, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
styles = ("0.5", "C2", "C0")
for (name, objective), color in zip(objectives.items(), styles, strict=True):
    model = xgboost.XGBRegressor(
        objective=objective, n_estimators=200, max_depth=4, learning_rate=0.1, n_jobs=1
    ).fit(X[train], y)
    errors = [
        root_mean_squared_error(clean[test], model.predict(X[test], iteration_range=(0, i)))
        for i in rounds
    ]
    ax.semilogy(rounds, errors, color=color, label=f"{name}: {errors[-1]:.1f}")
ax.set(xlabel="round", ylabel="test error, thousands of dollars")
ax.legend(frameon=False, loc="center right")
plt.show()
