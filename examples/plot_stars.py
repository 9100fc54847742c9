"""
Giant stars: four leverage points reverse a slope
=================================================

The star cluster CYG OB1 has 47 stars with known surface temperature and light intensity (Rousseeuw
and Leroy 1987). The hotter a star, the brighter it is, except for four giants, which are cool and
bright. The giants are *leverage points*: because of their extreme inputs they pull the fitted line
towards themselves, so that their residuals are small. Which methods find the line of the other
stars?
"""

# %%
# One pair per star: logarithms of the temperature and of the light intensity.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import HuberRegressor, LinearRegression

from kmpe import RobustLinearRegression

STARS = """
4.37 5.23; 4.56 5.74; 4.26 4.93; 4.56 5.74; 4.30 5.19; 4.46 5.46; 3.84 4.65; 4.57 5.27;
4.26 5.57; 4.37 5.12; 3.49 5.73; 4.43 5.45; 4.48 5.42; 4.01 4.05; 4.29 4.26; 4.42 4.58;
4.23 3.94; 4.42 4.18; 4.23 4.18; 3.49 5.89; 4.29 4.38; 4.29 4.22; 4.42 4.42; 4.49 4.85;
4.38 5.02; 4.42 4.66; 4.29 4.66; 4.38 4.90; 4.22 4.39; 3.48 6.05; 4.38 4.42; 4.56 5.10;
4.45 5.22; 3.49 6.29; 4.23 4.34; 4.62 5.62; 4.53 5.10; 4.45 5.22; 4.53 5.18; 4.43 5.57;
4.38 4.62; 4.45 5.06; 4.50 5.34; 4.45 5.34; 4.55 5.54; 4.45 4.98; 4.42 4.50
"""
temperature, light = np.array([pair.split() for pair in STARS.split(";")], dtype=float).T
X = temperature[:, None]

# %%
# Huber's loss limits the influence of large *residuals*. The giants have small residuals, since
# the line passes near them, so Huber's loss does no better than least squares.
# ``RobustLinearRegression`` starts from an MM-estimate, which withstands leverage points.
models = [LinearRegression(), HuberRegressor(), RobustLinearRegression()]
grid = np.linspace(3.4, 4.7, 2)[:, None]

fig, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for model, style in zip(models, (":", "--", "-"), strict=True):
    model.fit(X, light)
    slope = np.ravel(model.coef_)[0]
    label = f"{type(model).__name__}: slope {slope:+.2f}"
    ax.plot(grid[:, 0], model.predict(grid), style, label=label)
out = models[-1].outliers_
ax.plot(temperature[~out], light[~out], "k.", ms=5)
ax.plot(temperature[out], light[out], "o", mec="C3", mfc="none", label="marked as outliers")
ax.set(xlabel="log temperature (hot stars right)", ylabel="log light intensity")
ax.legend(frameon=False, loc="lower left")
plt.show()

# %%
# Besides the four giants, two stars of the main sequence are marked: star 7, the coolest of them,
# and star 9, which is too bright for its temperature.
print("marked:", np.flatnonzero(out) + 1)
print(models[-1].summary())
