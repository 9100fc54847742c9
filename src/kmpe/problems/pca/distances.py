"""Orthogonal and score distances of rows from a PCA, and their cut-off values.

The orthogonal distance ‖x - μ - WWᵀ(x - μ)‖ is measured from the subspace, the score distance
(Σ tⱼ² / λⱼ)^½ with t = Wᵀ(x - μ) from the centre within it (Hubert, Rousseeuw and Vanden Branden
2005). Both cut-offs are prediction limits at the level 0.99, from the k rows of the fit:

- The power 2/3 of an orthogonal distance is nearly Gaussian (Wilson and Hilferty 1931): its limit
  is mean plus standard deviation times a quantile of Student's t. Fitting an m-dimensional subspace
  shrinks the squared distances of the rows of the fit by (k - m - 1) / k and enlarges those of
  other rows by (k + m + 1) / k; the limit is for other rows.
- Squared score distances of other rows follow (k² - 1) m / (k (k - m)) F(m, k - m) (Hotelling).

Rows beyond a limit are not in the fit. Mean and variance are corrected for this truncation so that
they are consistent for Gaussian rows (Croux and Haesbroeck 1999).
"""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.special import chdtr, chdtri, fdtri, ndtri, stdtrit

from kmpe.arrays import ROUNDING, Array, Mask
from kmpe.foreign import asarray, to_numpy
from kmpe.losses.scale import shortest_half

__all__ = [
    "LEVEL",
    "WIDE",
    "Limits",
    "RowDistances",
    "ScoreDistance",
    "Spread",
    "first_spread",
    "kinds",
    "score_distances",
    "score_limit",
    "spread",
    "spread_of",
    "standardised",
    "variance_factor",
    "within_limits",
]

#: The share of Gaussian rows within the limit of each distance.
LEVEL = 0.99
#: The share of Gaussian rows within the limit of score distances at which variances are truncated.
#: On 100 rows variances have a mean of 0.996 to 0.999 of those of the clean rows and a 5% quantile
#: of 0.94, as with half or twice its distance from 1 (standard error 0.002; 0.95, 0.92); at `LEVEL`
#: 1.012 and 0.90 (`python benchmarks/pca_promises.py --only level`).
WIDE = 0.999


class Limits(NamedTuple):
    """The cut-off values of both distances."""

    orthogonal: float
    score: float


class RowDistances(NamedTuple):
    """The distances of some rows, and whether either exceeds its limit."""

    orthogonal: Array
    score: Array
    outliers: Mask


def score_limit(k: float, m: int, level: float = LEVEL) -> float:
    """Return the limit of score distances in m dimensions, for a fit to k rows."""
    if m == 0 or k <= m + 1:
        return math.inf
    return math.sqrt((k * k - 1) * m / (k * (k - m)) * float(fdtri(m, k - m, level)))


def variance_factor(dim: float, level: float = LEVEL) -> float:
    """Return the variance of Gaussian rows over that of the share ``level`` nearest the centre."""
    if not 0 < dim < math.inf:
        return 1.0
    return level / float(chdtr(dim + 2, float(chdtri(dim, 1 - level))))


class Spread(NamedTuple):
    """Mean and standard deviation of d^(2/3) for rows outside the fit, estimated from k rows."""

    mean: float
    deviation: float
    k: float

    @property
    def limit(self) -> float:
        """The limit of orthogonal distances."""
        if self.k <= 1:
            return math.inf
        t = float(stdtrit(self.k - 1, LEVEL)) * math.sqrt(1 + 1 / self.k)
        return math.pow(max(0.0, self.mean + t * self.deviation), 1.5)

    @property
    def dimensions(self) -> float:
        """The number of independent Gaussian components whose norm has this spread.

        The cube root of χ²/q has the mean 1 - u and the variance u with u = 2 / 9q.
        """
        if not self.mean > 0 or self.deviation == 0:
            return math.inf
        r = (self.deviation / self.mean) ** 2
        u = 2 * r / (1 + 2 * r + math.sqrt(1 + 4 * r))
        return 2 / (9 * u)


def spread(distances: Array, inside: Mask, m: int, a: Array | None = None) -> Spread:
    """Return the spread of orthogonal distances, from the rows of the fit with weights ``a``.

    These are taken as the share ``LEVEL`` of all rows with the smallest distances.
    """
    x = np.cbrt(distances[inside] ** 2)
    a = np.ones(len(x)) if a is None else a[inside]
    k = float(a.sum())
    mean = float(a @ x) / k if k > 0 else 0.0
    return spread_of(k, mean, float(a @ (x - mean) ** 2), m)


