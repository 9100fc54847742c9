"""
Missing values and outliers
===========================

The data are thirty measurements of cells from each of 569 biopsies. A tenth of the values are
missing, and in fifty rows the columns were mixed up. How well do imputers recover the missing
values? ``RobustImputer`` uses a robust PCA, so the mixed-up rows do not affect it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.preprocessing import StandardScaler

from kmpe import RobustImputer

clean = StandardScaler().fit_transform(load_breast_cancer().data)
rng = np.random.default_rng(0)
X = clean.copy()
mixed = rng.choice(len(X), 50, replace=False)
X[mixed] = 10 * X[mixed][:, rng.permutation(X.shape[1])]  # other columns have other units
missing = rng.uniform(size=X.shape) < 0.1
holes = np.where(missing, np.nan, X)

# %%
# Errors are measured in the rows that were not mixed up, in standard deviations of the columns.
kept = np.setdiff1d(np.arange(len(X)), mixed)
imputers = {
    "column mean": SimpleImputer(),
    "column median": SimpleImputer(strategy="median"),
    "nearest neighbours": KNNImputer(),
    "RobustImputer": RobustImputer(8),
}
errors = {}
for name, imputer in imputers.items():
    gap = imputer.fit_transform(holes)[kept] - clean[kept]
    errors[name] = np.sqrt(np.mean(gap[missing[kept]] ** 2))

fig, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
bars = ax.barh(list(errors), list(errors.values()), color=["0.7"] * 3 + ["C0"])
ax.bar_label(bars, fmt="%.2f", padding=3)
ax.invert_yaxis()
ax.set(xlabel="root mean square error of the imputed values")
ax.spines[["top", "right"]].set_visible(False)
plt.show()
