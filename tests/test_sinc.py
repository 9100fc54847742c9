"""The paper's synthetic data."""

import numpy as np
import pytest

from kmpe.datasets import make_sinc


def test_noise_free_curve():
    X, y = make_sinc(500, noise=None, random_state=0)
    assert X.shape == (500, 1)
    assert -10 <= X.min() < -9.5 < 9.5 < X.max() <= 10
    np.testing.assert_allclose(y, 8 * np.sin(X[:, 0]) / X[:, 0])


@pytest.mark.parametrize(("noise", "variance"), [("uniform", 1 / 3), ("sine", 1 / 2)])
def test_background_noise(noise, variance):
    X, y = make_sinc(50_000, noise=noise, outlier_share=0, random_state=0)
    v = y - 8 * np.sin(X[:, 0]) / X[:, 0]
    assert np.abs(v).max() <= 1
    assert v.var() == pytest.approx(variance, rel=0.02)
    assert abs(v.mean()) < 0.02


def test_outliers():
    X, y = make_sinc(50_000, outlier_share=0.2, outlier_variance=100, random_state=0)
    v = y - 8 * np.sin(X[:, 0]) / X[:, 0]
    assert v.var() == pytest.approx(0.8 / 3 + 0.2 * 100, rel=0.05)
    # An outlier of standard deviation 10 lies beyond 1 with probability 0.92.
    assert np.mean(np.abs(v) > 1) == pytest.approx(0.2 * 0.92, abs=0.01)


def test_the_seed_decides():
    a, b, c = (make_sinc(20, random_state=s)[1] for s in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"noise": "pink"}, "noise='pink' must be"),
        ({"outlier_share": 1.5}, "outlier_share=1.5 must lie between 0 and 1"),
        ({"outlier_variance": -1}, "outlier_variance=-1 must be 0 or above"),
    ],
)
def test_bad_options(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        make_sinc(**options)
