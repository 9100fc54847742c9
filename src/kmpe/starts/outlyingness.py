"""How far out each row lies: the Stahel-Donoho outlyingness.

A row is as far out as in its worst direction, in units of the univariate MCD of all rows there, as
in ROBPCA (Hubert, Rousseeuw and Vanden Branden 2005). Directions join two rows, or the spatial
median and a row. They are drawn with numbers that are always the same: rows that stand in an order
of their own give the same answer every time.
"""

import numpy as np
from scipy import linalg

from kmpe.arrays import ROUNDING, Array
from kmpe.losses.scale import shortest_half
from kmpe.rows.sample import SEED

__all__ = ["coordinates", "outlyingness", "spatial_median"]


def outlyingness(Z: Array, directions: int = 250) -> Array:
    """Return how far out each row lies: in its worst direction, and in its distance.

    A row is not judged in a direction that it helped to choose: with many columns its own noise
    alone would put it far out there. Single outliers, which only their own direction shows, have
    their distance from the spatial median against them. There are so many ``directions`` of either
    kind, as many as ROBPCA has; with 1000 no more rows are told apart.
    """
    n, rng = len(Z), np.random.RandomState(SEED)
    Y = Z - spatial_median(Z)
    k = min(n, directions)
    first = np.concatenate([rng.randint(n, size=directions), rng.permutation(n)[:k]])
    step = rng.randint(1, max(n, 2), size=directions)
    second = np.concatenate([(first[:directions] + step) % n, first[directions:]])
    D = Y[first]
    D[:directions] -= Y[second[:directions]]
    length = np.linalg.norm(D, axis=1)
    distance = np.linalg.norm(Y, axis=1)
    useful = length > ROUNDING * distance.max(initial=0.0)
    first, second, D = first[useful], second[useful], D[useful] / length[useful, None]
    P = np.abs(_standardised(D @ Y.T))
    each = np.arange(len(D))
    P[each, first] = P[each, second] = 0.0
    worst = P.max(axis=0, initial=0.0)
    typical = _median(worst)
    far = _standardised(distance[None])[0]
    # The largest of 500 deviations is typically 3 where one alone is 1.
    return np.asarray(np.maximum(3 * worst / typical if typical > 0 else worst, far))


def _standardised(P: Array) -> Array:
    """Return what the rows of P have above the mean of their least varying half, per deviation."""
    mean, deviation = shortest_half(P)
    # Where half of the rows are one value but for rounding, there is no unit.
    varies = deviation > ROUNDING * np.abs(P).max(axis=1, initial=0.0)
    return np.asarray((P - mean[:, None]) / np.where(varies, deviation, np.inf)[:, None])


def spatial_median(Z: Array, steps: int = 10) -> Array:
    """Return the point of least total distance from the rows, by a few steps of Weiszfeld."""
    c = np.median(Z, axis=0)
    for _ in range(steps):
        r = np.linalg.norm(Z - c, axis=1)
        typical = _median(r)
        if not typical > 0:
            break
        u = 1 / np.maximum(r, 1e-3 * typical)
        c = u @ Z / u.sum()
    return np.asarray(c)


def _median(x: Array) -> float:
    half = len(x) // 2
    return float(np.partition(x, half)[half])


def coordinates(X: Array) -> Array:
    """Return rows with the same distances from each other, in no more columns than rows."""
    Y = X - X.mean(axis=0)
    if len(Y) >= Y.shape[1]:
        return np.asarray(Y)
    G = Y @ Y.T
    # The jitter is far below what a start needs, and makes equal rows positive definite.
    G.flat[:: len(G) + 1] += max(1e-10 * float(np.trace(G)) / len(G), np.finfo(np.float64).tiny)
    return np.asarray(linalg.cholesky(G, lower=True, check_finite=False))
