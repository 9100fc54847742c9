"""Rules for σ: the scale of residuals, computed from squared residual norms.

Every rule takes the squared residual norms ``s`` and the sample weights ``a`` and returns σ.
Quantiles are those of the weighted sample, so that a row of weight 2 is two equal rows.
"""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
from scipy.special import chdtr, chdtrc, chdtri, ndtri

from kmpe.arrays import ROUNDING, Array

__all__ = [
    "FAR_OUT",
    "ONCE",
    "RULES",
    "centred_scale",
    "cutoff",
    "mad",
    "median",
    "middle",
    "quantile",
    "scale_beyond_ties",
    "shortest_half",
    "silverman",
    "tied_cutoff",
]


#: Residuals over their MAD (scaled for Gaussian noise) beyond which a row is a gross outlier. The
#: share of such rows is 6e-7 for Gaussian noise, 0.6% for Laplace noise and 1.1% for Student's t
#: with 3 degrees of freedom.
FAR_OUT = 5.0


def quantile(values: Array, q: float, a: Array | None = None) -> float:
    """Return the q-quantile of ``values`` with weights ``a``."""
    if a is None or a.min() == a.max():
        # The same value without a sort: 4 ms instead of 40 for 200 000 rows.
        k = max(0, math.ceil(q * len(values)) - 1)
        return float(np.partition(values, k)[k])
    return float(np.quantile(values, q, weights=a, method="inverted_cdf"))


def middle(values: Array, a: Array | None = None) -> float:
    """Return the median of values of any sign: the mean of the two middle values if n is even.

    So the median of the negatives is minus the median, unlike for the 0.5-quantile of `quantile`,
    which is the lower of the two.

    Examples
    --------
    >>> middle(np.array([1.0, 4.0, 9.0, 16.0]))
    6.5
    """
    return quantile(values, 0.5, a) / 2 - quantile(-values, 0.5, a) / 2


def mad(s: Array, a: Array | None = None, dim: int = 1) -> float:
    """Return the median residual norm, scaled to σ for Gaussian residuals in ``dim`` dimensions.

    For one dimension this is the median absolute residual over 0.6745. If more than half of the
    residuals are zero it is the root mean square, and if all are it is 1: a scale is always
    positive.

    Examples
    --------
    >>> mad(np.array([1.0, 4.0, 9.0]))
    2.965...
    """
    median = quantile(s, 0.5, a) / float(chdtri(dim, 0.5))
    if median > 0:
        return float(np.sqrt(median))
    mean = float(np.average(s, weights=a)) / dim
    return float(np.sqrt(mean)) if mean > 0 else 1.0


def silverman(s: Array, a: Array | None = None, dim: int = 1) -> float:
    """Return σ by Silverman's rule on the squared norms, (30) of the paper.

    σ² = 1.06 min(σ_E, R / 1.354) n^(-1/5), with σ_E the standard deviation and R the
    interquartile range of ``s``. If R is zero only the standard deviation is used, and if both are
    zero, ``mad``.

    Examples
    --------
    >>> silverman(np.array([1.0, 4.0, 9.0, 16.0]))
    2.135...
    """
    if a is not None:
        s, a = s[a > 0], a[a > 0]
    n = float(len(s) if a is None else a.sum())
    mean = float(np.average(s, weights=a))
    if mean == 0:
        return mad(s, a, dim)
    # In units of the mean, as squares of squared norms overflow early.
    spread = mean * float(np.sqrt(np.average((s / mean - 1) ** 2, weights=a)))
    middle = (quantile(s, 0.75, a) - quantile(s, 0.25, a)) / 1.354
    width = min(spread, middle) if middle > 0 else spread
    # Equal values differ from their mean by rounding errors.
    if width <= 1e-12 * mean:
        return mad(s, a, dim)
    return float(np.sqrt(1.06 * width * n**-0.2))


def median(s: Array, a: Array | None = None, dim: int = 1) -> float:
    """Return the median residual norm, without a factor: the constant of R1-PCA.

    It is computed once, at the start (`ONCE`), as its authors do.

    Examples
    --------
    >>> median(np.array([1.0, 4.0, 9.0]))
    2.0
    """
    middle = quantile(s, 0.5, a)
    return float(np.sqrt(middle)) if middle > 0 else mad(s, a, dim)


