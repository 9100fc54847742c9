"""Outliers before the kernel is chosen: each row is judged by its best length scale.

A robust criterion takes rows that a too narrow or too wide kernel cannot predict for outliers and
ignores them, so that a bad choice may have a good value. Therefore the smallest leave-one-out error
of each row over a path of length scales is used, each with a robust fit of its own: only a row that
no length scale predicts can be an outlier. Whether there are outliers is decided by the
distribution of these errors. If a normal or a Student's t fits them best, there are none: smooth
heavy tails come from a function that is hard to predict, and every row has full weight. If one of
these with a share of much wider errors does (Box and Tiao 1968), weights are posterior
probabilities of the first component.

Many equal targets, such as zeros, may be met so closely that all others look like outliers. As in
`kmpe.choice.spoilt`, scales are those beyond a share p of ties, and good rows have at least p of
them.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from kmpe.arrays import Array, squared
from kmpe.choice.process import Errors, Evidence, Theta
from kmpe.losses.scale import mad, scale_beyond_ties

__all__ = ["Mixture", "at_their_best", "weigh"]

# The grid of error distributions: degrees of freedom, scales, share and width of outliers.
_FREEDOMS = (np.inf, 20.0, 10.0, 6.0, 4.0, 3.0, 2.0)
_SCALES = np.exp(np.linspace(-1.2, 0.6, 10))
_SHARES = np.array([0.01, 0.03, 0.1, 0.2, 0.3, 0.4])
_WIDTHS = np.array([10.0, 30.0, 100.0, 300.0])


@dataclass(frozen=True)
class Mixture:
    """The distribution of scaled errors z, and the weight of a row.

    Errors follow Student's t; a share of them is ``width`` times as wide.

    Parameters
    ----------
    scale : float
        The scale of z.
    freedom : float
        Degrees of freedom; infinite for a normal.
    share, width : float
        Share and relative scale of the outliers; a share of 0 means none.
    """

    scale: float
    freedom: float = np.inf
    share: float = 0.0
    width: float = 1.0

    @property
    def name(self) -> str:
        """The distribution in words."""
        normal = self.freedom == np.inf
        core = "normal" if normal else f"Student's t with {self.freedom:g} degrees of freedom"
        if not self.has_outliers:
            return core
        outliers = f"{self.share:.0%} outliers {self.width:g} times as wide"
        return f"{core} {'with' if normal else 'and'} {outliers}"

    @property
    def has_outliers(self) -> bool:
        """Whether rows lose their weight by their errors."""
        return self.share > 0

    @property
    def steady(self) -> bool:
        """Whether errors follow Student's t, without outliers."""
        return self.freedom < np.inf and not self.has_outliers

    def log_density(self, z: Array) -> Array:
        """Return the log density of scaled errors."""
        inner, outer = self._parts((z / self.scale) ** 2)
        return np.asarray(np.logaddexp(inner, outer) - np.log(self.scale))

    def weight(self, z: Array) -> Array:
        """Return the precision of rows of scaled error z over that of a row without error."""
        t = np.maximum(np.minimum(z / self.scale, 1e100) ** 2, 1e-9)
        w = self._precision(t) / self._precision(np.zeros(1))
        # Beyond ten times the scale errors say nothing about the function, and the influence of a
        # row falls as that of Student's t. Three or five times have 1% smaller errors on clean
        # targets and 3% or 5% larger ones on spoilt ones (six of TABLES, four halves or eight).
        return np.asarray(np.minimum(w, 100 / t))

    def _precision(self, t: Array) -> Array:
        inner, outer = self._parts(t)
        good = np.exp(inner - np.logaddexp(inner, outer))
        return np.asarray(good + (1 - good) / self.width**2)

    def _parts(self, t: Array) -> tuple[Array, Array]:
        """Return the log densities of both components, times their shares."""
        inner = np.log1p(-self.share) + _log_unit(t, self.freedom)
        if not self.has_outliers:
            return inner, np.full_like(inner, -np.inf)
        share, width = self.share, self.width
        return inner, np.log(share / width) + _log_unit(t / width**2, self.freedom)


def _log_unit(t: Array, freedom: float) -> Array:
    """Return the log density of Student's t at the scale 1, t the square of its argument."""
    if freedom == np.inf:
        return np.asarray(-0.5 * t - 0.5 * np.log(2 * np.pi))
    half = (freedom + 1) / 2
    unit = gammaln(half) - gammaln(freedom / 2) - 0.5 * np.log(freedom * np.pi)
    return np.asarray(unit - half * np.log1p(t / freedom))


def weigh(errors: Errors, a: Array, grain: float = 0.0) -> tuple[Array, Mixture]:
    """Return the weights of rows, and the distribution of errors that they come from.

    ``grain`` is the share of the most frequent target.
    """
    z, unit, least = errors.scaled, 1.0, 0.0
    if grain * len(z) > 1:
        unit, least = max(1.0, scale_beyond_ties(z, a, grain)), grain
    # Beyond the widest mixture one row would outweigh all others.
    best = _likeliest(np.minimum(z / unit, 300.0), a * (len(a) / a.sum()), least)
    best = replace(best, scale=best.scale * unit)
    return best.weight(z), best


