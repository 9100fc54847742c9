"""
Outlier map: which days of a chemical plant were different
==========================================================

A plant oxidises ammonia to nitric acid. On 21 days the loss through its stack was recorded
together with air flow, water temperature and acid concentration (Brownlee 1965). An *outlier map*
plots the residual of each row against the distance of its inputs from the centre. Rows with large
residuals are outliers; rows on the right are leverage points; rows that are both are the ones that
spoil least squares.
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
# Left: least squares. The four outliers have pulled the plane towards themselves, and no row
# stands out. Right: the robust fit. Days 1, 3, 4 and 21 stand out, as known from the literature.
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
