"""Weighted samples: a row of weight 2 is two equal rows, and only the ratios of weights matter."""

import math

import numpy as np

from kmpe.arrays import Array, Index

__all__ = ["count", "quantile", "quantiles", "sample", "squares"]


def count(a: Array) -> float:
    """Return the number of rows: of repeated rows when weights are counts, else Kish's (1965)."""
    if a.min() == a.max():
        return float(len(a))
    ratio = a / a.min()
    for unit in range(1, 7):
        counts = np.rint(unit * ratio)
        if np.allclose(counts, unit * ratio, rtol=1e-9, atol=0.0):
            return float(counts.sum())
    return float(a.sum() ** 2 / (a @ a))


def sample(a: Array, size: int) -> Index:
    """Return a systematic sample of rows, each of the same weight; all if there are no more."""
    n = count(a)
    if n == len(a) <= size:
        return np.arange(len(a))
    size = min(size, round(n)) if n >= len(a) else size
    reach = np.cumsum(a)
    at = np.searchsorted(reach, (np.arange(size) + 0.5) * (reach[-1] / size))
    return np.asarray(np.minimum(at, len(a) - 1))


def quantile(values: Array, share: float, a: Array) -> float:
    """Return a quantile of values, each counted ``a`` times."""
    if a.min() == a.max():
        last = max(0, math.ceil(share * len(values)) - 1)
        return float(np.partition(values, last)[last])
    return float(np.quantile(values, share, weights=a, method="inverted_cdf"))


def quantiles(s: Array, share: float, a: Array) -> Array:
    """Return a quantile of each row of s."""
    if a.min() == a.max():
        last = min(len(a) - 1, math.ceil(share * len(a)))
        return np.asarray(np.partition(s, last, axis=1)[:, last])
    return np.array([quantile(row, share, a) for row in s])


def squares(R: Array) -> Array:
    """Return the squared norms of rows."""
    return np.asarray(np.einsum("ij,ij->i", R, R))
