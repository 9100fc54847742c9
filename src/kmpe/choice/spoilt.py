"""Which errors are those of spoilt rows: a mixture of two Student's t distributions.

Errors of good rows follow Student's t about 0, those of a share ε of spoilt rows another one, of a
larger scale τ (Peel and McLachlan 2000),

    (1 - ε) t(e; 0, s hᵢ, ν) + ε t(e; μ, τ hᵢ, ν'),

where hᵢ is the local spread of row i, if it is known. So rows that are hard to predict (a large hᵢ,
or a small ν) are told from outliers that are far away (a large τ). Outliers lie on both sides, as a
Gaussian (μ = 0, infinite ν'), and then the larger hᵢ, the farther: where rows are hard to predict,
an error is doubted less. Or they lie on one side, |μ| at least 2 τ, at the same place for every row
(no hᵢ, and ν' = ν, as rows between the good ones and the outliers are outliers, too). τ is at least
5 s, the distance of gross outliers (`FAR_OUT`), so that two components never share one heavy tail.

The parameters are those of the largest likelihood, by expectation maximisation, and BIC (Schwarz
1978) chooses between them and Student's t alone. The weight of a row is its posterior probability
of being good.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import gammaln

from kmpe.arrays import Array, Mask
from kmpe.losses.scale import FAR_OUT, centred_scale

__all__ = ["Judged", "judged"]

# The same as of `kmpe.choice.believable`: neighbours differ by less than a few hundred rows tell.
_FREEDOMS = (np.inf, 20.0, 10.0, 6.0, 4.0, 3.0, 2.0)
# Steps end when the mean log likelihood gains less: BIC compares sums that differ by log n.
_ENOUGH = 1e-5
# The half of least variance has the scale 1, so that Student's t has at least 0.5. If most rows
# were predicted exactly, it would be 0.
_LEAST = 0.1
# Spoilt rows are on one side if their centre is two scales from 0: of a Gaussian 2.3% are beyond.
_ASIDE = 2.0
# Squares are finite.
_FARTHEST = 1e50


class _Student(NamedTuple):
    """Student's t; with infinite degrees of freedom a Gaussian."""

    centre: float
    scale: float
    freedom: float

    def log_density(self, z: Array) -> Array:
        nu, t = self.freedom, self._squares(z)
        if nu == np.inf:
            return np.asarray(-0.5 * t - np.log(self.scale * np.sqrt(2 * np.pi)))
        half = (nu + 1) / 2
        unit = gammaln(half) - gammaln(nu / 2) - np.log(self.scale * np.sqrt(nu * np.pi))
        return np.asarray(unit - half * np.log1p(t / nu))

    def step(self, z: Array, mass: Array, *, centred: bool) -> Self:
        """Return the next step to the maximum of the likelihood of rows with these masses."""
        nu = self.freedom
        u = mass if nu == np.inf else mass * (nu + 1) / (nu + self._squares(z))
        centre = self.centre if centred else float(u @ z / u.sum())
        scale = np.sqrt(float(u @ (z - centre) ** 2 / mass.sum()))
        return self._replace(centre=centre, scale=max(float(scale), _LEAST))

    def _squares(self, z: Array) -> Array:
        return np.asarray(((z - self.centre) / self.scale) ** 2)


class _Errors(NamedTuple):
    """Errors in units of their spread, and of a typical spread; logarithms of spreads; weights."""

    u: Array
    z: Array
    log_h: Array
    a: Array

    @property
    def far(self) -> Mask:
        return np.asarray(np.abs(self.u) > FAR_OUT)


class Judged(NamedTuple):
    """What errors tell: the probability of each row to be good, the log density of each error."""

    good: Array
    log_density: Array
    #: The log likelihood by BIC.
    evidence: float


