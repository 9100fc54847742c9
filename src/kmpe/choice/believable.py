"""Which rows are believable before anything is chosen: a row is judged at its best.

A robust criterion takes rows that a too narrow or too wide kernel cannot predict for outliers, and
forgives them: what is chosen by it may be wrong everywhere and look right. So each row keeps the
smallest of its leave-one-out errors along a path of widths, each with a robust fit of its own, and
only a row that no width predicts can be an outlier. Whether there are outliers at all is asked of
the errors' distribution. Where a normal or Student's t suits them best, there are none: tails
that fall off steadily are those of a function hard to predict, and every row counts. Where one of
these with a share of much wider errors does (Box and Tiao 1968), rows have the weight of its
posterior probabilities: beside outliers, too, a function may be hard to predict.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from kmpe.arrays import Array
from kmpe.choice.process import Errors, Evidence, Theta
from kmpe.losses.scale import mad

__all__ = ["Mixture", "at_their_best", "weigh"]

# What errors may be: degrees of freedom, scales, and the share and width of outliers.
_FREEDOMS = (np.inf, 20.0, 10.0, 6.0, 4.0, 3.0, 2.0)
_SCALES = np.exp(np.linspace(-1.2, 0.6, 10))
_SHARES = np.array([0.01, 0.03, 0.1, 0.2, 0.3, 0.4])
_WIDTHS = np.array([10.0, 30.0, 100.0, 300.0])


@dataclass(frozen=True)
class Mixture:
    """How errors are distributed, and what a row of scaled error z counts for.

    They are those of Student's t, and a share of them is so many times as wide.

    Parameters
    ----------
    scale : float
        What z is divided by.
    freedom : float
        Degrees of freedom; infinite of a normal.
    share, width : float
        Share of outliers and how much wider they spread; a share of 0 has none.
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
        """Whether errors are those of Student's t: of a function hard to predict, or of noise."""
        return self.freedom < np.inf and not self.has_outliers

    def log_density(self, z: Array) -> Array:
        """Return the log density of scaled errors."""
        inner, outer = self._parts((z / self.scale) ** 2)
        return np.asarray(np.logaddexp(inner, outer) - np.log(self.scale))

    def weight(self, z: Array) -> Array:
        """Return the precision of rows of scaled error z over that of a row without error."""
        t = np.maximum(np.minimum(z / self.scale, 1e100) ** 2, 1e-9)
        w = self._precision(t) / self._precision(np.zeros(1))
        # Ten times the scale is beyond what errors tell of a function: farther out a row's pull
        # falls off as that of Student's t. Three or five times have 1% smaller errors on clean
        # targets and 3% or 5% larger ones on spoilt ones (six of TABLES, four halves or eight).
        return np.asarray(np.minimum(w, 100 / t))

    def _precision(self, t: Array) -> Array:
        inner, outer = self._parts(t)
        good = np.exp(inner - np.logaddexp(inner, outer))
        return np.asarray(good + (1 - good) / self.width**2)

    def _parts(self, t: Array) -> tuple[Array, Array]:
        """Return the log densities of good rows and of outliers times their shares."""
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


def weigh(errors: Errors, a: Array) -> tuple[Array, Mixture]:
    """Return the weights of rows, and the distribution of their errors that leads to them."""
    z = errors.scaled
    # Beyond the widest mixture one row would outweigh all others.
    best = _likeliest(np.minimum(z, 300.0), a * (len(a) / a.sum()))
    return best.weight(z), best


