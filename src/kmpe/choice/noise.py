"""What the noise looks like, from few residuals.

A hundred residuals say little about a tail or an edge by themselves. Here they are weighed
against a dictionary of shapes, and the mean density under the posterior is returned: as smooth as
its entries, and as sure as the rows allow.
"""

from functools import cache
from itertools import product

import numpy as np
from scipy.special import gammaincinv, gammaln, logsumexp, stdtrit

from kmpe.arrays import Array

__all__ = ["GRID", "log_evidence", "posterior_mass"]

#: Where densities are tabulated: absolute residuals in units of the MAD, 0.02 apart near 1.
GRID = np.sinh((np.arange(512) + 0.5) * (np.arcsinh(300.0) / 512))
_WIDTHS = np.diff(np.sinh(np.arange(513) * (np.arcsinh(300.0) / 512)))
# The MAD of 100 rows is off by a tenth or so; ±0.45 covers three times as much.
_SCALES = np.exp(np.linspace(-0.45, 0.45, 11))
_POWERS = (1.0, 1.3, 1.6, 2.0, 2.5, 3.5, 6.0, 12.0, 30.0)
_FREEDOMS = (1.0, 1.5, 2.0, 3.0, 5.0, 9.0)
_OUTLIER_SHARES = (0.0, 0.03, 0.1, 0.25)
_OUTLIER_SCALE = 5.0
# The normal quantile that makes the MAD of each shape 1.
_QUARTILE = 0.6744897501960817
# Noise is Gaussian, outliers aside, more often than any other shape, and peaked more often than it
# has an edge. Set on 800 draws of 8 noises at n = 100; docs/noise.md has what they lead to.
_GAUSSIAN = 12.0
_GAUSSIAN_WITH_OUTLIERS = 18.0
_PEAKED = 2.0
# An outlier unlike any entry says no more against one entry than against another.
_LEAST_LOG_DENSITY = -50.0


def posterior_mass(r: Array, a: Array) -> Array:
    """Return the noise's probability at each point of `GRID`, averaged over the dictionary.

    Parameters
    ----------
    r : array of shape (n,)
        Absolute residuals in units of their MAD.
    a : array of shape (n,)
        How often each counts.
    """
    log_joint = _log_joint(r, a)
    mean = np.exp(log_joint - log_joint.max()) @ _dictionary()[1]
    return np.asarray(mean / mean.sum())


def log_evidence(r: Array, a: Array) -> float:
    """Return the logarithm of the density of residuals, as above, averaged over the dictionary.

    Up to a constant. Residuals of several fits are compared in one and the same unit.
    """
    return float(logsumexp(_log_joint(r, a)))


def _log_joint(r: Array, a: Array) -> Array:
    """Return log prior plus log density of the residuals, for every entry of the dictionary."""
    log_density, _, log_prior = _dictionary()
    counts = np.bincount(np.searchsorted(GRID[:-1], r), weights=a, minlength=len(GRID))
    return np.asarray(log_density @ counts + log_prior)


@cache
def _dictionary() -> tuple[Array, Array, Array]:
    """Return log density and mass of every shape at every scale on the grid, and log priors."""
    wide = _student(GRID / _OUTLIER_SCALE, 2.0) - np.log(_OUTLIER_SCALE)
    rows, prior = [], []
    for scale in _SCALES:
        x = GRID / scale
        cores = [_power(x, p) for p in _POWERS] + [_arcsine(x)]
        for core, share in product(cores, _OUTLIER_SHARES):
            clean = core - np.log(scale)
            with np.errstate(divide="ignore"):
                rows.append(np.logaddexp(np.log1p(-share) + clean, np.log(share) + wide))
        prior += [_count(p, share) for p, share in product((*_POWERS, np.inf), _OUTLIER_SHARES)]
        prior += [1.0] * len(_FREEDOMS)
        rows += [_student(x, nu) - np.log(scale) for nu in _FREEDOMS]
    log_density = np.array(rows)
    mass = 2 * np.exp(log_density) * _WIDTHS
    return np.maximum(log_density, _LEAST_LOG_DENSITY), mass, np.log(prior)


def _count(p: float, share: float) -> float:
    """Return how often a core of the power p with a share of outliers is met."""
    if p == 2:
        return _GAUSSIAN if share == 0 else _GAUSSIAN_WITH_OUTLIERS
    return _PEAKED if p < 2 else 1.0


def _power(x: Array, p: float) -> Array:
    """Return the log density ∝ exp(-|x|^p): Laplace, Gauss, and towards uniform."""
    unit = float(gammaincinv(1 / p, 0.5)) ** (1 / p) / _QUARTILE
    return np.asarray(np.log(p / 2 * unit) - gammaln(1 / p) - (x * unit) ** p)


def _student(x: Array, nu: float) -> Array:
    """Return the log density of Student's t."""
    unit = float(stdtrit(nu, 0.75)) / _QUARTILE
    constant = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi) + np.log(unit)
    return np.asarray(constant - (nu + 1) / 2 * np.log1p((x * unit) ** 2 / nu))


def _arcsine(x: Array, blur: float = 0.05) -> Array:
    """Return the log density of a sine wave's values, its infinite edges blurred."""
    unit = np.sin(np.pi / 4) / _QUARTILE
    values = np.sin(np.pi * (np.arange(400) + 0.5) / 400 - np.pi / 2)
    kernels = np.exp(-0.5 * ((x[:, None] * unit - values) / blur) ** 2)
    density = kernels.mean(axis=1) * unit / (blur * np.sqrt(2 * np.pi))
    return np.asarray(np.log(np.maximum(density, np.exp(2 * _LEAST_LOG_DENSITY))))
