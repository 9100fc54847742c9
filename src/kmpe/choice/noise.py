"""The density of the noise: Bayesian model averaging over a dictionary of shapes.

A hundred residuals alone say little about a tail or an edge. With a dictionary of densities they
give a posterior, and with it a mean density, as smooth as the entries and as certain as the rows
allow (Hoeting, Madigan, Raftery and Volinsky 1999).

A shape is a core f with a share ε of outliers, (1 - ε) f(x / s) / s + ε g(x), Huber's (1964) model
of gross errors. The scale s of the core is unknown; g has one of two spreads in units of the MAD
of the residuals. In units of s, rows far out would say that s is large.

Densities are tabulated against log |r|, in which a change of scale is a shift: the likelihood of
every shape at every scale is one matrix product, and the mean density another. The prior is flat
over the four families of cores, over the shapes of a family, and over the scales.

Equal targets (counts, ratings, many zeros) come from rounding and censoring, not from a density
with a spike. If the most frequent value has a share p of the rows, residuals are smoothed by a
Gaussian of standard deviation pσ, and the loss has no detail below pσ. Rounded Gaussian noise has
p = gap φ(0) / σ, so that this is 0.4 gaps; with half of the targets 0 it is half of σ, and without
ties σ / n.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from kmpe.arrays import ROUNDING, Array
from kmpe.losses import Loss
from kmpe.losses.scale import quantile

__all__ = ["GRID", "Noise", "granularity", "infer"]

Shape = Callable[[Array], Array]

# The standard error of the log scale of 800 Gaussian rows, √(1 / 2n).
_STEP = 0.025
_FIRST, _LAST = -280, 375
#: The values of |r| / σ at which densities are tabulated: 0.001 to 11 500, 2.5% apart.
GRID = np.exp(_STEP * np.arange(_FIRST, _LAST))
# Scales from 0.55 to 1.8 MAD: for 30 rows the log of the MAD has a standard error of 0.2 to 0.26.
_SHIFTS = np.arange(-24, 25)
_LOG_X = _STEP * np.arange(_FIRST - 24, _LAST + 24)
# The dictionary: corners of Huber's densities, powers, degrees of freedom, shares of outliers, and
# the scales of their density (Student's t2) in units of the MAD. The mean squared error of the
# slopes over ten noises with 100 and 300 rows changes by less than 1% when shares, corners or
# degrees of freedom are halved or doubled; halved spreads have 0.96 (uniform noise with outliers
# near by 0.62, far outliers 1.03), doubled ones 1.02 (1.35)
# (`python benchmarks/noise_study.py --constants --draws 60 --sizes 100 300 --first-seed 230000`).
_CORNERS = (0.75, 1.5)
_FLAT = dict.fromkeys((2.5, 3.5, 6.0), "between Gaussian and uniform")
_FLAT |= dict.fromkeys((12.0, 30.0), "uniform")
_FREEDOMS = (1.5, 2.0, 3.0, 5.0, 9.0)
_SHARES = (0.03, 0.1, 0.25)
_SPREADS = (5.0, 20.0)
# The distance of an outlier is not informative of the core: residuals are Winsorised here.
_FARTHEST = 30.0
_NEAR = round(np.log(_FARTHEST) / _STEP) - _FIRST
_BLUR = ndtri((np.arange(9) + 0.5) / 9)


@dataclass(frozen=True, eq=False)
class Noise:
    """The noise, estimated from residuals."""

    #: The unit: the MAD of the residuals, or its replacement if targets are tied.
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
        """Return the variance of a fit with a loss over that with a plain loss.

        The ratio of the asymptotic variances E[ψ²] / E[ψ']² depends on the shape of the noise. Over
        the posterior the error is a mixture of Gaussians; the variance returned is that of the
        Gaussian with the same 95% interval.
        """
        # Only shapes and scales of non-negligible probability, typically a tenth of all.
        likely = self.posterior >= 1e-3 * self.posterior.max()
        shapes, shifts = likely.any(axis=1), likely.any(axis=0)
        mix = _shapes()[1][shapes]
        mass, score = (table[:, shifts] for table in _masses())
        squares, slopes = [], []
        for criterion in (loss, plain):
            psi = criterion.psi(GRID * self.sigma) / self.sigma
            squares.append(mix @ (mass @ psi**2))
            slopes.append(np.maximum(mix @ (score @ psi), 0.0) ** 2)
        above, below = squares[0] * slopes[1], squares[1] * slopes[0]
        # A loss may have infinite variance under a shape; the ratio is bounded by 4.
        most = 4.0
        ratios = np.full(above.shape, most)
        suits = above < most * below
        ratios[suits] = above[suits] / below[suits]
        belief = self.posterior[np.ix_(shapes, shifts)]
        # Above 0, also if the plain loss has infinite variance under a shape.
        belief, roots = belief / belief.sum(), np.sqrt(np.maximum(ratios, ROUNDING))

        def beyond(limit: float) -> float:
            return 0.025 - float(np.sum(belief * ndtr(-limit / roots)))

        widest = -float(ndtri(0.025))
        return (brentq(beyond, 0.0, widest * roots.max(), xtol=1e-4) / widest) ** 2

    def __str__(self) -> str:
        top = list(self.probability.items())[:3]
        return "; ".join(f"{kind}, {p:.0%}" for kind, p in top if p >= 0.005)


def infer(r: Array, a: Array, leverage: Array | float = 0.0, grain: float | None = None) -> Noise:
    """Return the noise, estimated from residuals.

    Parameters
    ----------
    r : array of shape (n,)
        Residuals.
    a : array of shape (n,)
        Sample weights, as numbers of repeats.
    leverage : float or array of shape (n,)
        Leverages; residuals are divided by √(1 - h).
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
    # One outlier is added to the rows (a pseudo-count), as outliers are always possible.
    n = float(a.sum())
    density = (n * _mean_density(posterior) + _components()[-len(_SPREADS), 0]) / (n + 1)
    kinds: dict[str, float] = {}
    for name, p in zip(_shapes()[0], posterior.sum(axis=1).tolist(), strict=True):
        kinds[name] = kinds.get(name, 0.0) + p
    kinds = dict(sorted(kinds.items(), key=lambda item: -item[1]))
    return Noise(sigma, grain, kinds, np.log(density), posterior)


def granularity(values: Array, a: Array) -> float:
    """Return the share of the weight of the most frequent value."""
    digit = 1e-9 * quantile(np.abs(values), 0.9, a)  # equal residuals may differ by rounding
    _, which = np.unique(np.rint(values / digit) if digit > 0 else values, return_inverse=True)
    return float(np.bincount(which, weights=a).max() / a.sum())


def _unit(r: Array, a: Array, grain: float) -> float:
    """Return σ from the median of |r| beyond the most frequent value; without ties, the MAD.

    It is the quantile of |r| at (1 + p) / 2, p the share of that value, over the normal one.
    """
    level = min((1 + grain) / 2, 1 - 0.5 / float(a.sum()))
    sigma = quantile(np.abs(r), level, a) / float(ndtri((1 + level) / 2))
    return sigma or float(np.sqrt(np.average(r * r, weights=a))) or 1.0


def _counts(x: Array, a: Array, grain: float) -> Array:
    """Return the number of rows at each point of the `GRID`, smoothed by the grain."""
    blur = grain * _BLUR if grain > _STEP else np.zeros(1)  # not if it is narrower than a cell
    places = np.clip(np.abs(x[:, None] + blur), GRID[0], _FARTHEST)
    cell = np.rint(np.log(places) / _STEP).astype(np.intp) - _FIRST
    mass = np.repeat(a / len(blur), len(blur))
    return np.bincount(cell.ravel(), mass, len(GRID)).astype(np.float64)


def _posterior(counts: Array) -> Array:
    """Return the probability of each shape at each scale."""
    log_joint = _log_likelihoods() @ counts[: _NEAR + 1] + _shapes()[2][:, None]
    joint = np.exp(log_joint - log_joint.max())
    return np.asarray(joint / joint.sum())


def _mean_density(posterior: Array) -> Array:
    """Return the density at the `GRID`, averaged over shapes and scales."""
    share = _shapes()[1].T @ posterior
    counts = share > ROUNDING
    return np.asarray(share[counts] @ _components()[counts])


@cache
def _shapes() -> tuple[tuple[str, ...], Array, Array]:
    """Return names of the shapes, the share of each component in them, and their log priors."""
    families = _families()
    count = sum(len(cores) for cores, _ in families)
    pure, spreads = np.eye(count + len(_SPREADS))[:count], np.eye(count + len(_SPREADS))[count:]
    names, mixtures, log_prior = [], [], []
    first = 0
    for cores, shares in families:
        outliers = [(0.0, spreads[0])] + [(share, g) for share in shares for g in spreads]
        for number, (name, _) in enumerate(cores, first):
            for share, g in outliers:
                names.append(f"{name} with {share:.0%} outliers" if share else name)
                mixtures.append((1 - share) * pure[number] + share * g)
                log_prior.append(-np.log(len(cores) * len(outliers)))
        first += len(cores)
    return tuple(names), np.array(mixtures), np.array(log_prior)


@cache
def _components() -> Array:
    """Return densities at each scale and each point of the `GRID`: cores, then outliers.

    Cores have the median of |x| of N(0, 1) at scale 1; the scale of outliers is fixed.
    """
    x = np.exp(_LOG_X)
    tables = []
    for _, core in (entry for cores, _ in _families() for entry in cores):
        distribution = np.cumsum(np.exp(core(x)) * x)
        median = np.interp(0.5 * distribution[-1], distribution, _LOG_X + _STEP / 2)
        density = np.exp(core(x * np.exp(median) / ndtri(0.75)))
        density /= 2 * _STEP * (density @ x)
        windows = np.lib.stride_tricks.sliding_window_view(density, len(GRID))[::-1]
        tables.append(windows * np.exp(-_STEP * _SHIFTS)[:, None])
    for spread in _SPREADS:
        density = np.exp(_student(2.0)(GRID / spread))
        tables.append(np.tile(density / (2 * _STEP * (density @ GRID)), (len(_SHIFTS), 1)))
    return np.array(tables)


@cache
def _log_likelihoods() -> Array:
    """Return the log density of each shape at each scale, at the `GRID` up to the farthest."""
    density = np.tensordot(_shapes()[1], _components()[:, :, : _NEAR + 1], 1)
    return np.log(np.maximum(density, np.finfo(np.float64).tiny))


@cache
def _masses() -> tuple[Array, Array]:
    """Return the mass of each component at each scale on the `GRID`, and its mass times -f'/f.

    E[ψ'] = E[ψ s] with the score s = -f'/f, by integration by parts: ψ' may have jumps.
    """
    density = _components()
    return 2 * _STEP * density * GRID, -2 * np.gradient(density, axis=2)


def _families() -> list[tuple[list[tuple[str, Shape]], tuple[float, ...]]]:
    """Return families of cores with the shares of outliers: Gaussian, peaked, flat, heavy-tailed.

    Student's t has outliers of its own.
    """
    between = "between Laplace and Gaussian"
    gaussian = [("Gaussian", _power(2.0))]
    peaked = [("Laplace", _power(1.0)), *((between, _least_favourable(k)) for k in _CORNERS)]
    flat = [(name, _power(p)) for p, name in _FLAT.items()] + [("sine wave", _arcsine)]
    student = [(f"Student's t with {nu:g} degrees of freedom", _student(nu)) for nu in _FREEDOMS]
    heavy = [("Cauchy", _student(1.0)), *student]
    return [(gaussian, _SHARES), (peaked, _SHARES), (flat, _SHARES), (heavy, ())]


def _power(p: float) -> Shape:
    """Return -|x|^p, the log density up to a constant: Laplace, Gauss, and towards uniform."""
    return lambda x: np.asarray(-(x**p))


def _least_favourable(k: float) -> Shape:
    """Return Huber's (1964) least favourable log density: Gaussian up to k, Laplace beyond."""
    return lambda x: np.where(x < k, -x * x / 2, k * k / 2 - k * x)


def _student(nu: float) -> Shape:
    """Return the log density of Student's t up to a constant."""
    return lambda x: np.asarray(-(nu + 1) / 2 * np.log1p(x * x / nu))


def _arcsine(x: Array, blur: float = 0.05) -> Array:
    """Return the log density of the values of a sine wave, with its infinite edges smoothed."""
    values = np.sin(np.pi * (np.arange(200) + 0.5) / 200 - np.pi / 2)
    z = (np.minimum(x, 1 + 30 * blur)[:, None] - values) / blur
    return np.asarray(np.log(np.exp(-0.5 * z * z).mean(axis=1)))
