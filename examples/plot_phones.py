"""
Telephone calls: a unit that changed for seven years
====================================================

The Belgian Statistical Survey lists international phone calls from 1950 to 1973, in tens of
millions. From 1964 to 1969 minutes were recorded instead of calls; 1963 and 1970 are partly
affected as well (Rousseeuw and Leroy 1987). A third of the rows are wrong, all in the same
direction. Can the trend still be estimated?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import HuberRegressor, LinearRegression

from kmpe import RobustLinearRegression

CALLS = """
0.44 0.47 0.47 0.59 0.66 0.73 0.81 0.88 1.06 1.20 1.35 1.49
1.61 2.12 11.90 12.40 14.20 15.90 18.20 21.20 4.30 2.40 2.70 2.90
"""
year = np.arange(1950, 1974)
calls = np.array(CALLS.split(), dtype=float)
X = year[:, None] - 1960

# %%
# ``predict(..., return_interval=0.95, interval="confidence")`` gives a confidence band for the
# line. ``trust_`` rates each row from 0 to 1.
model = RobustLinearRegression().fit(X, calls)
line, low, high = model.predict(X, return_interval=0.95, interval="confidence")

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.fill_between(year, low, high, color="C0", alpha=0.2, lw=0)
ax.plot(year, line, "C0", label="RobustLinearRegression, 95% confidence")
ax.plot(year, LinearRegression().fit(X, calls).predict(X), "k:", label="least squares")
ax.plot(year, HuberRegressor().fit(X, calls).predict(X), "C1--", label="HuberRegressor")
dots = ax.scatter(year, calls, c=model.trust_, cmap="RdYlBu", vmin=0, vmax=1, edgecolor="k")
fig.colorbar(dots, label="trust_")
ax.set(xlabel="year", ylabel="calls, tens of millions")
ax.legend(frameon=False, loc="upper left")
plt.show()

# %%
# The rows marked as outliers are the years with the wrong unit.
print("outliers:", year[model.outliers_])
