"""What the noise looks like: the posterior over a dictionary of shapes, given residuals.

A hundred residuals say little about a tail or an edge by themselves. Weighed against a dictionary
of densities they give a posterior, and with it a mean density: as smooth as the entries, and as
sure as the rows allow (Bayesian model averaging; Hoeting, Madigan, Raftery and Volinsky 1999).

Densities are tabulated against log |r|. A change of scale is then a shift, so that the likelihood
of every shape at every scale is one matrix product, and the mean density another. The prior is flat
over the four families of shapes, over the shapes of a family, and over the scales.

Equal targets (counts, ratings, many zeros) come from rounding and censoring, not from a density
with a spike. Where the commonest value has a share p of the rows, all of them are seen through a
Gaussian blur of pσ, and the loss has no detail below pσ. Rounded Gaussian noise has
p = gap φ(0) / σ, so that this is 0.4 gaps; with half of the targets 0 it is half of σ; and with no
two alike, σ / n.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammaln, ndtr, ndtri

from kmpe.arrays import ROUNDING, Array
from kmpe.losses import Loss
from kmpe.losses.scale import quantile

__all__ = ["GRID", "Noise", "granularity", "infer"]

Shape = Callable[[Array], Array]

_STEP = 0.025
_FIRST, _LAST = -280, 375
#: Where densities are tabulated: |r| / σ from 0.001 to 11 500, 2.5% apart.
GRID = np.exp(_STEP * np.arange(_FIRST, _LAST))
# Scales from 0.55 to 1.8 MAD: for 30 rows the log of the MAD has a standard error of 0.2 to 0.26.
_SHIFTS = np.arange(-24, 25)
_LOG_X = _STEP * np.arange(_FIRST - 24, _LAST + 24)
_PEAKED = {1.0: "Laplace"} | dict.fromkeys((1.3, 1.6), "between Laplace and Gaussian")
_FLAT = dict.fromkeys((2.5, 3.5, 6.0), "between Gaussian and uniform")
_FLAT |= dict.fromkeys((12.0, 30.0), "uniform")
_FREEDOMS = (1.5, 2.0, 3.0, 5.0, 9.0)
_SHARES = (0.0, 0.03, 0.1, 0.25)
# Outliers are Student's t2 of this scale, in units of the core's own. Gaussian noise with 10%
# N(0, 100) at n = 100 has 1.04 of the error of Tukey's loss; with 2.5 it is 1.11, with 10 1.09.
_OUTLIER_SCALE = 5.0
# How far out an outlier lies says nothing of the core: beyond it all are alike.
_FARTHEST = 6 * _OUTLIER_SCALE
_LEAST_LOG_DENSITY = float(np.log(np.finfo(np.float64).tiny))
_BLUR = ndtri((np.arange(9) + 0.5) / 9)


@dataclass(frozen=True, eq=False)
class Noise:
    """What residuals say about the noise."""

    #: The unit: the MAD of the residuals, or what takes its place where targets are tied.
    sigma: float
    #: The granularity of the data, in units of σ.
    grain: float
    #: Posterior probability of each kind of noise, the largest first.
    probability: dict[str, float]
    #: Logarithm of the mean density at the `GRID`, in units of σ.
    log_density: Array
    #: Probability of each shape at each scale.
    posterior: Array

    def variance_ratio(self, loss: Loss, plain: Loss) -> float:
        """Return how the variance of a fit with a loss compares with that of a plain one.

        The asymptotic variance E[ψ²] / E[ψ']² of one over that of the other depends on the shape,
        and a loss that suits one pays where the noise may have another. Over the posterior the
        error is a mixture of Gaussians; what is returned is the variance of the one Gaussian that
        has the mixture's 95% interval.
        """
        # Shapes and scales that have a share worth counting: a tenth of all, as a rule.
        likely = self.posterior >= 1e-3 * self.posterior.max()
        shapes, shifts = likely.any(axis=1), likely.any(axis=0)
        x, mass, score = (table if table.ndim == 1 else table[shapes] for table in _scores())
        # A shape at another scale is the same with ψ at shifted places of the log grid.
        count = len(x) + len(_SHIFTS) - 1
        places = x[0] * np.exp(_STEP * (_SHIFTS[0] + np.arange(count)))
        squares, slopes = [], []
        for criterion in (loss, plain):
            psi = criterion.psi(places * self.sigma) / self.sigma
            windows = np.lib.stride_tricks.sliding_window_view(psi, len(x))[shifts].T
            squares.append(mass @ windows**2)
            slopes.append(np.maximum(score @ windows, 0.0) ** 2)
        above, below = squares[0] * slopes[1], squares[1] * slopes[0]
        # A loss that does not suit a shape at all has no finite variance there; 4 is bad enough.
        most = 4.0
        ratios = np.full(above.shape, most)
        suits = above < most * below
        ratios[suits] = above[suits] / below[suits]
        share = self.posterior[np.ix_(shapes, shifts)]
        # Above 0, also where the plain loss does not suit a shape at all.
        share, roots = share / share.sum(), np.sqrt(np.maximum(ratios, ROUNDING))

        def beyond(limit: float) -> float:
            return 0.025 - float(np.sum(share * ndtr(-limit / roots)))

        widest = -float(ndtri(0.025))
        return (brentq(beyond, 0.0, widest * roots.max(), xtol=1e-4) / widest) ** 2

    def __str__(self) -> str:
        top = list(self.probability.items())[:3]
        return "; ".join(f"{kind}, {p:.0%}" for kind, p in top if p >= 0.005)


def infer(r: Array, a: Array, leverage: Array | float = 0.0, grain: float | None = None) -> Noise:
    """Return what residuals say about the noise.

    Parameters
    ----------
    r : array of shape (n,)
        Residuals.
    a : array of shape (n,)
        How often each row counts.
    leverage : float or array of shape (n,)
        Diagonal of the hat matrix; residuals are enlarged by 1 / √(1 - h).
    grain : float, optional
        The `granularity` of the targets; by default that of the residuals.

    Examples
    --------
    >>> noise = infer(np.random.default_rng(0).uniform(-1, 1, 1000), np.ones(1000))
    >>> print(noise)
    uniform, 100%
    """
    grain = granularity(r, a) if grain is None else grain
    r = (r / np.sqrt(1 - np.clip(leverage, 0.0, 0.99)))[a > 0]
    a = a[a > 0]
    sigma = _unit(r, a, grain)
    posterior = _posterior(_counts(r / sigma, a, grain))
    # As if one row more had been seen, an outlier: what no row has shown is possible all the same.
    n = float(a.sum())
    density = (n * _mean_density(posterior) + np.exp(_outliers(GRID))) / (n + 1)
    kinds: dict[str, float] = {}
    for name, p in zip(_dictionary()[0], posterior.sum(axis=1).tolist(), strict=True):
        kinds[name] = kinds.get(name, 0.0) + p
    kinds = dict(sorted(kinds.items(), key=lambda item: -item[1]))
    return Noise(sigma, grain, kinds, np.log(density), posterior)


def granularity(values: Array, a: Array) -> float:
    """Return the share of the weight that the commonest value has."""
    digit = 1e-9 * quantile(np.abs(values), 0.9, a)  # equal residuals may differ by rounding
    _, which = np.unique(np.rint(values / digit) if digit > 0 else values, return_inverse=True)
    return float(np.bincount(which, weights=a).max() / a.sum())


def _unit(r: Array, a: Array, grain: float) -> float:
    """Return σ from the median of |r| beyond the commonest value; without ties, the MAD.

    It is the quantile of |r| at (1 + p) / 2, p the share of that value, over the normal one.
    """
    level = min((1 + grain) / 2, 1 - 0.5 / float(a.sum()))
    sigma = quantile(np.abs(r), level, a) / float(ndtri((1 + level) / 2))
    return sigma or float(np.sqrt(np.average(r * r, weights=a))) or 1.0


def _counts(x: Array, a: Array, grain: float) -> Array:
    """Return how many rows fall to each point of the `GRID`, blurred by the grain."""
    blur = grain * _BLUR if grain > _STEP else np.zeros(1)  # none that is narrower than a cell
    places = np.clip(np.abs(x[:, None] + blur), GRID[0], _FARTHEST)
    cell = np.rint(np.log(places) / _STEP).astype(np.intp) - _FIRST
    mass = np.repeat(a / len(blur), len(blur))
    return np.bincount(cell.ravel(), mass, len(GRID)).astype(np.float64)


def _posterior(counts: Array) -> Array:
    """Return the probability of each shape at each scale."""
    _, log_density, _, log_prior = _dictionary()
    padded = np.pad(counts, len(_SHIFTS) - 1)
    shifted = np.lib.stride_tricks.sliding_window_view(padded, len(_LOG_X))
    log_joint = log_density @ shifted.T + log_prior[:, None] - counts.sum() * _STEP * _SHIFTS
    joint = np.exp(log_joint - log_joint.max())
    return np.asarray(joint / joint.sum())


def _mean_density(posterior: Array) -> Array:
    """Return the density at the `GRID`, averaged over shapes and scales."""
    by_shift = (posterior * np.exp(-_STEP * _SHIFTS)).T @ _dictionary()[2]
    rows = [row[k : k + len(GRID)] for k, row in enumerate(by_shift[::-1])]
    return np.asarray(np.sum(rows, axis=0))


@cache
def _dictionary() -> tuple[tuple[str, ...], Array, Array, Array]:
    """Return names, log densities and densities of all shapes at exp(`_LOG_X`), and log priors."""
    names, rows, log_prior = [], [], []
    for family in _families():
        for name, shape in family:
            # The median of |x| to be that of N(0, 1).
            distribution = np.cumsum(2 * _STEP * np.exp(_LOG_X + shape(np.exp(_LOG_X))))
            log_unit = np.interp(0.5, distribution, _LOG_X + _STEP / 2) - np.log(ndtri(0.75))
            rows.append(shape(np.exp(_LOG_X + log_unit)) + log_unit)
            names.append(name)
            log_prior.append(-np.log(len(family)))
    log_density = np.maximum(rows, _LEAST_LOG_DENSITY)
    return tuple(names), log_density, np.exp(log_density), np.array(log_prior)


@cache
def _scores() -> tuple[Array, Array, Array]:
    """Return exp(`_LOG_X`), the mass of each shape there, and its mass times the score -f'/f.

    E[ψ'] = E[ψ s] with the score s, by integration by parts: ψ' may have jumps.
    """
    _, log_density, density, _ = _dictionary()
    x = np.exp(_LOG_X)
    mass = 2 * _STEP * density * x
    return x, mass, mass * -np.gradient(log_density, _STEP, axis=1) / x


def _families() -> list[list[tuple[str, Shape]]]:
    """Return name and log density of the shapes: three kinds of core with outliers, Student's t."""
    gaussian = [("Gaussian", _power(2.0))]
    peaked = [(name, _power(p)) for p, name in _PEAKED.items()]
    flat = [(name, _power(p)) for p, name in _FLAT.items()] + [("sine wave", _arcsine)]
    student = [(f"Student's t with {nu:g} degrees of freedom", _student(nu)) for nu in _FREEDOMS]
    families = [
        [_with_outliers(name, core, share) for name, core in cores for share in _SHARES]
        for cores in (gaussian, peaked, flat)
    ]
    return [*families, [("Cauchy", _student(1.0)), *student]]


def _with_outliers(name: str, core: Shape, share: float) -> tuple[str, Shape]:
    """Return a core with a share of outliers, and what to call it."""
    if share == 0:
        return name, core
    few, most = np.log(share), np.log1p(-share)
    label = f"{name} with {share:.0%} outliers"
    return label, lambda x: np.logaddexp(most + core(x), few + _outliers(x))


def _outliers(x: Array) -> Array:
    return np.asarray(_student(2.0)(x / _OUTLIER_SCALE) - np.log(_OUTLIER_SCALE))


def _power(p: float) -> Shape:
    """Return the log density ∝ exp(-|x|^p): Laplace, Gauss, and towards uniform."""
    constant = np.log(p / 2) - gammaln(1 / p)
    return lambda x: np.asarray(constant - np.minimum(x**p, -2 * _LEAST_LOG_DENSITY))


def _student(nu: float) -> Shape:
    """Return the log density of Student's t."""
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
    return lambda x: np.asarray(constant - (nu + 1) / 2 * np.log1p(x * x / nu))


def _arcsine(x: Array, blur: float = 0.05) -> Array:
    """Return the log density of a sine wave's values, its infinite edges blurred."""
    values = np.sin(np.pi * (np.arange(200) + 0.5) / 200 - np.pi / 2)
    z = (np.minimum(x, 1 + 30 * blur)[:, None] - values) / blur
    return np.asarray(np.log(np.exp(-0.5 * z * z).mean(axis=1) / (blur * np.sqrt(2 * np.pi))))
