"""
Outlier map: which days of a chemical plant were different
==========================================================

A plant oxidises ammonia to nitric acid; a tenth of the loss through its stack is recorded on 21
days, with air flow, water temperature and acid concentration (Brownlee 1965). An *outlier map*
shows each row by two numbers: how rare its inputs are, and how far its target lies from the fit.
Rows high up are outliers; rows to the right are leverage points; those in the upper or lower right
are the ones that spoil least squares.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from statsmodels.datasets import stackloss

from kmpe import RobustLinearRegression, Squared
from kmpe.plots import OutlierMapDisplay

data = stackloss.load_pandas()
X, y = data.exog, data.endog
X.index = y.index = np.arange(1, 22)  # days count from 1

# %%
# On the left the map of least squares: four outliers in 21 rows have pulled the plane towards
# themselves, and every row looks well. On the right the map of the robust fit: days 1, 3, 4 and 21
# stand out, as the literature has them.
fig, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, loss in zip(axes, (Squared(), "adaptive"), strict=True):
    model = RobustLinearRegression(loss).fit(X, y)
    if loss == "adaptive":
        OutlierMapDisplay.from_estimator(model, X, y, ax=ax)
        ax.set_title("RobustLinearRegression()")
    else:
        plain = np.std(y - model.predict(X), ddof=4)
        OutlierMapDisplay.from_predictions(y, model.predict(X), X=X, scale=plain, ax=ax)
        ax.set_title("least squares")
plt.show()
print("outliers:", list(X.index[model.outliers_]))
