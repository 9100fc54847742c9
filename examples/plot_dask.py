"""
Dask: rows on many workers, the same digits
===========================================

A photograph once more, in colour: what do the pixels around it say of a pixel's red? The table is
a Dask array in chunks; the fit runs where the chunks are, and only sums of a few numbers travel.
Whoever computes them, and in however many processes, the coefficients have the same digits.
"""

# %%
import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from kmpe import Huber, RobustLinearRegression

image = load_sample_image("flower.jpg")[100:300, 200:500].astype(float)
rng = np.random.default_rng(0)
red = image[..., 0].copy()
dead = rng.uniform(size=red.shape) < 0.05
red[dead] = 255.0

# %%
# Inputs are green and blue of the pixel, and of its four neighbours: ten columns, 60 000 rows.
shifts = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]
around = [np.roll(image[..., c], shift, (0, 1)).ravel() for c in (1, 2) for shift in shifts]
X = da.from_array(np.column_stack(around), chunks=(10_000, 10))
y = da.from_array(red.ravel(), chunks=10_000)

# %%
# The same estimator; what has a value for each row is lazy, as the rows are.
slopes = {}
for scheduler in ("synchronous", "threads"):
    with dask.config.set(scheduler=scheduler):
        model = RobustLinearRegression(Huber()).fit(X, y)
        slopes[scheduler] = model.coef_
print("the same digits:", (slopes["synchronous"] == slopes["threads"]).all())
print(type(model.predict(X)))

repaired = np.where(dead, model.predict(X).compute().reshape(red.shape), red)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for ax, values, title in ((axes[0], red, "5% of red is dead"), (axes[1], repaired, "predicted")):
    shown = np.dstack([values, image[..., 1], image[..., 2]]).clip(0, 255) / 255
    ax.imshow(shown)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
