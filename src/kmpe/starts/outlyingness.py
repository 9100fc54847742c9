"""The Stahel-Donoho outlyingness of rows (Stahel 1981, Donoho 1982).

It is the largest standardised distance of a row over many directions, with centre and scale by the
univariate MCD of the projections, as in ROBPCA (Hubert, Rousseeuw and Vanden Branden 2005).
Directions join two rows, or the spatial median and a row. They are drawn with a fixed seed from
rows by their distance from the spatial median, so that neither their order nor their coordinates
matter.
"""

import numpy as np
from scipy import linalg

from kmpe.arrays import ROUNDING, SINGULAR, Array
from kmpe.losses.scale import shortest_half
from kmpe.rows.checks import eleven_digits
from kmpe.rows.sample import SEED

__all__ = ["coordinates", "outlyingness", "spatial_median"]


def outlyingness(Z: Array, directions: int = 250) -> Array:
    """Return the outlyingness of each row, over directions and by its distance.

    A direction does not count for the rows that define it: with many columns their own noise alone
    would make them outlying there. Single outliers, which show only in their own direction, are
    found by their distance from the spatial median. There are ``directions`` of either kind, as
    many as in ROBPCA; 1000 distinguish no more rows.
    """
    n, rng = len(Z), np.random.RandomState(SEED)
    Y = Z - spatial_median(Z)
    k = min(n, directions)
    first = np.concatenate([rng.randint(n, size=directions), rng.permutation(n)[:k]])
    step = rng.randint(1, max(n, 2), size=directions)
    second = np.concatenate([(first[:directions] + step) % n, first[directions:]])
    distance = np.linalg.norm(Y, axis=1)
    rank = np.argsort(eleven_digits(distance), kind="stable")
    first, second = rank[first], rank[second]
    D = Y[first]
    D[:directions] -= Y[second[:directions]]
    length = np.linalg.norm(D, axis=1)
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
    """Return the rows of P, standardised by the univariate MCD."""
    mean, deviation = shortest_half(P)
    # Where half of the rows are one value but for rounding, there is no unit.
    varies = deviation > ROUNDING * np.abs(P).max(axis=1, initial=0.0)
    return np.asarray((P - mean[:, None]) / np.where(varies, deviation, np.inf)[:, None])


def spatial_median(Z: Array, steps: int = 10) -> Array:
    """Return the spatial median of the rows, by a few steps of Weiszfeld's (1937) algorithm."""
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
    """Return the rows along the principal axes of the space that they span.

    Distances are the same, and the coordinates those of rows that are turned, weighted or repeated.
    """
    Y = X - X.mean(axis=0)
    wide = len(Y) < Y.shape[1]
    values, V = linalg.eigh(Y @ Y.T if wide else Y.T @ Y, check_finite=False)
    kept = values > SINGULAR * max(float(values[-1]), 0.0)
    return np.asarray(V[:, kept] * np.sqrt(values[kept]) if wide else Y @ V[:, kept])
