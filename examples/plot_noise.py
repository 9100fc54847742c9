"""
What kind of noise is in my data?
=================================

``RobustLinearRegression()`` estimates the distribution of the noise from the residuals before it
chooses a loss; ``noise_`` describes the result in words. Four tables with four kinds of noise are
fitted with four different losses.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from statsmodels.datasets import copper, engel, stackloss

from kmpe import RobustLinearRegression


def frame(module):
    data = module.load_pandas()
    return data.exog.to_numpy(), data.endog.to_numpy()


tables = {
    "diabetes": load_diabetes(return_X_y=True),
    "food expenses (Engel)": frame(engel),
    "stack loss": frame(stackloss),
    "world copper market": frame(copper),
}

# %%
fig, axes = plt.subplots(1, 4, figsize=(11, 2.8), layout="constrained")
for ax, (name, (X, y)) in zip(axes, tables.items(), strict=True):
    model = RobustLinearRegression().fit(X, y)
    print(f"{name}: {model.noise_}")
    r = np.linspace(-6, 6, 401) * model.scale_
    weight = model.loss_.weight(r**2)
    residuals = (y - model.predict(X)) / model.scale_
    ax.hist(residuals, bins=np.linspace(-6, 6, 41), color="0.8", density=True)
    ax.plot(r / model.scale_, 0.4 * weight / weight.max(), "C0")
    ax.set(title=name, xlabel="residual / scale", yticks=[])
axes[0].set_ylabel("residuals and weights")
plt.show()
