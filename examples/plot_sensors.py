"""
Spoilt sensors: years in the wrong unit, found by PCA
=====================================================

The data are sea surface temperatures in the eastern Pacific, one row for each year from 1950 to
2010 and one column for each month (the El Niño data of statsmodels). Suppose some years were
reported in Fahrenheit. Do the first two components describe the ocean or the mistake?
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from statsmodels.datasets import elnino

from kmpe import RobustPCA

table = elnino.load_pandas().data.set_index("YEAR")
clean = table.to_numpy()
year = table.index.to_numpy().astype(int)
wrong = np.isin(year, [1958, 1966, 1974, 1975, 1989, 2003])
X = clean.copy()
X[wrong] = X[wrong] * 9 / 5 + 32

# %%
# The reference is plain PCA on the clean table. On the spoilt table, the first component of plain
# PCA is the difference between the units.
reference = PCA(2).fit(clean)
plain, robust = PCA(2).fit(X), RobustPCA(2).fit(X)

# %%
# Each row has two distances: the score distance within the plane of the components, and the
# orthogonal distance to it. The rows in the wrong unit are beyond the limits of both.
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", width_ratios=[1.2, 1])
months = np.arange(1, 13)
for model, name, style in (
    (reference, "PCA, clean table", "k-"),
    (plain, "PCA, spoilt table", "C3--"),
    (robust, "RobustPCA, spoilt table", "C0-"),
):
    first = model.components_[0] * np.sign(model.components_[0].sum())
    axes[0].plot(months, first, style, label=name)
axes[0].set(xlabel="month", ylabel="first component", ylim=(0, None))
axes[0].legend(frameon=False, loc="lower center")

score, orthogonal = robust.score_distances_, robust.orthogonal_distances_
axes[1].loglog(score[~wrong], orthogonal[~wrong], "k.", label="right unit")
axes[1].loglog(score[wrong], orthogonal[wrong], "C3x", label="Fahrenheit")
limits = robust.cutoffs_
axes[1].axhline(limits[0], color="0.6", lw=1)
axes[1].axvline(limits[1], color="0.6", lw=1)
axes[1].set(xlabel="score distance", ylabel="orthogonal distance")
axes[1].legend(frameon=False)
plt.show()

# %%
# The other marked years have the right unit but unusual temperatures: 1982-83 and 1997-98 were the
# two strongest El Niños of the century.
print("years marked:", year[robust.outliers_])
