"""How surprising errors are under the noise that they show: a robust measure of prediction.

The mean of -log f(eᵢ), f the mean density of the noise given the errors themselves
(`kmpe.choice.noise`), is their entropy. A gross error costs the logarithm of its size, so that a
few of them change the entropies of all models by the same amount, while the core of the errors
counts as in a mean square. Over Gaussian errors of standard deviation σ it is log σ + ½ log 2πe,
which gives it a unit: σ is the `entropy_scale`.
"""

import math

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.noise import GRID, infer

__all__ = ["entropy_scale", "surprise"]


def surprise(E: Array, a: Array) -> Array:
    """Return -log f(eᵢ) of each row, shape (n,); several targets add theirs.

    Parameters
    ----------
    E : array of shape (n, q)
        Errors of predictions for rows that were not fitted.
    a : array of shape (n,)
        How often each row counts.
    """
    return np.asarray(np.sum([_surprise(e, a) for e in E.T], axis=0))


def entropy_scale(E: Array, a: Array) -> float:
    """Return the standard deviation of the Gaussian with the entropy of the errors.

    For several targets it is the geometric mean of theirs; 0 where all errors are.

    Examples
    --------
    >>> e = np.random.default_rng(0).normal(size=(1000, 1))
    >>> entropy_scale(2 * e, np.ones(1000))
    1.9...
    """
    if not E[a > 0].any():
        return 0.0
    mean = float(np.average(surprise(E, a), weights=a)) / E.shape[1]
    return math.exp(mean - 0.5 * math.log(2 * math.pi * math.e))


def _surprise(e: Array, a: Array) -> Array:
    noise = infer(e, a)
    x = np.log(np.maximum(np.abs(e) / noise.sigma, GRID[0]))
    inside = np.interp(x, np.log(GRID), noise.log_density)
    # Past the grid the tail of the outliers goes on, Student's t2: f falls with the third power.
    beyond = 3 * np.maximum(x - math.log(GRID[-1]), 0.0)
    return np.asarray(math.log(noise.sigma) - inside + beyond)
