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

Costs, counts and durations have a long tail on one side, which is no outlier either. So the scale
of good rows may differ between the two sides of their mode (two-piece distributions: Fernández and
Steel 1998).

The parameters are those of the largest likelihood, by expectation maximisation, and BIC (Schwarz
1978) chooses between these distributions. The weight of a row is its posterior probability of being
good.

Equal targets, such as many zeros, are censored or rounded, and not known more exactly than others:
as in `kmpe.choice.noise`, if the most frequent target has a share p of the rows, the scale is that
of rows beyond it, and good rows have at least p of it.
"""

from typing import NamedTuple, Self

import numpy as np
from scipy.special import betaln, gammaln

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
    """Student's t with a scale for each side; with infinite degrees of freedom a Gaussian."""

    mode: float
    left: float
    right: float
    freedom: float

    @property
    def wider(self) -> float:
        return max(self.left, self.right)

    def log_density(self, z: Array) -> Array:
        nu, t = self.freedom, self._squares(z)
        scale = (self.left + self.right) / 2
        if nu == np.inf:
            return np.asarray(-0.5 * t - np.log(scale * np.sqrt(2 * np.pi)))
        half = (nu + 1) / 2
        unit = gammaln(half) - gammaln(nu / 2) - np.log(scale * np.sqrt(nu * np.pi))
        return np.asarray(unit - half * np.log1p(t / nu))

    def even_step(self, z: Array, mass: Array, *, centred: bool) -> Self:
        """Return the next step to the maximum of the likelihood of rows with these masses."""
        u = self._counted(z, mass)
        centre = self.mode if centred else float(u @ z / u.sum())
        scale = float(np.sqrt(u @ (z - centre) ** 2 / mass.sum()))
        return self._replace(mode=centre, left=scale, right=scale)

    def skewed_step(self, z: Array, mass: Array, *, unbiased: bool) -> Self:
        """Return the same with two scales and a free mode; 0 may have to be from mode to mean."""
        u, scales = self._counted(z, mass), np.where(z < self.mode, self.left, self.right)
        # The mode at given scales is an expectile.
        v = u / scales**2
        mode = float(v @ z / v.sum())
        if unbiased:
            most = self._mean_distance() * (self.left - self.right)
            mode = min(max(mode, min(most, 0.0)), max(most, 0.0))
        squares, below = u * (z - mode) ** 2, z < mode
        # Of two Gaussian halves with sums of squares A and B the scales are as the cube roots.
        roots = np.cbrt([float(squares[below].sum()), float(squares[~below].sum())])
        left, right = (float(x) for x in roots * np.sqrt(roots.sum() / mass.sum()))
        return self._replace(mode=mode, left=left, right=right)

    def at_least(self, scale: float) -> Self:
        return self._replace(left=max(self.left, scale), right=max(self.right, scale))

    def _counted(self, z: Array, mass: Array) -> Array:
        nu = self.freedom
        return mass if nu == np.inf else mass * (nu + 1) / (nu + self._squares(z))

    def _squares(self, z: Array) -> Array:
        d = z - self.mode
        return np.asarray((d / np.where(d < 0, self.left, self.right)) ** 2)

    def _mean_distance(self) -> float:
        """Return the mean of |t| of Student's t of scale 1."""
        nu = self.freedom
        if nu == np.inf:
            return float(np.sqrt(2 / np.pi))
        return float(2 * np.sqrt(nu) / (nu - 1) / np.exp(betaln(nu / 2, 0.5)))


class _Errors(NamedTuple):
    """Errors in units of their spread, and of a typical spread; logarithms of spreads; weights."""

    u: Array
    z: Array
    log_h: Array
    a: Array
    #: The smallest scale of good rows.
    least: float
    #: Whether 0 is between the mode and the mean of good rows.
    unbiased: bool

    @property
    def far(self) -> Mask:
        return np.asarray(np.abs(self.u) > FAR_OUT)


class _Good(NamedTuple):
    """A distribution of good rows: its parameters, and whether it may have two scales."""

    core: _Student
    skewed: bool

    def step(self, errors: _Errors, mass: Array) -> Self:
        if self.skewed:
            core = self.core.skewed_step(errors.u, mass, unbiased=errors.unbiased)
        else:
            core = self.core.even_step(errors.u, mass, centred=True)
        return self._replace(core=core.at_least(errors.least))