def spread_of(k: float, mean: float, squares: float, m: int) -> Spread:
    """Return the spread, given the number of rows of the fit, mean and squares of d^(2/3)."""
    if k <= m + 1:
        return Spread(0.0, 0.0, 0.0)
    deviation = math.sqrt(squares / (k - 1))
    z = float(ndtri(LEVEL))
    missing = math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / LEVEL
    deviation /= math.sqrt(1 - z * missing - missing**2)
    return _outside(Spread(mean + missing * deviation, deviation, k), k, m)


def first_spread(distances: Array, inside: Mask, m: int) -> Spread:
    """Return the spread when the fit is to little more than half of the rows.

    By the univariate MCD of all rows, reweighted once (Rousseeuw and Leroy 1987).
    """
    k = float(np.count_nonzero(inside))
    if k <= m + 1:
        return Spread(0.0, 0.0, 0.0)
    shrunk = math.sqrt((k - m - 1) / (k + m + 1))
    x = np.cbrt(np.where(inside, distances, distances * shrunk) ** 2)
    (mean,), (deviation,) = shortest_half(x[None])
    z = float(ndtri((1 + LEVEL) / 2))
    kept = x[np.abs(x - mean) <= z * deviation]
    if len(kept) > 1:
        mean, deviation = kept.mean(), kept.std(ddof=1) * math.sqrt(variance_factor(1))
    return _outside(Spread(float(mean), float(deviation), float(len(kept))), k, m)


def _outside(of_the_fit: Spread, k: float, m: int) -> Spread:
    """Return the spread for rows outside a fit to k rows, given that of the rows in it."""
    grown = ((k + m + 1) / (k - m - 1)) ** (1 / 3)
    mean, deviation, count = of_the_fit
    return Spread(mean * grown, deviation * grown, count)


def within_limits(T: Array, distances: Array, inside: Mask, *, first: bool) -> Mask:
    """Return which rows are within both limits of a fit to the rows ``inside``.

    ``first``: the fit is to little more than half of the rows, those nearest to it, so that its
    variances are scaled by the medians.
    """
    k, m = float(np.count_nonzero(inside)), T.shape[1]
    squared = score_distances(T, T[inside]) ** 2
    if first:
        middle = float(np.median(squared))
        squared *= float(chdtri(m, 0.5)) / middle if m > 0 and middle > 0 else 1.0
    else:
        squared /= variance_factor(m)
    of_rows = first_spread if first else spread
    near = distances <= of_rows(distances, inside, m).limit
    return np.asarray(near & (squared <= score_limit(k, m) ** 2))


def score_distances(T: Array, of_the_fit: Array) -> Array:
    """Return score distances, with mean and covariance of the scores of the fit."""
    return ScoreDistance.of(of_the_fit)(T)


@dataclass(frozen=True)
class ScoreDistance:
    """The Mahalanobis distance of scores."""

    mean: Array
    axes: Array

    @classmethod
    def of(cls, scores: Array) -> "ScoreDistance":
        """Return the distance with mean and covariance of the scores of a fit."""
        k, m = scores.shape
        if m == 0 or k < 2:
            return cls(np.zeros(m), np.zeros((m, 0)))
        mean = scores.mean(axis=0)
        K = scores - mean
        variances, U = linalg.eigh(K.T @ K / (k - 1), check_finite=False)
        return cls(mean, U / _deviations(variances, 0.0))

    def __call__(self, T: Array) -> Array:
        """Return the distance of each row."""
        return _norms((T - self.mean) @ self.axes)


def standardised(T: Array, variances: Array, rounding: float = 0.0) -> Array:
    """Return (Σ tⱼ² / λⱼ)^½ of each row; scores of the size of ``rounding`` are 0.

    A direction in which the rows of the fit do not vary has the variance of rounding errors, so
    that a row that differs there is far out.
    """
    return _norms(T / _deviations(variances, rounding))


def _deviations(variances: Array, rounding: float) -> Array:
    tiny = float(np.finfo(np.float64).tiny)
    least = max(ROUNDING * float(variances.max(initial=0.0)), rounding**2, tiny)
    return np.sqrt(np.maximum(variances, least))


def _norms(T: Array) -> Array:
    """Return the norm of each row; one that overflows is inf."""
    with np.errstate(over="ignore"):
        return asarray(np.sqrt(np.einsum("ij,ij->i", T, T)))


def kinds(distances: RowDistances, limits: Limits) -> npt.NDArray[np.str_]:
    """Return the type of each row, as named by Hubert, Rousseeuw and Vanden Branden (2005)."""
    orthogonal, score = to_numpy(distances.orthogonal), to_numpy(distances.score)
    off, far = orthogonal > limits.orthogonal, score > limits.score
    names = np.array(["regular", "good leverage", "orthogonal", "bad leverage"])
    return np.asarray(names[2 * off + far])
