"""
Which p? It depends on the noise
================================

KMPE ignores gross outliers for every p. The power p determines which of the *good* rows have the
largest weights: those nearest to the fit (p < 2), all nearly the same (p = 2), or those at the
edge of the noise (p > 2). The inputs are those of 442 diabetes patients. The targets are a known
linear function plus one of three kinds of noise, with a tenth of the rows spoilt.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression
from sklearn.preprocessing import StandardScaler

from kmpe import KMPE, RobustLinearRegression

X, y = load_diabetes(return_X_y=True)
X = StandardScaler().fit_transform(X)
plane = LinearRegression().fit(X, y / y.std()).predict(X)
slopes = np.linalg.lstsq(X, plane - plane.mean(), rcond=None)[0]

NOISES = {
    "Laplace": lambda rng, n: rng.laplace(size=n) / np.sqrt(2),
    "Gaussian": lambda rng, n: rng.normal(size=n),
    "uniform (rounding)": lambda rng, n: rng.uniform(-np.sqrt(3), np.sqrt(3), n),
}
powers = [1.2, 2, 3, 4, 6, 8, 10]

# %%
# Errors of the slopes for each p, relative to p = 2. The dashed lines are ``loss="adaptive"``,
# which estimates the noise from the data.
fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for color, (name, draw) in zip(("C1", "0.4", "C0"), NOISES.items(), strict=True):
    errors = np.zeros(len(powers) + 1)
    for seed in range(3):
        rng = np.random.default_rng(seed)
        target = plane + draw(rng, len(plane))
        target[rng.choice(len(plane), len(plane) // 10, replace=False)] += 20
        losses = [KMPE(p=p, sigma=1.5) for p in powers] + ["adaptive"]
        for i, loss in enumerate(losses):
            coef = RobustLinearRegression(loss).fit(X, target).coef_
            errors[i] += np.sum((coef - slopes) ** 2)
    relative = errors / errors[1]
    ax.plot(powers, relative[:-1], color=color, marker=".", label=name)
    ax.axhline(relative[-1], color=color, ls="--", lw=1)
ax.set(xlabel="p", ylabel="squared error of the slopes\nrelative to p = 2", ylim=(0, 3))
ax.legend(frameon=False, title="noise")
plt.show()
