"""
A stream with bad batches
=========================

The data are weekly measurements of carbon dioxide on Mauna Loa from 1958 to 2001 (statsmodels).
They arrive one year at a time, and ``partial_fit`` updates the model with each batch. In three
years the instrument is out of order and reads far too high. Least squares, refitted to all data so
far, follows the wrong values; the robust stream ignores these years.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from statsmodels.datasets import co2

from kmpe import ELMRegressor

series = co2.load_pandas().data["co2"].dropna()
t = series.index.year + series.index.day_of_year / 365.25
t = np.asarray(t, dtype=float)
# A slow trend and the seasonal cycle.
X = np.column_stack([(t - 1980) / 20, np.sin(2 * np.pi * t), np.cos(2 * np.pi * t)])
clean = series.to_numpy()
rng = np.random.default_rng(0)
y = clean.copy()
bad = np.isin(np.floor(t), [1972, 1983, 1984])
y[bad] = rng.normal(440, 20, bad.sum())

# %%
# Each year is predicted before the models see it.
machine = ELMRegressor(n_hidden=40, random_state=0)
plain = make_pipeline(PolynomialFeatures(2), LinearRegression())
years = np.unique(np.floor(t))
errors = {"least squares on all data so far": [], "ELMRegressor.partial_fit": []}
for year in years:
    rows = np.floor(t) == year
    for name, model in zip(errors, (plain, machine), strict=True):
        if year > years[0]:
            errors[name].append(np.median(np.abs(model.predict(X[rows]) - clean[rows])))

    machine.partial_fit(X[rows], y[rows])
    so_far = np.floor(t) <= year
    plain.fit(X[so_far], y[so_far])

fig, axes = plt.subplots(2, 1, figsize=(8, 5), layout="constrained", sharex=True)
axes[0].plot(t[~bad], y[~bad], "k.", ms=1)
axes[0].plot(t[bad], y[bad], "C3.", ms=2)
axes[0].set(ylabel="CO2, ppm", ylim=(300, 500))
for (name, error), color in zip(errors.items(), ("0.5", "C0"), strict=True):
    axes[1].semilogy(years[1:], error, color=color, marker=".", label=name)
axes[1].set(xlabel="year", ylabel="median error of\nthe next year's forecast")
axes[1].legend(frameon=False)
plt.show()
