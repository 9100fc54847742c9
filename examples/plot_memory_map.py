"""
More rows than memory: dead pixels in a memory map
==================================================

Dead pixels of a camera are black or white, but so are some pixels of a photograph. A linear model
predicts each pixel from its 24 neighbours; a black or white pixel that is far from its prediction
is dead. The table has 270 000 rows, one per pixel, and is stored in a file. ``fit`` reads the file
block by block, so that the table could be larger than memory.
"""

# %%
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from kmpe import RobustLinearRegression, Tukey

image = load_sample_image("china.jpg").mean(axis=2)
rng = np.random.default_rng(0)
dead = rng.uniform(size=image.shape) < 0.03
spoilt = np.where(dead, rng.choice([0.0, 255.0], image.shape), image)

# %%
# The neighbours of each pixel, sorted by brightness, become columns of a file. A dead neighbour
# is then the darkest or the brightest of them, on which the prediction hardly depends.
windows = np.lib.stride_tricks.sliding_window_view(spoilt, (5, 5)).reshape(-1, 25)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "pixels.npy"
columns = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(len(windows), 24))
columns[:] = np.sort(np.delete(windows, 12, axis=1), axis=1)
columns.flush()
y = windows[:, 12]

# %%
# A memory map is passed like any array. At edges in the picture the noise depends on the inputs;
# ``loss="adaptive"`` would detect this, issue a warning and use Tukey's loss, so we pass Tukey's
# loss directly.
X = np.load(path, mmap_mode="r")
model = RobustLinearRegression(Tukey()).fit(X, y)
inner = (slice(2, -2), slice(2, -2))
marked = (model.outliers_ & np.isin(y, [0, 255])).reshape(image[inner].shape)
found = (marked & dead[inner]).sum() / dead[inner].sum()
print(f"{X.shape[0]} rows; {found:.0%} of the dead pixels are marked,", end=" ")
print(f"and {(marked & ~dead[inner]).sum()} others")

repaired = np.where(marked, model.predict(X).reshape(marked.shape), spoilt[inner])
fig, axes = plt.subplots(1, 3, figsize=(10, 3), layout="constrained")
cut = (slice(150, 300), slice(250, 450))
for ax, picture, title in (
    (axes[0], spoilt[inner][cut], "3% dead pixels"),
    (axes[1], marked[cut], "marked"),
    (axes[2], repaired[cut], "repaired"),
):
    ax.imshow(picture, cmap="gray")
    ax.set(title=title, xticks=[], yticks=[])
plt.show()
del X, columns
folder.cleanup()
