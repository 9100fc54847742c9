"""A dictionary of noise shapes, tabulated.

A shape is a core f with a share ε of outliers, (1 - ε) f(x / s) / s + ε g(x), Huber's (1964) model
of gross errors. The scale s of the core is unknown; g has one of three spreads in units of the MAD
of the residuals. In units of s, rows far out would say that s is large. All shapes are symmetric,
so that slopes are consistent however the spread of the noise depends on the inputs.

Densities are tabulated against log |x|, in which a change of scale is a shift. The prior of the
Gaussian family is a half, as many small errors add up to a Gaussian one (flat, it costs 2% more on
100 rows of it). It is flat over the three other families, the shapes of a family, and the scales.
"""

from collections.abc import Callable
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from kmpe.arrays import Array

__all__ = [
    "FARTHEST",
    "FIRST",
    "GRID",
    "SHIFTS",
    "STEP",
    "Shapes",
    "core_densities",
    "log_likelihoods",
    "outlier_densities",
    "shapes",
]

LogDensity = Callable[[Array], Array]

#: The step of log |x|: the standard error of the log scale of 800 Gaussian rows, √(1 / 2n).
STEP = 0.025
FIRST, _LAST = -280, 375
#: Where densities are tabulated: |x| from 0.001 to 11 500 MAD, 2.5% apart.
GRID = np.exp(STEP * np.arange(FIRST, _LAST))
#: Scales from 0.55 to 1.8 MAD: for 30 rows the log of the MAD has a standard error of 0.2 to 0.26.
SHIFTS = np.arange(-24, 25)
_LOG_X = STEP * np.arange(FIRST + SHIFTS[0], _LAST + SHIFTS[-1])
# Corners of Huber's densities, powers, degrees of freedom, shares of outliers, and the scales of
# their density in units of the MAD. What halving and doubling them does to the error of the slopes
# is printed by `python benchmarks/noise_study.py --constants --draws 60 --sizes 100 300
# --first-seed 230000`: on average over the noises at most 1%, but 0.97 of it with half spreads
# (beside a uniform core 0.71) and 1.02 with double ones.
_CORNERS = (0.75, 1.5)
_FLAT = dict.fromkeys((2.5, 3.5, 6.0), "between Gaussian and uniform")
_FLAT |= dict.fromkeys((12.0, 30.0), "uniform")
_FREEDOMS = (1.5, 2.0, 3.0, 5.0, 9.0)
_SHARES = (0.03, 0.1, 0.25)
_SPREADS = (2.5, 5.0, 20.0)
#: The distance of an outlier is not informative of the core: residuals are Winsorised here.
FARTHEST = 30.0
_NEAR = round(np.log(FARTHEST) / STEP) - FIRST + 1


class Shapes(NamedTuple):
    """Names of shapes, shares of each core and each density of outliers in them, log priors."""

    names: tuple[str, ...]
    core: Array
    outliers: Array
    log_prior: Array


@cache
def shapes() -> Shapes:
    """Return the dictionary."""
    families, spreads = _families(), np.array(_SPREADS)
    pure = np.eye(sum(len(cores) for cores, _ in families))
    names, core, outliers, log_prior = [], [], [], []
    first = 0
    for cores, contaminations in families:
        mixtures = [(0.0, spreads[0]), *contaminations]
        for number, (name, _) in enumerate(cores, first):
            for share, spread in mixtures:
                names.append(f"{name} with {share:.0%} outliers" if share else name)
                core.append((1 - share) * pure[number])
                outliers.append(share * (spreads == spread))
                log_prior.append(-np.log(len(cores) * len(mixtures) * (3 if first else 1)))
        first += len(cores)
    return Shapes(tuple(names), np.array(core), np.array(outliers), np.array(log_prior))


@cache
def core_densities() -> Array:
    """Return densities of the cores from GRID[0] / 1.8 on, the median of |x| that of N(0, 1)."""
    x = np.exp(_LOG_X)
    rows = []
    for _, core in (entry for cores, _ in _families() for entry in cores):
        distribution = np.cumsum(np.exp(core(x)) * x)
        median = np.interp(0.5 * distribution[-1], distribution, _LOG_X + STEP / 2)
        density = np.exp(core(x * np.exp(median) / ndtri(0.75)))
        rows.append(density / (2 * STEP * (density @ x)))
    return np.array(rows)


def outlier_densities(x: Array) -> Array:
    """Return the densities of outliers, Student's t with 2 degrees of freedom, by spread."""
    spread = np.array(_SPREADS)[:, None]
    return np.asarray((2 + (x / spread) ** 2) ** -1.5 / spread)


@cache
def log_likelihoods() -> Array:
    """Return log densities at the `GRID` up to the farthest, by shape and scale in one axis."""
    _, core, outliers, _ = shapes()
    windows = np.lib.stride_tricks.sliding_window_view(core_densities(), len(GRID), axis=1)
    at_scale = windows[:, ::-1, :_NEAR] * np.exp(-STEP * SHIFTS)[:, None]
    density = np.tensordot(core, at_scale, 1)
    density += (outliers @ outlier_densities(GRID[:_NEAR]))[:, None]
    log_density = np.log(np.maximum(density, np.finfo(np.float64).tiny))
    return np.ascontiguousarray(log_density.reshape(-1, _NEAR).T)


def _families() -> list[tuple[list[tuple[str, LogDensity]], list[tuple[float, float]]]]:
    """Return families of cores: Gaussian, peaked, flat, heavy-tailed.

    Each has shares and spreads of outliers beside it. Student's t has outliers of its own. Outliers
    near a flat core would let it end at the steep side of skewed noise, whose slopes are not those
    of the middle if the spread grows with the inputs: 95% intervals of 1000 rows would cover 52%
    (`python benchmarks/coverage.py --noises "exponential, 3% wider"`).
    """
    between = "between Laplace and Gaussian"
    gaussian = [("Gaussian", _power(2.0))]
    peaked = [("Laplace", _power(1.0)), *((between, _least_favourable(k)) for k in _CORNERS)]
    flat = [(name, _power(p)) for p, name in _FLAT.items()] + [("sine wave", _arcsine)]
    student = [(f"Student's t with {nu:g} degrees of freedom", _student(nu)) for nu in _FREEDOMS]
    heavy = [("Cauchy", _student(1.0)), *student]
    outliers, far = (list(product(_SHARES, spreads)) for spreads in (_SPREADS, _SPREADS[1:]))
    return [(gaussian, outliers), (peaked, outliers), (flat, far), (heavy, [])]


def _power(p: float) -> LogDensity:
    """Return -|x|^p: Laplace, Gauss, and towards uniform."""
    return lambda x: np.asarray(-(x**p))


def _least_favourable(k: float) -> LogDensity:
    """Return Huber's (1964) least favourable log density: Gaussian up to k, Laplace beyond."""
    return lambda x: np.where(x < k, -x * x / 2, k * k / 2 - k * x)


def _student(nu: float) -> LogDensity:
    """Return the log density of Student's t up to a constant."""
    return lambda x: np.asarray(-(nu + 1) / 2 * np.log1p(x * x / nu))


def _arcsine(x: Array, blur: float = 0.05) -> Array:
    """Return the log density of a sine wave's values, its infinite edges blurred."""
    values = np.sin(np.pi * (np.arange(200) + 0.5) / 200 - np.pi / 2)
    z = (np.minimum(x, 1 + 30 * blur)[:, None] - values) / blur
    return np.asarray(np.log(np.exp(-0.5 * z * z).mean(axis=1)))
