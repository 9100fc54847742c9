"""Which rows are believable before anything is chosen: a row is judged at its best.

A robust criterion takes rows that a too narrow or too wide kernel cannot predict for outliers, and
forgives them: what is chosen by it may be wrong everywhere and look right. So each row keeps the
smallest of its leave-one-out errors along a path of widths, each with a robust fit of its own, and
only a row that no width predicts can be an outlier. Whether there are outliers at all is asked of
the errors' distribution. Where a normal or Student's t suits them best, there are none: tails
that fall off steadily are those of a function hard to predict, and every row counts. Where a
normal with a share of much wider errors does (Box and Tiao 1968), rows have the weight of its
posterior probabilities.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg
from scipy.special import gammaln

from kmpe.arrays import Array
from kmpe.choice.process import Errors, Evidence, Theta
from kmpe.losses.scale import mad

__all__ = ["Mixture", "at_their_best", "weigh"]


@dataclass(frozen=True)
class Mixture:
    """How errors are distributed, and what a row of scaled error z counts for.

    Parameters
    ----------
    name : str
        In words.
    scale : float
        What z is divided by.
    freedom : float
        Degrees of freedom of Student's t; infinite of a normal.
    share, width : float
        Share of outliers and how much wider they spread; a share of 0 has none.
    """

    name: str
    scale: float
    freedom: float = np.inf
    share: float = 0.0
    width: float = 1.0

    @property
    def has_outliers(self) -> bool:
        """Whether any row may lose its weight: Cauchy tails are outliers, too."""
        return self.share > 0 or self.freedom <= 1

    @property
    def steady(self) -> bool:
        """Whether errors are those of Student's t: of a function hard to predict, or of noise."""
        return 1 < self.freedom < np.inf

    def log_density(self, z: Array) -> Array:
        """Return the log density of scaled errors."""
        return np.asarray(_Grid.of((self,)).log_density(z)[0])

    def weight(self, z: Array) -> Array:
        """Return the precision of rows of scaled error z over that of a good row."""
        t = np.maximum((z / self.scale) ** 2, 1e-9)
        if not self.has_outliers:
            # Thirty times the scale is beyond every tail of this kind.
            return np.asarray(np.maximum(np.minimum(1.0, (900 / t) ** 2), 0.01 / np.maximum(t, 1)))
        if self.share > 0:
            inner, outer = _parts(t, self.share, self.width)
            good = np.exp(inner - np.logaddexp(inner, outer))
            w = good + (1 - good) / self.width**2
            # Farther out than the mixture knows a row's pull falls off as that of Student's t.
            return np.asarray(np.minimum(w, 10 / t))
        return np.asarray(2 / (1 + t))


class _Grid(NamedTuple):
    """Some mixtures, and their numbers as columns: scale, degrees of freedom, share, width."""

    mixtures: tuple[Mixture, ...]
    scale: Array
    freedom: Array
    share: Array
    width: Array

    @classmethod
    def of(cls, mixtures: tuple[Mixture, ...]) -> "_Grid":
        numbers = np.array([(m.scale, m.freedom, m.share, m.width) for m in mixtures])
        return cls(mixtures, *numbers.T[:, :, None])

    def log_density(self, z: Array) -> Array:
        """Return the log density of scaled errors, a row for each mixture."""
        t = (z / self.scale) ** 2
        value = -0.5 * t - 0.5 * np.log(2 * np.pi)
        wide = self.share[:, 0] > 0
        inner, outer = _parts(t[wide], self.share[wide], self.width[wide])
        value[wide] = np.logaddexp(inner, outer) - 0.5 * np.log(2 * np.pi)
        steady = ~wide & (self.freedom[:, 0] < np.inf)
        nu = self.freedom[steady]
        unit = gammaln((nu + 1) / 2) - gammaln(nu / 2) - 0.5 * np.log(nu * np.pi)
        value[steady] = unit - (nu + 1) / 2 * np.log1p(t[steady] / nu)
        return np.asarray(value - np.log(self.scale))


def _parts(t: Array, share: Any, width: Any) -> tuple[Array, Array]:
    """Return the log densities of good rows and of outliers times their shares, without √2π."""
    return np.log1p(-share) - 0.5 * t, np.log(share / width) - 0.5 * t / width**2


def weigh(errors: Errors, a: Array) -> tuple[Array, Mixture]:
    """Return the weights of rows, and the distribution of their errors that leads to them."""
    z = errors.scaled
    counts = a * (len(a) / a.sum())
    # Beyond the widest mixture one row would outweigh all others.
    near = np.minimum(z, 300.0)
    grid = _grid()
    # Two parameters more, by Schwarz's (1978) criterion.
    charge = np.where(grid.share[:, 0] > 0, np.log(len(z)), 0.0)
    best = grid.mixtures[int(np.argmax(grid.log_density(near) @ counts - charge))]
    return best.weight(z), best


@cache
def _grid() -> _Grid:
    return _Grid.of(tuple(_mixtures()))


def _mixtures() -> Iterator[Mixture]:
    """Yield a normal, Student's t, and normals with outliers, on a grid of scales."""
    for scale in np.exp(np.linspace(-1.2, 0.6, 10)).tolist():
        yield Mixture("normal", scale)
        for freedom in (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0):
            yield Mixture(f"Student's t with {freedom:g} degrees of freedom", scale, freedom)
        for share in (0.01, 0.03, 0.1, 0.2, 0.3, 0.4):
            for width in (10.0, 30.0, 100.0, 300.0):
                name = f"normal with {share:.0%} outliers {width:g} times as wide"
                yield Mixture(name, scale, share=share, width=width)


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