def _likeliest(z: Array, counts: Array, least: float) -> Mixture:
    """Return the mixture of the largest likelihood, with a penalty for parameters.

    BIC (Schwarz 1978): the degrees of freedom are one more parameter, and outliers have two.
    """
    parameter, most, best = 0.5 * np.log(len(z)), -np.inf, Mixture(1.0)
    scales = np.maximum(_SCALES, least)
    widths = np.append(1.0, _WIDTHS)
    t = (z / (scales[:, None] * widths)[:, :, None]) ** 2
    for freedom in _FREEDOMS:
        log_densities = _log_unit(t, freedom) - np.log(scales[:, None] * widths)[:, :, None]
        charge = parameter if freedom < np.inf else 0.0
        plain = log_densities[:, 0] @ counts - charge
        i = int(np.argmax(plain))
        if plain[i] > most:
            most, best = float(plain[i]), Mixture(float(scales[i]), freedom)
        densities = np.exp(log_densities)
        for share in _SHARES.tolist():
            # An error beyond all numbers of a mixture makes it impossible, not an error.
            mixed = np.maximum((1 - share) * densities[:, :1] + share * densities[:, 1:], 1e-300)
            wide = np.log(mixed) @ counts - charge - 2 * parameter
            i, k = divmod(int(np.argmax(wide)), len(_WIDTHS))
            if wide[i, k] > most:
                most = float(wide[i, k])
                best = Mixture(float(scales[i]), freedom, share, float(_WIDTHS[k]))
    return best


def at_their_best(evidence: Evidence, start: Theta, grain: float = 0.0) -> Errors:
    """Return the smallest leave-one-out error of each row along a path of length scales.

    Their unit is the noise at the length scale that is best for most rows. ``grain`` is the share
    of the most frequent target.
    """
    best, noise = np.full(evidence.Y.shape, np.inf), np.inf
    # From twice to a twentieth of the initial length scales, which suit most tables.
    for shift in (-1.5, -0.5, 0.5, 1.5):
        E = _robust_errors(evidence, evidence.covariance(start.shifted(shift)), grain)
        s = np.einsum("ij,ij->i", E, E)
        noise = min(noise, squared(_scale(s, evidence.a, E.shape[1], grain)))
        closer = s < np.einsum("ij,ij->i", best, best)
        best = np.where(closer[:, None], E, best)
    return Errors(best, np.zeros(len(best)), noise)


def _robust_errors(evidence: Evidence, K: Array, grain: float) -> Array:
    """Return leave-one-out errors of a fit with the kernel K, with σ lowered to the noise.

    Steps are ridge fits to pseudo-values (Cox 1983), for which one eigendecomposition serves all.
    The penalty is chosen by generalised cross-validation with the factor 1.4 of Kim and Gu (2004),
    with effective degrees of freedom of at most half the rows.
    """
    Y, roots = evidence.Y, np.sqrt(evidence.a)[:, None]
    n = len(Y)
    values, Q = linalg.eigh(roots * K * roots.T, check_finite=False)
    values = np.maximum(values, 0.0)
    # Noise variances from 1e-10 to 10 times the largest eigenvalue.
    grid = np.logspace(-10, 1, 45) * values[-1]
    kept = values / (values + grid[:, None])
    df = kept.sum(axis=1)
    allowed = df <= max(0.5 * n, float(df[-1]))

    def fit(Z: Array) -> tuple[Array, Array, float]:
        C = Q.T @ (roots * Z)
        rss = (1 - kept) ** 2 @ np.einsum("ij,ij->i", C, C)
        with np.errstate(over="ignore"):  # what overflows is not the smallest
            gcv = np.where(allowed, rss / np.maximum(1 - 1.4 * df / n, 1e-9) ** 2, np.inf)
        i = int(np.argmin(gcv))
        return Q @ (kept[i][:, None] * C) / roots, (Q * Q) @ kept[i], float(df[i]) / n

    # A step reduces the influence of a far target only by its leverage: start near the others.
    s = np.einsum("ij,ij->i", Y, Y)
    most = 10 * _scale(s, evidence.a, Y.shape[1], grain) * np.sqrt(Y.shape[1])
    Z = Y * np.minimum(1.0, most / np.sqrt(np.maximum(s, squared(most))))[:, None]
    F, h, share = fit(Z)
    for factor in (16.0, 8.0, 4.0, 3.0, 2.11, 2.11, 2.11, 2.11):
        R = Y - F
        s = np.einsum("ij,ij->i", R, R)
        sigma = _scale(s, evidence.a, Y.shape[1], grain)
        sigma2 = squared(factor * sigma) / max(1 - share, 0.1)
        if not sigma2 > 0:
            break
        w = np.exp(-0.5 * s / sigma2)
        slope = float(np.average(w * (1 - s / sigma2 / Y.shape[1]), weights=evidence.a))
        Z = F + w[:, None] * R / max(slope, 0.05)
        F, h, share = fit(Z)
    h = np.minimum(h, 0.99)[:, None]
    return np.asarray(Y - (F - h * Z) / (1 - h))


def _scale(s: Array, a: Array, dim: int, grain: float) -> float:
    """Return the MAD of squared residual norms; for one target, beyond its ties."""
    if grain * len(s) > 1:
        return max(mad(s, a, dim), scale_beyond_ties(np.sqrt(s), a, grain))
    return mad(s, a, dim)