def cutoff(s: Array, a: Array | None = None, dim: int = 1, *, z: float = 3.0) -> float:
    """Return the residual norm beyond which a row is an outlier.

    The cube root of a squared norm is nearly Gaussian for any number of components (Wilson and
    Hilferty 1931), so the cut-off is ``z`` standard deviations above the median of the cube roots.
    The standard deviation is median minus lower quartile over 0.6745, from the lower half only, as
    up to half of the rows may be outliers. Where most rows tie it is 0, and the cut-off is that of
    Gaussian components of the same median norm.

    Examples
    --------
    >>> cutoff(np.array([1.0, 1.2, 1.4, 1.6, 100.0]))
    1.599...
    """
    root = np.cbrt(s)
    middle = quantile(root, 0.5, a)
    width = (middle - quantile(root, 0.25, a)) / 0.6745
    root3 = middle + z * width
    # Not by pow, whose last digit depends on the unit.
    return root3 * math.sqrt(root3) if width > 0 else tied_cutoff(mad(s, a, dim), dim, z)


def tied_cutoff(scale: float, dim: int, z: float) -> float:
    """Return the norm that Gaussian components exceed as rarely as one of them does z scales."""
    return scale * math.sqrt(float(chdtri(dim, chdtrc(1, z * z))))


def shortest_half(P: Array) -> tuple[Array, Array]:
    """Return the univariate MCD of each row of P: mean and deviation of the half of least variance.

    Rousseeuw and Leroy (1987), section 4.3, by sorting; the deviation is consistent for Gaussian
    values. The mean is that over all halves whose variances tie but for rounding, as those of
    discrete values do.

    Examples
    --------
    >>> shortest_half(np.array([[1.0, 2.0, 3.0, 50.0]]))[0]
    array([2.])
    """
    n = P.shape[1]
    h = n // 2 + 1
    S = np.sort(P, axis=1)
    middle = S[:, n // 2, None]
    # Every half contains the middle value. A half with a value more than √h widths of the shortest
    # half away has a larger variance than that half; clipping such values avoids cancellation.
    most = math.sqrt(h) * (S[:, h - 1 :] - S[:, : n - h + 1]).min(axis=1, keepdims=True)
    S = np.hstack([np.zeros((len(S), 1)), np.clip(S - middle, -most, most)])
    sums, squares = np.cumsum(S, axis=1), np.cumsum(S * S, axis=1)
    mean = (sums[:, h:] - sums[:, :-h]) / h
    variance = (squares[:, h:] - squares[:, :-h]) / h - mean**2
    least = variance.min(axis=1, keepdims=True)
    tied = variance <= least + ROUNDING * most * most
    factor = h / n / float(chdtr(3, chdtri(1, 1 - h / n))) if h < n else 1.0
    deviation = np.sqrt(factor * np.maximum(least[:, 0], 0.0))
    centre = np.average(mean, axis=1, weights=tied) + middle[:, 0]
    return np.asarray(centre), np.asarray(deviation)


def centred_scale(e: Array, a: Array, grain: float = 0.0) -> tuple[float, float]:
    """Return centre and scale of values, each counted ``a`` times: their univariate MCD.

    Where half of the values are equal the scale is the MAD, or what takes its place. If a share
    ``grain`` of the rows ties in what the values are errors of, the scale is at least that of the
    others (`scale_beyond_ties`).

    Examples
    --------
    >>> centred_scale(np.array([1.0, 2.0, 3.0, 50.0]), np.ones(4))[0]
    2.0
    """
    counted = _repeated(e, a)
    centre, scale = shortest_half(counted[None])
    found = float(scale[0])
    if grain * len(counted) > 1:
        found = max(found, scale_beyond_ties(counted - centre, np.ones(len(counted)), grain))
    return float(centre[0]), found or mad((counted - centre) ** 2)


def scale_beyond_ties(e: Array, a: Array, grain: float, share: float = 0.25) -> float:
    """Return σ from a quantile of |e| beyond a share ``grain`` of ties.

    It is the quantile at p + q (1 - p) over the normal one, p the share of the ties and q that of
    the others: with many ties and outliers a quarter of these is still good. With q = 0.5 it is
    the MAD if there are no ties.

    Examples
    --------
    >>> scale_beyond_ties(np.array([0.0, 0, 0, 0, 1, 2]), np.ones(6), 4 / 6, 0.5)
    0.723...
    """
    level = min(grain + share * (1 - grain), 1 - 0.5 / float(a.sum()))
    return quantile(np.abs(e), level, a) / float(ndtri((1 + level) / 2))


def _repeated(e: Array, a: Array) -> Array:
    """Return the values, in order, each as often as it counts; at most ten times their number."""
    order = np.argsort(e, kind="stable")
    total = np.cumsum(a[order])
    m = min(max(round(total[-1]), 1), 10 * len(e))
    places = np.searchsorted(total, (np.arange(m) + 0.5) / m * total[-1])
    return np.asarray(e[order][np.minimum(places, len(e) - 1)])


Rule = Callable[[Array, Array | None, int], float]
RULES: Mapping[str, Rule] = MappingProxyType(
    {"mad": mad, "silverman": silverman, "median": median, "cutoff": cutoff}
)
#: Rules that are applied at the start only; others after each step, until σ converges.
ONCE = frozenset({"median"})