def judged(e: Array, a: Array, spread: Array | None = None, *, unbiased: bool = False) -> Judged:
    """Return for each error the probability that its row is good.

    Parameters
    ----------
    e : array of shape (n,)
        Errors of predictions for rows that were not fitted.
    a : array of shape (n,)
        Sample weights, as numbers of repeats.
    spread : array of shape (n,), optional
        The spread of the errors of good rows, up to a factor; by default all rows have the same.
    unbiased : bool
        Whether good rows have the error 0 on average; otherwise their centre is that of the half of
        the rows with the least variance.

    Examples
    --------
    >>> e = np.random.default_rng(0).standard_t(3, size=200)
    >>> e[:40] += 100
    >>> good = judged(e, np.ones(200)).good
    >>> float(good[:40].max().round(2)), float(good[40:].min().round(2))
    (0.0, 1.0)
    """
    log_h = np.zeros(len(e)) if spread is None else np.log(spread)
    log_h = log_h - np.average(log_h, weights=a)
    h = np.exp(log_h)
    centre, scale = centred_scale(e / h, a)
    centre = 0.0 if unbiased else centre
    u, z = ((x - centre) / scale for x in (e / h, e))
    errors = _Errors(np.clip(u, -_FARTHEST, _FARTHEST), np.clip(z, -_FARTHEST, _FARTHEST), log_h, a)
    parameter, best = 0.5 * np.log(a.sum()), Judged(np.ones(len(e)), u, -np.inf)
    for freedom in _FREEDOMS:
        core = _Student(0.0, 1.0, freedom)
        heavy = parameter * (freedom < np.inf)
        fits = [_alone(core, errors)]
        if errors.far[a > 0].any():
            for one_sided in (False, True):
                fit = _mixed(core, one_sided, errors)
                fits.append(fit._replace(evidence=fit.evidence - (2 + one_sided) * parameter))
        for fit in fits:
            if fit.evidence - heavy > best.evidence:
                best = fit._replace(evidence=fit.evidence - heavy)
    unit = float(np.log(scale))
    return Judged(best.good, best.log_density - unit, best.evidence - float(a.sum()) * unit)


def _alone(core: _Student, errors: _Errors) -> Judged:
    """Return the fit of the largest likelihood without spoilt rows."""
    u, _, log_h, a = errors
    before, now = -np.inf, -np.inf
    while now - before > _ENOUGH * a.sum() or now == -np.inf:
        core = core.step(u, a, centred=True)
        density = core.log_density(u) - log_h
        before, now = now, float(a @ density)
    return Judged(np.ones(len(u)), density, now)


def _mixed(core: _Student, one_sided: bool, errors: _Errors) -> Judged:
    """Return the fit of the largest likelihood with spoilt rows.

    Gross outliers are the spoilt rows of the start. Those on one side have the likelihood 0 if they
    end up on both.
    """
    u, z, log_h, a = errors
    bad = np.where(errors.far, 0.99, 0.01)
    v, log_v = (z, 0.0) if one_sided else (u, log_h)
    other = _Student(0.0, 1.0, np.inf).step(v, a * bad, centred=not one_sided)
    other = other._replace(freedom=core.freedom if one_sided else np.inf)
    before, now = -np.inf, -np.inf
    while now - before > _ENOUGH * a.sum() or now == -np.inf:
        share = float(np.average(bad, weights=a))
        if share * a.sum() < 1:
            return Judged(1 - bad, u, -np.inf)
        other = other.step(v, a * bad, centred=not one_sided)
        core = core.step(u, a * (1 - bad), centred=True)
        other = other._replace(scale=max(other.scale, FAR_OUT * core.scale))
        inner = np.log1p(-share) + core.log_density(u) - log_h
        outer = np.log(share) + other.log_density(v) - log_v
        both = np.logaddexp(inner, outer)
        bad = np.exp(outer - both)
        before, now = now, float(a @ both)
    if one_sided and abs(other.centre) < _ASIDE * other.scale:
        now = -np.inf
    return Judged(1 - bad, both, now)
