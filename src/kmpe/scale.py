"""Scale of residuals: from squared residual norms to the number that says what is large.

Every rule takes the squared residual norms ``s`` and the sample weights ``a`` and returns σ.
Quantiles are those of the weighted sample, so that a row of weight 2 is two equal rows.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

__all__ = ["RULES", "Array", "mad", "quantile", "silverman"]

Array = npt.NDArray[np.float64]


def quantile(values: Array, q: float, a: Array | None = None) -> float:
    """Return the q-quantile of ``values``, each counted ``a`` times."""
    return float(np.quantile(values, q, weights=a, method="inverted_cdf"))


def mad(s: Array, a: Array | None = None, dim: int = 1) -> float:
    """Return the median residual norm, scaled to σ for Gaussian residuals in ``dim`` dimensions.

    For one dimension this is the median absolute residual over 0.6745. When more than half of
    the residuals are zero the root mean square takes its place, and 1 when all of them are:
    a scale is always positive.

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
    interquartile range of ``s``. When R is zero the standard deviation decides alone, and when
    both are, ``mad``.

    Examples
    --------
    >>> silverman(np.array([1.0, 4.0, 9.0, 16.0]))
    2.135...
    """
    n = float(len(s) if a is None else a.sum())
    mean = float(np.average(s, weights=a))
    if mean == 0:
        return mad(s, a, dim)
    # In units of the mean: squares of squared norms overflow early.
    spread = mean * float(np.sqrt(np.average((s / mean - 1) ** 2, weights=a)))
    middle = (quantile(s, 0.75, a) - quantile(s, 0.25, a)) / 1.354
    width = min(spread, middle) if middle > 0 else spread
    # Equal values differ from their mean by rounding: that is no spread.
    if width <= 1e-12 * mean:
        return mad(s, a, dim)
    return float(np.sqrt(1.06 * width * n**-0.2))


Rule = Callable[[Array, Array | None, int], float]
RULES: Mapping[str, Rule] = MappingProxyType({"mad": mad, "silverman": silverman})
