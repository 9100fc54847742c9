"""
A curve fitted to spoilt rows
=============================

How many miles does a car go on a gallon, given its weight? ``ELMRegressor`` fits a smooth curve;
its smoothness and the weights of the rows are chosen from the data. A fifth of the targets are
spoilt.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from mlxtend.data import autompg_data
from sklearn.ensemble import RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kmpe import ELMRegressor

X, clean = autompg_data()
X = X[:, [3]].astype(float) / 1000  # weight, thousands of pounds
rng = np.random.default_rng(0)
bad = rng.choice(len(clean), len(clean) // 5, replace=False)
y = clean.copy()
y[bad] = rng.uniform(50, 90, len(bad))

# %%
models = {
    "random forest": RandomForestRegressor(min_samples_leaf=10, random_state=0),
    "kernel ridge": make_pipeline(StandardScaler(), KernelRidge(kernel="rbf", alpha=1)),
    "ELMRegressor": ELMRegressor(),
}
grid = np.linspace(X.min(), X.max(), 200)[:, None]
fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
good = np.setdiff1d(np.arange(len(y)), bad)
ax.plot(X[good], y[good], "k.", ms=3)
ax.plot(X[bad], y[bad], "C3.", ms=3)
for (name, model), style in zip(models.items(), ("C2:", "C1--", "C0-"), strict=True):
    model.fit(X, y)
    error = np.median(np.abs(model.predict(X) - clean))
    ax.plot(grid, model.predict(grid), style, label=f"{name}: median error {error:.1f}")
ax.set(xlabel="weight, thousands of pounds", ylabel="miles per gallon")
ax.legend(frameon=False)
plt.show()

# %%
# What the machine found out about the errors:
print(models["ELMRegressor"].tuning_[-1]["errors"])
