"""
Occluded faces: eigenfaces from corrupted images
================================================

The data are a hundred photographs of faces, 25 by 25 pixels (the LFW subset of scikit-image). A
block of noise covers part of twenty of them. Eigenfaces are the principal components of such
images. Those of plain PCA contain the noise, and it shows in every face that is reconstructed from
them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
from skimage.data import lfw_subset
from sklearn.decomposition import PCA

from kmpe import KMPE, RobustPCA
from kmpe.datasets import contaminate_images
from kmpe.metrics import reconstruction_error

faces = (255 * lfw_subset()[:100]).round()
spoilt, mask = contaminate_images(faces, 20, kind="occlusion", random_state=0)
X, original = spoilt.reshape(100, -1), faces.reshape(100, -1)

# %%
# PCA-KMPE is the paper's method: every image is weighted by its reconstruction error.
models = {
    "PCA": PCA(30),
    "PCA-KMPE": RobustPCA(30, loss=KMPE(p=10, sigma="silverman"), n_robust_components=10),
}
fig, axes = plt.subplots(3, 8, figsize=(9, 3.8), layout="constrained")
shown = np.flatnonzero(mask)[:8]
for ax, i in zip(axes[0], shown, strict=True):
    ax.imshow(spoilt[i], cmap="gray", vmin=0, vmax=255)
axes[0, 0].set_ylabel("corrupted")
for row, (name, model) in zip(axes[1:], models.items(), strict=True):
    model.fit(X)
    error = reconstruction_error(model, X, original)
    rebuilt = model.inverse_transform(model.transform(X)).reshape(faces.shape)
    for ax, i in zip(row, shown, strict=True):
        ax.imshow(rebuilt[i], cmap="gray", vmin=0, vmax=255)
    row[0].set_ylabel(name)
    print(f"{name:9} reconstruction error {error:.0f}")
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
plt.show()