class Judged(NamedTuple):
    """What errors tell: the probability of each row to be good, the log density of each error."""

    good: Array
    log_density: Array
    #: The log likelihood by BIC.
    evidence: float


def judged(
    e: Array,
    a: Array,
    spread: Array | None = None,
    *,
    grain: float = 0.0,
    unbiased: bool = False,
) -> Judged:
    """Return for each error the probability that its row is good.

    Parameters
    ----------
    e : array of shape (n,)
        Errors of predictions for rows that were not fitted.
    a : array of shape (n,)
        Sample weights, as numbers of repeats.
    spread : array of shape (n,), optional
        The spread of the errors of good rows, up to a factor; by default all rows have the same.
    grain : float
        The share of the most frequent target.
    unbiased : bool
        Whether 0 is the centre of the errors of good rows (if they are skewed, between their mode
        and their mean); otherwise that of the half of the rows with the least variance.

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
    centre, scale = centred_scale(e / h, a, grain)
    centre = 0.0 if unbiased else centre
    u, z = (np.clip((x - centre) / scale, -_FARTHEST, _FARTHEST) for x in (e / h, e))
    errors = _Errors(u, z, log_h, a, max(_LEAST, grain), unbiased)
    parameter, best = 0.5 * np.log(a.sum()), Judged(np.ones(len(e)), u, -np.inf)
    mixtures = (False, True) if errors.far[a > 0].any() else ()
    for skewed in (False, True):
        for freedom in _FREEDOMS:
            good = _Good(_Student(0.0, 1.0, 1.0, freedom), skewed)
            parameters = parameter * ((freedom < np.inf) + 2 * skewed)
            fits = [_alone(good, errors)]
            for one_sided in mixtures:
                fit = _mixed(good, one_sided, errors)
                fits.append(fit._replace(evidence=fit.evidence - (2 + one_sided) * parameter))
            for fit in fits:
                if fit.evidence - parameters > best.evidence:
                    best = fit._replace(evidence=fit.evidence - parameters)
    unit = float(np.log(scale))
    return Judged(best.good, best.log_density - unit, best.evidence - float(a.sum()) * unit)


def _alone(good: _Good, errors: _Errors) -> Judged:
    """Return the fit of the largest likelihood without spoilt rows."""
    u, log_h, a = errors.u, errors.log_h, errors.a
    before, now = -np.inf, -np.inf
    while now - before > _ENOUGH * a.sum() or now == -np.inf:
        good = good.step(errors, a)
        density = good.core.log_density(u) - log_h
        before, now = now, float(a @ density)
    return Judged(np.ones(len(u)), density, now)


def _mixed(good: _Good, one_sided: bool, errors: _Errors) -> Judged:
    """Return the fit of the largest likelihood with spoilt rows.

    Gross outliers are the spoilt rows of the start. Those on one side have the likelihood 0 if they
    end up on both.
    """
    u, z, log_h, a = errors.u, errors.z, errors.log_h, errors.a
    bad = np.where(errors.far, 0.99, 0.01)
    v, log_v = (z, 0.0) if one_sided else (u, log_h)
    freedom = good.core.freedom if one_sided else np.inf
    other = _Student(0.0, 1.0, 1.0, np.inf).even_step(v, a * bad, centred=not one_sided)
    other = other._replace(freedom=freedom).at_least(_LEAST)
    before, now = -np.inf, -np.inf
    while now - before > _ENOUGH * a.sum() or now == -np.inf:
        share = float(np.average(bad, weights=a))
        if share * a.sum() < 1:
            return Judged(1 - bad, u, -np.inf)
        other = other.even_step(v, a * bad, centred=not one_sided)
        good = good.step(errors, a * (1 - bad))
        other = other.at_least(FAR_OUT * good.core.wider)
        inner = np.log1p(-share) + good.core.log_density(u) - log_h
        outer = np.log(share) + other.log_density(v) - log_v
        both = np.logaddexp(inner, outer)
        bad = np.exp(outer - both)
        before, now = now, float(a @ both)
    if one_sided and abs(other.mode) < _ASIDE * other.wider:
        now = -np.inf
    return Judged(1 - bad, both, now)