def _likeliest(z: Array, counts: Array) -> Mixture:
    """Return the mixture of the largest likelihood, outliers charged for."""
    # Two parameters more, by Schwarz's (1978) criterion.
    charge, most, best = np.log(len(z)), -np.inf, Mixture(1.0)
    widths = np.append(1.0, _WIDTHS)
    t = (z / (_SCALES[:, None] * widths)[:, :, None]) ** 2
    for freedom in _FREEDOMS:
        log_densities = _log_unit(t, freedom) - np.log(_SCALES[:, None] * widths)[:, :, None]
        plain = log_densities[:, 0] @ counts
        i = int(np.argmax(plain))
        if plain[i] > most:
            most, best = float(plain[i]), Mixture(float(_SCALES[i]), freedom)
        densities = np.exp(log_densities)
        for share in _SHARES.tolist():
            # An error beyond all numbers of a mixture makes it impossible, not an error.
            mixed = np.maximum((1 - share) * densities[:, :1] + share * densities[:, 1:], 1e-300)
            wide = np.log(mixed) @ counts - charge
            i, k = divmod(int(np.argmax(wide)), len(_WIDTHS))
            if wide[i, k] > most:
                most = float(wide[i, k])
                best = Mixture(float(_SCALES[i]), freedom, share, float(_WIDTHS[k]))
    return best


def at_their_best(evidence: Evidence, start: Theta) -> Errors:
    """Return the smallest leave-one-out error of each row along a path of widths.

    Their unit is the noise where most rows are predicted best.
    """
    best, noise = np.full(evidence.Y.shape, np.inf), np.inf
    # From twice to a twentieth of the start's widths, which suit most tables.
    for shift in (-1.5, -0.5, 0.5, 1.5):
        E = _robust_errors(evidence, evidence.covariance(start.shifted(shift)))
        s = np.einsum("ij,ij->i", E, E)
        noise = min(noise, mad(s, evidence.a, E.shape[1]) ** 2)
        closer = s < np.einsum("ij,ij->i", best, best)
        best = np.where(closer[:, None], E, best)
    return Errors(best, np.zeros(len(best)), noise)


def _robust_errors(evidence: Evidence, K: Array) -> Array:
    """Return leave-one-out errors of a fit with the kernel K, σ brought down to the noise.

    Steps are ridge fits to pseudo-targets (Cox 1983), for which one eigendecomposition serves all;
    the penalty is that of generalised cross-validation, a parameter counting as 1.4 (Kim and Gu
    2004), and spends at most half of the rows.
    """
    Y, roots = evidence.Y, np.sqrt(evidence.a)[:, None]
    n = len(Y)
    values, Q = linalg.eigh(roots * K * roots.T, check_finite=False)
    values = np.maximum(values, 0.0)
    # A covariance of noise variance 1e-10 to 10 of the largest part.
    grid = np.logspace(-10, 1, 45) * values[-1]
    kept = values / (values + grid[:, None])
    df = kept.sum(axis=1)
    allowed = df <= max(0.5 * n, float(df[-1]))

    def fit(Z: Array) -> tuple[Array, Array, float]:
        C = Q.T @ (roots * Z)
        rss = (1 - kept) ** 2 @ np.einsum("ij,ij->i", C, C)
        gcv = np.where(allowed, rss / np.maximum(1 - 1.4 * df / n, 1e-9) ** 2, np.inf)
        i = int(np.argmin(gcv))
        return Q @ (kept[i][:, None] * C) / roots, (Q * Q) @ kept[i], float(df[i]) / n

    # Steps forget a far target by the factor h only: it begins near the others.
    s = np.einsum("ij,ij->i", Y, Y)
    most = 10 * mad(s, evidence.a, Y.shape[1]) * np.sqrt(Y.shape[1])
    Z = Y * np.minimum(1.0, most / np.sqrt(np.maximum(s, most**2)))[:, None]
    F, h, share = fit(Z)
    for factor in (16.0, 8.0, 4.0, 3.0, 2.11, 2.11, 2.11, 2.11):
        R = Y - F
        s = np.einsum("ij,ij->i", R, R)
        sigma2 = (factor * mad(s, evidence.a, Y.shape[1])) ** 2 / max(1 - share, 0.1)
        if not sigma2 > 0:
            break
        w = np.exp(-0.5 * s / sigma2)
        slope = float(np.average(w * (1 - s / sigma2 / Y.shape[1]), weights=evidence.a))
        Z = F + w[:, None] * R / max(slope, 0.05)
        F, h, share = fit(Z)
    h = np.minimum(h, 0.99)[:, None]
    return np.asarray(Y - (F - h * Z) / (1 - h))
