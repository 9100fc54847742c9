"""Spoilt images and the reconstruction error of the paper's experiment."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

from kmpe.datasets import contaminate_images
from kmpe.metrics import reconstruction_error


@pytest.mark.parametrize("kind", ["occlusion", "dummy"])
def test_only_the_chosen_images_are_spoilt(kind):
    images = np.full((30, 64, 48), 99, dtype=np.uint8)
    spoilt, mask = contaminate_images(images, 7, kind=kind, random_state=3)
    assert mask.sum() == 7
    assert spoilt.dtype == np.uint8
    assert (images == 99).all()
    assert (spoilt[~mask] == 99).all()
    for image in spoilt[mask]:
        changed = image != 99
        assert set(np.unique(image[changed])) == {0, 255}
        height, width = changed.any(axis=1).sum(), changed.any(axis=0).sum()
        assert changed.sum() == height * width
        if kind == "dummy":
            assert changed.all()
        else:
            assert 20 <= height <= 40
            assert 15 <= width <= 30


def test_a_seed_repeats_the_draw():
    images = np.zeros((9, 16, 16))
    one, other = (contaminate_images(images, 3, random_state=5)[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ((np.zeros((3, 4)), 1), "reshape it"),
        ((np.zeros((3, 4, 4)), 5), "n_outliers=5 must be a whole number from 0 to 3"),
        ((np.zeros((3, 4, 4)), 1.5), "n_outliers=1.5"),
    ],
)
def test_bad_images_are_refused(args, message):
    with pytest.raises(ValueError, match=message):
        contaminate_images(*args)
    with pytest.raises(ValueError, match='must be "occlusion" or "dummy"'):
        contaminate_images(np.zeros((3, 4, 4)), 1, kind="rain")


def test_reconstruction_error_is_equation_35():
    rng = np.random.default_rng(0)
    original, noise = rng.standard_normal((2, 20, 6))
    X = original + noise
    model = PCA(2).fit(X)
    mu, W = model.mean_, model.components_.T
    e = np.linalg.norm((original - mu) - (X - mu) @ W @ W.T, axis=1)
    assert reconstruction_error(model, X, original) == pytest.approx(e.mean())
    inliers = np.arange(20) < 15
    assert reconstruction_error(model, X, original, inliers=inliers) == pytest.approx(e[:15].mean())


def test_reconstruction_error_refuses_what_does_not_fit():
    X = np.random.default_rng(0).standard_normal((5, 3))
    model = PCA(1).fit(X)
    with pytest.raises(ValueError, match="they must agree"):
        reconstruction_error(model, X, X[:4])
    with pytest.raises(ValueError, match="5 values True or False"):
        reconstruction_error(model, X, inliers=[0, 1])
    with pytest.raises(ValueError, match="nothing to average"):
        reconstruction_error(model, X, inliers=np.zeros(5, dtype=bool))
