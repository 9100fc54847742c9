"""Tukey's bisquare: its weights and constants for any number of targets, and fits by M-scale.

ρ(x) = 1 - (1 - x²)³ up to 1 and 1 beyond, for x a residual norm over c times the scale. All
Gaussian means of it are sums of E[x²ʲ; x < 1], which are incomplete gamma functions. So the
constants are computed, for residuals of q components: 1.5476 and 4.6851 for q = 1.
"""

import math
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtri, gammainc, poch

from kmpe.arrays import Array, Index
from kmpe.rows.checks import eleven_digits
from kmpe.starts.weighted import quantiles

__all__ = [
    "LEAST",
    "consistent",
    "efficiency",
    "efficient",
    "m_scales",
    "mean_rho",
    "ranked",
    "weights",
]

#: The square of what is rounding in residuals of targets of unit size: a scale is no less.
LEAST = (1e3 * float(np.finfo(np.float64).eps)) ** 2


def weights(s: Array, a: Array, c2: Array) -> Array:
    """Return the weights aᵢ (1 - s/c²)² up to c and 0 beyond, s of shape (fits, n)."""
    u = s / c2[:, None]
    np.minimum(u, 1.0, out=u)
    u -= 1.0
    u *= u
    u *= a
    return u


def mean_rho(s: Array, a: Array, c2: float) -> Array:
    """Return the mean of ρ for many fits at the same scale."""
    u = s / c2
    np.minimum(u, 1.0, out=u)
    np.subtract(1.0, u, out=u)
    return np.asarray(1.0 - (u * u * u) @ a)


def m_scales(s: Array, a: Array, b: float, q: int, steps: int, v: Array | None = None) -> Array:
    """Return the squared M-scales of many fits, from their squared residuals.

    Newton's method in log σ² on Σ aᵢ ρ(sᵢ / c²σ²) = b Σ aᵢ, started at the 1 - b quantile (the
    median of the rows that k coefficients do not interpolate) or at ``v``.

    Parameters
    ----------
    s : array of shape (fits, n)
        Squared residual norms.
    a : array of shape (n,)
        Sample weights of sum 1.
    b : float
        The mean of ρ at the scale.
    q : int
        The number of components of a residual.
    steps : int
        The number of Newton steps.
    v : array of shape (fits,), optional
        Initial squared scales.
    """
    c2 = consistent(q) ** 2
    if v is None:
        v = quantiles(s, 1 - b, a) / float(chdtri(q, 0.5))
    v = np.maximum(v, LEAST)
    for _ in range(steps):
        u = s / (c2 * v[:, None])
        np.minimum(u, 1.0, out=u)
        rest = 1.0 - u
        rest2 = rest * rest
        u *= rest2
        rest2 *= rest
        gap = 1.0 - b - rest2 @ a
        # A factor of 4 at most: where ρ is flat the Newton step is unbounded.
        v = v * np.exp(np.clip(gap / np.maximum(3 * (u @ a), LEAST), -1.4, 1.4))
        v = np.maximum(v, LEAST)
    return np.asarray(v)


def ranked(theta: Array, s: Array, a: Array, costs: Array) -> Index:
    """Return the numbers of fits by their costs, and where these tie by what they leave.

    Costs tie where rows are met exactly or rejected completely: of three rows that two coefficients
    are to meet, any two may be met. Then the fit that misses fewer rows comes first, and of these
    the one of least absolute residuals, and at last the smallest. Digits that rounding makes do not
    count.
    """
    costs = eleven_digits(costs)
    order = np.argsort(costs)
    if np.all(costs[order[1:]] > costs[order[:-1]]):
        return order
    keys = np.einsum("ijk,ijk->i", theta, theta), np.sqrt(s) @ a, (s > 0) @ a
    return np.lexsort([*map(eleven_digits, keys), costs])


def _moment(c: float, q: int, j: int) -> float:
    """Return E[(X/c)²ʲ; X < c] for the norm X of a standard Gaussian vector of q components."""
    return float((2 / c**2) ** j * poch(q / 2, j) * gammainc(q / 2 + j, c * c / 2))


@lru_cache
def consistent(q: int) -> float:
    """Return the c at which ρ has mean ½ for standard Gaussian residuals: breakdown point ½.

    Examples
    --------
    >>> consistent(1)
    1.5476...
    """

    def excess(c: float) -> float:
        m = [_moment(c, q, j) for j in range(4)]
        return 0.5 - (m[0] - 3 * m[1] + 3 * m[2] - m[3])

    return float(brentq(excess, 0.5 * math.sqrt(q), 5 * math.sqrt(q)))


@lru_cache
def efficiency(q: int, c: float) -> float:
    """Return the Gaussian efficiency of the M-estimate with this c.

    It is A² / B with A = E[(1 - 1/q) w + ψ'/q] and B = E[ψ²] / q (Maronna et al. 2019, 6.4).

    Examples
    --------
    >>> efficiency(1, consistent(1))
    0.2868...
    """
    m = [_moment(c, q, j) for j in range(6)]
    slope = m[0] - (2 + 4 / q) * m[1] + (1 + 4 / q) * m[2]
    psi2 = c * c * (m[1] - 4 * m[2] + 6 * m[3] - 4 * m[4] + m[5])
    return slope**2 * q / psi2


@lru_cache
def efficient(q: int, wanted: float = 0.95) -> float:
    """Return the c at which the M-estimate has this Gaussian efficiency.

    Examples
    --------
    >>> efficient(1)
    4.6850...
    """
    ends = math.sqrt(q), 20 * math.sqrt(q)
    return float(brentq(lambda c: efficiency(q, c) - wanted, *ends))
