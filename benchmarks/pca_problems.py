"""Data for the PCA benchmarks: rows near a subspace, some of them replaced by outliers."""

import numpy as np


def contaminated(n, d, m, share, kind, seed, *, strength=(26.0, 13.0), dtype=np.float64):
    """Return rows, the true directions and the mask of the outliers.

    Inliers are Gaussian with standard deviations falling from ``strength[0]`` to
    ``strength[1]`` along m directions, and noise of 1. "clustered" outliers fill 5 directions
    outside the subspace with 4 times the largest deviation, "point" ones are a tight cluster,
    "scattered" ones have a direction each.
    """
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.standard_normal((d, m + 5)))[0]
    U, V = axes[:, :m], axes[:, m:]
    X = rng.standard_normal((n, d))
    X += (rng.standard_normal((n, m)) * np.linspace(*strength, m)) @ U.T
    k = int(share * n)
    far = 4 * strength[0]
    if kind == "clustered":
        X[:k] = rng.standard_normal((k, d)) + far * rng.standard_normal((k, 5)) @ V.T
    elif kind == "point":
        X[:k] = rng.standard_normal((k, d)) + far * V[:, 0]
    elif kind == "scattered":
        directions = rng.standard_normal((k, d))
        directions /= np.linalg.norm(directions, axis=1)[:, None]
        X[:k] = rng.standard_normal((k, d)) + 5 * far * directions
    return X.astype(dtype, copy=False), U, np.arange(n) < k


def subspace_error(components, U):
    """Return ‖P - P̂‖ / √(2m) of the projectors on both subspaces: 0 is best, 1 worst."""
    return np.sqrt(max(0.0, 1 - np.sum((components @ U) ** 2) / U.shape[1]))


def largest_angle(components, U):
    """Return the largest principal angle in degrees."""
    cosines = np.linalg.svd(components @ U, compute_uv=False)
    return np.degrees(np.arccos(min(1.0, cosines[-1])))
