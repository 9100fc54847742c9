"""
Dask: rows on many workers, the same digits
===========================================

How well do the colours around a pixel of a photograph predict its red value? The table is a Dask
array in chunks. The fit runs on the workers that hold the chunks, and only small sums are sent
around. The coefficients have the same digits for every scheduler and any number of workers.
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
# The inputs are the green and blue values of the pixel and of its four neighbours: ten columns and
# 60 000 rows.
shifts = [(0, 0), (0, 1), (1, 0), (0, -1), (-1, 0)]
around = [np.roll(image[..., c], shift, (0, 1)).ravel() for c in (1, 2) for shift in shifts]
X = da.from_array(np.column_stack(around), chunks=(10_000, 10))
y = da.from_array(red.ravel(), chunks=10_000)

# %%
# The estimator is the same as for arrays in memory. Results with one value per row are lazy Dask
# arrays.
slopes = {}
for scheduler in ("synchronous", "threads"):
    with dask.config.set(scheduler=scheduler):
        model = RobustLinearRegression(Huber()).fit(X, y)
        slopes[scheduler] = model.coef_
print("the same digits:", (slopes["synchronous"] == slopes["threads"]).all())
print(type(model.predict(X)))

repaired = np.where(dead, model.predict(X).compute().reshape(red.shape), red)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for ax, values, title in ((axes[0], red, "5% dead pixels (red)"), (axes[1], repaired, "repaired")):
    shown = np.dstack([values, image[..., 1], image[..., 2]]).clip(0, 255) / 255
    ax.imshow(shown)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
