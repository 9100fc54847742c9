"""The density of the noise: Bayesian model averaging over a dictionary of shapes.

A hundred residuals alone say little about a tail or an edge. With a dictionary of densities they
give a posterior, and with it a mean density, as smooth as the entries and as certain as the rows
allow (Hoeting, Madigan, Raftery and Volinsky 1999).

The likelihood of every shape of `kmpe.choice.dictionary` at every scale is one matrix product, and
the mean density another.

Equal targets (counts, ratings, many zeros) come from rounding and censoring, not from a density
with a spike. If the most frequent value has a share p of the rows, residuals are smoothed by a
Gaussian of standard deviation pσ, and the loss has no detail below pσ. Rounded Gaussian noise has
p = gap φ(0) / σ, so that this is 0.4 gaps; with half of the targets 0 it is half of σ, and without
ties σ / n.
"""

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from kmpe.arrays import ROUNDING, Array
from kmpe.choice.dictionary import (
    FARTHEST,
    FIRST,
    GRID,
    SHIFTS,
    STEP,
    core_densities,
    log_likelihoods,
    outlier_densities,
    shapes,
)
from kmpe.losses import Loss
from kmpe.losses.scale import quantile, scale_beyond_ties
from kmpe.solvers.record import Density

__all__ = ["GRID", "Noise", "granularity", "infer"]

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

    @property
    def density(self) -> Density:
        """The density, as masses at the `GRID`, beyond which there is hardly any."""
        mass = np.exp(self.log_density) * GRID
        return Density(self.sigma, GRID * self.sigma, mass / mass.sum())

    def variance_ratio(self, loss: Loss, plain: Loss) -> float:
        """Return the variance of a fit with a loss over that with a plain loss.

        It is the ratio of the asymptotic variances E[ψ²] / E[ψ']² under the mean density f, with
        E[ψ'] = -E[ψ f'/f], by integration by parts, as ψ' may have jumps. It is above 0, also where
        the plain loss does not suit the noise at all.
        """
        mass, score = np.exp(self.log_density) * GRID, -np.gradient(self.log_density, STEP) / GRID
        psi = np.array([each.psi(GRID * self.sigma) / self.sigma for each in (loss, plain)])
        square, slope = psi**2 @ mass, np.maximum(psi @ (mass * score), 0.0)
        above, below = square[0] * slope[1] ** 2, square[1] * slope[0] ** 2
        return max(float(above / below), ROUNDING) if below > 0 else ROUNDING

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
    density = (n * _mean_density(posterior) + outlier_densities(GRID)[0]) / (n + 1)
    kinds: dict[str, float] = {}
    for name, p in zip(shapes().names, posterior.sum(axis=1).tolist(), strict=True):
        kinds[name] = kinds.get(name, 0.0) + p
    kinds = dict(sorted(kinds.items(), key=lambda item: -item[1]))
    return Noise(sigma, grain, kinds, np.log(density))


def granularity(values: Array, a: Array) -> float:
    """Return the share of the weight of the most frequent value."""
    digit = 1e-9 * quantile(np.abs(values), 0.9, a)  # equal residuals may differ by rounding
    _, which = np.unique(np.rint(values / digit) if digit > 0 else values, return_inverse=True)
    return float(np.bincount(which, weights=a).max() / a.sum())


def _unit(r: Array, a: Array, grain: float) -> float:
    """Return σ from the median of |r| beyond the most frequent value; without ties, the MAD."""
    sigma = scale_beyond_ties(r, a, grain, 0.5)
    return sigma or float(np.sqrt(np.average(r * r, weights=a))) or 1.0


def _counts(x: Array, a: Array, grain: float) -> Array:
    """Return how many rows fall to each point of the `GRID`, blurred by the grain."""
    blur = grain * _BLUR if grain > STEP else np.zeros(1)  # none that is narrower than a cell
    places = np.clip(np.abs(x[:, None] + blur), GRID[0], FARTHEST)
    cell = np.rint(np.log(places) / STEP).astype(np.intp) - FIRST
    mass = np.repeat(a / len(blur), len(blur))
    return np.bincount(cell.ravel(), mass, len(GRID)).astype(np.float64)


def _posterior(counts: Array) -> Array:
    """Return the probability of each shape at each scale."""
    cells = np.flatnonzero(counts)
    log_joint = (counts[cells] @ log_likelihoods()[cells]).reshape(-1, len(SHIFTS))
    log_joint += shapes().log_prior[:, None]
    joint = np.exp(log_joint - log_joint.max())
    return np.asarray(joint / joint.sum())


def _mean_density(posterior: Array) -> Array:
    """Return the density at the `GRID`, averaged over shapes and scales."""
    _, core, outliers, _ = shapes()
    by_shift = (core.T @ posterior * np.exp(-STEP * SHIFTS)).T @ core_densities()
    cores = [row[k : k + len(GRID)] for k, row in enumerate(by_shift[::-1])]
    far = posterior.sum(axis=1) @ outliers @ outlier_densities(GRID)
    return np.asarray(np.sum(cores, axis=0) + far)
