"""Weighted samples, and weighted least squares for many fits at once.

A row of weight 2 equals two rows, and only the ratios of weights matter.
"""

import math

import numpy as np

from kmpe.arrays import Array, Index
from kmpe.losses.scale import quantile
from kmpe.problems.ridge_sums import weighted_gram
from kmpe.rows.checks import repeats
from kmpe.rows.threads import team

__all__ = ["count", "cross_products", "quantiles", "sample", "steps"]


def count(a: Array) -> float:
    """Return the number of rows: of repeats if weights are counts, else Kish's (1965) number."""
    if a.min() == a.max():
        return float(len(a))
    counts, a = repeats(a), np.sort(a)  # the digits of a sum depend on its order
    return float(a.sum() ** 2 / (a @ a) if counts is None else counts.sum())


def sample(a: Array, size: int) -> Index:
    """Return a systematic sample of rows, each of the same weight; all if there are no more."""
    n = count(a)
    if n == len(a) <= size:
        return np.arange(len(a))
    size = min(size, round(n)) if n >= len(a) else size
    reach = np.cumsum(a)
    at = np.searchsorted(reach, (np.arange(size) + 0.5) * (reach[-1] / size))
    return np.asarray(np.minimum(at, len(a) - 1))


def quantiles(s: Array, share: float, a: Array) -> Array:
    """Return a quantile of each row of s."""
    if a.min() == a.max():
        last = min(len(a) - 1, math.ceil(share * len(a)))
        return np.asarray(np.partition(s, last, axis=1)[:, last])
    return np.array([quantile(row, share, a) for row in s])


def steps(Z: Array, W: Array, R: Array, gram: Array | None = None) -> Array:
    """Return the weighted least-squares step of every fit, from its weights and residuals."""
    gram = cross_products(Z, W) if gram is None else gram
    pull = (W[:, None] * R) @ Z
    return np.asarray(np.linalg.solve(gram, pull.transpose(0, 2, 1)))


def cross_products(Z: Array, W: Array) -> Array:
    """Return Σ wᵢ zᵢᵀzᵢ of every fit; for many fits as one product with all zᵢᵀzᵢ."""
    k = Z.shape[1]
    gram = np.empty((len(W), k, k))
    if len(W) > k:
        i, j = np.triu_indices(k)
        gram[:, i, j] = gram[:, j, i] = W @ (Z[:, i] * Z[:, j])
    else:

        def fill(fit: int) -> None:
            counted = W[fit] > 0
            gram[fit] = weighted_gram(Z[counted], W[fit, counted])

        with team() as workers:
            for _ in workers.map(fill, range(len(W))):
                pass
    # Regularised, so that the step is 0 in directions that the rows do not determine. The multiple
    # of the identity is relative to the trace as well, which far rows may make large.
    size = np.maximum(W.sum(axis=1), np.trace(gram, axis1=1, axis2=2) / max(k, 1))
    least = np.maximum(1e-10 * size, np.finfo(np.float64).tiny)
    gram[:, np.arange(k), np.arange(k)] += least[:, None]
    return gram
