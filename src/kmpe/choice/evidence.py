"""The entropy of prediction errors: a robust measure of their size.

The mean of -log f(eᵢ), with f the density of the noise estimated from the errors themselves
(`kmpe.choice.noise`), estimates their entropy. A gross error contributes the logarithm of its size,
so that a few of them change the entropies of all models by the same amount, while the other errors
contribute as in a mean square. For Gaussian errors of standard deviation σ the entropy is
log σ + ½ log 2πe, which defines the `entropy_scale` σ for any errors.
"""

import math

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.noise import GRID, infer

__all__ = ["entropy_scale"]


def entropy_scale(E: Array, a: Array) -> float:
    """Return the standard deviation of the Gaussian with the entropy of the errors.

    For several targets it is the geometric mean over them; 0 if all errors are 0.

    Examples
    --------
    >>> e = np.random.default_rng(0).normal(size=(1000, 1))
    >>> entropy_scale(2 * e, np.ones(1000))
    1.9...
    """
    if not E[a > 0].any():
        return 0.0
    surprise = np.sum([_surprise(e, a) for e in E.T], axis=0)
    mean = float(np.average(surprise, weights=a)) / E.shape[1]
    return math.exp(mean - 0.5 * math.log(2 * math.pi * math.e))


def _surprise(e: Array, a: Array) -> Array:
    """Return -log f(eᵢ) of each row."""
    noise = infer(e, a)
    x = np.log(np.maximum(np.abs(e) / noise.sigma, GRID[0]))
    inside = np.interp(x, np.log(GRID), noise.log_density)
    # Beyond the grid f is the tail of the outliers, Student's t2, which falls as |x|⁻³.
    beyond = 3 * np.maximum(x - math.log(GRID[-1]), 0.0)
    return np.asarray(math.log(noise.sigma) - inside + beyond)
