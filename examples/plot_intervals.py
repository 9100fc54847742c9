"""
Prediction intervals that outliers do not widen
===============================================

How much of its income does a household spend on food? Engel published the budgets of 235 Belgian
working-class households in 1857. Suppose every fifteenth expense was typed with a digit too many.
Prediction intervals for new households should cover 90% of the correct expenses, and the typing
errors should not widen them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from statsmodels.datasets import engel

from kmpe import ConformalRegressor, RobustLinearRegression

data = engel.load_pandas().data
# The spread of the expenses grows with income; that of their logarithms does not.
X, clean = np.log10(data[["income"]].to_numpy()), np.log10(data["foodexp"].to_numpy())
wrong = np.arange(len(clean)) % 15 == 0
y = clean + 1.0 * wrong  # one digit too many

# %%
# ``ConformalRegressor`` works with any regressor. With least squares, the typing errors shift the
# line and widen the band; with the robust regression they do neither.
grid = np.linspace(X.min(), X.max(), 100)[:, None]
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, inner in zip(axes, (LinearRegression(), RobustLinearRegression()), strict=True):
    model = ConformalRegressor(inner).fit(X, y)
    middle, low, high = model.predict(grid, return_interval=0.9)
    _, below, above = model.predict(X[~wrong], return_interval=0.9)
    covered = np.mean((below <= clean[~wrong]) & (clean[~wrong] <= above))
    ax.plot(X[~wrong], y[~wrong], "k.", ms=3)
    ax.plot(X[wrong], y[wrong], "C3x", ms=5)
    ax.plot(grid, middle, "C0")
    ax.fill_between(grid[:, 0], low, high, color="C0", alpha=0.2, lw=0)
    width = 10 ** np.mean(high - low)
    ax.set(title=f"{type(inner).__name__}: covers {covered:.0%}, high / low = {width:.2f}")
    ax.set(xlabel="log10 income")
axes[0].set_ylabel("log10 food expense")
plt.show()
