"""The start of a linear regression: an MM-estimate (Yohai 1987) after fast-S.

The S-estimate has the largest possible breakdown point and low efficiency; M-steps of 95% Gaussian
efficiency at its scale keep the breakdown point and add the efficiency, and good leverage points
get back their weight. `fast_s` computes it.

Inputs are first whitened by a generalised spatial sign covariance with Winsorised radii, which is
robust to outlying rows (Raymaekers and Rousseeuw 2019). Directions of variance zero are dropped, so
that dependent columns have the solution of minimum norm. Rows are put into canonical order before
anything is drawn, so that permuting them changes nothing.

References
----------
Atkinson, Riani (2000), Robust Diagnostic Regression Analysis. Hubert, Rousseeuw, Verdonck (2012),
J. Comput. Graph. Stat. 21, 618. Koller, Stahel (2017), Comput. Stat. 32, 631. Peña, Yohai
(1999), J. Am. Stat. Assoc. 94, 434. Raymaekers, Rousseeuw (2019), J. Multivar. Anal. 171, 94.
Rousseeuw, Yohai (1984), Lect. Notes Stat. 26, 256. Salibian-Barrera, Yohai (2006), J. Comput.
Graph. Stat. 15, 414. Yohai (1987), Ann. Stat. 15, 642.
"""

from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
from scipy.special import chdtri

from kmpe.arrays import SINGULAR, Array, Index, Mask, squared
from kmpe.foreign import asarray
from kmpe.losses.scale import quantile
from kmpe.problems.leverage import whitening
from kmpe.problems.ridge_sums import SquaredNorms, gram_of, squared_norms
from kmpe.rows.sample import SEED
from kmpe.rows.source import Block, Rows
from kmpe.starts.fast_s import (
    LUCK,
    SAMPLE,
    SUBSETS,
    Data,
    least_absolute,
    m_estimate,
    s_estimate,
)
from kmpe.starts.weighted import count, sample, steps

__all__ = ["BadLeverage", "Inexact", "Start", "Status", "high_breakdown"]

_ROUNDING = 1e3 * float(np.finfo(float).eps)


class Status(Enum):
    """What a start withstands; the value is the sentence for the user."""

    GUARDED = (
        "High breakdown: bad leverage points are looked for up to {withstood:.0%} of the rows."
    )
    DIRECTIONS = (
        "{k} coefficients are too many for random subsets: bad leverage points are looked for by "
        "fits to halves of the rows, which find about a fifth of the rows."
    )
    FEW_ROWS = (
        "{n:.0f} rows for {k} coefficients: below two rows per coefficient bad leverage points "
        "cannot be told from good ones; only outlying targets are guarded against."
    )
    EXACT = (
        "{exact:.0%} of the rows lie on the fit exactly: the scale of the residuals is 0, and "
        "there are no standard errors. Of tied targets such as many zeros, a model for counts or "
        "for classes says more."
    )


@dataclass(frozen=True)
class Start:
    """A robust initial estimate.

    Parameters
    ----------
    theta : array of shape (k, q)
        The coefficients.
    scale : float
        The scale of the residuals: the S-scale over its mean for Gaussian ones, 1 - 0.6 k/n.
    n : float
        The number of rows.
    status : Status
        What it withstands.
    sentence : str
        The same in words, with numbers.
    exact : float
        The share of the rows that are fitted exactly.
    """

    theta: Array
    scale: float
    n: float
    status: Status
    sentence: str
    exact: float = 0.0


def high_breakdown(H: Array, T: Array, a: Array, n: float | None = None, seed: int = SEED) -> Start:
    """Return the MM-estimate of a regression of T on H.

    The result depends neither on the order of the rows nor on the unit of the weights.

    Parameters
    ----------
    H : array of shape (n, k)
        Inputs.
    T : array of shape (n, q)
        Targets.
    a : array of shape (n,)
        Sample weights: a row of weight 2 is two equal rows.
    n : float, optional
        The number of rows that they represent; by default from the weights.
    seed : int, optional
        Seed of the random subsets.
    """
    rows = _canonical(H, T, a)
    # In units of the targets, squares of residuals do not underflow.
    unit = _unit(T[rows])
    H, T, a = H[rows], T[rows] / unit, a[rows] / a[rows].sum()
    Z, back, first = _whiten(H, T, a)
    data = Data(Z, T, a, count(a) if n is None else n)
    n, k = data.n, data.k
    withstood = 1 - (1 - LUCK ** (1 / SUBSETS)) ** (1 / max(k, 1))
    if n < 2 * k:
        status = Status.FEW_ROWS
        theta, scale = least_absolute(data)
    else:
        # Where they withstand no tenth of bad rows (from 38 coefficients on) none are drawn: half
        # fits find a fifth with 40 and 100 inputs; lmrob's 500 subsets find a tenth with 40
        # (`python benchmarks/breakdown.py --lmrob --inputs 40 100 --sizes 505`).
        subsets = k > 0 and withstood >= 0.1
        status = Status.GUARDED if subsets or k == 0 else Status.DIRECTIONS
        theta, scale = s_estimate(data, first, seed if subsets else None)
    exact = _exact(Z, T, theta)
    share = 1.0 if exact.all() else float(a @ exact)  # rounded sums may be below 1
    # From here on no more rows are left than the M-scale forgives, and it is 0.
    if share >= 1 - data.b:
        theta = theta + steps(Z, (a * exact)[None], data.residuals(theta[None]))[0]
        scale = 0.0
        status = status if status is Status.FEW_ROWS else Status.EXACT
    elif status is not Status.FEW_ROWS:
        theta = m_estimate(data, theta, scale)
        # The S-scale of Gaussian residuals is 1 - 0.6 k/n on average, to 7%, from 12 rows and 3
        # rows per coefficient on: `python benchmarks/breakdown.py --bias`. lmrob's is as well.
        scale /= 1 - 0.6 * k / n
    sentence = status.value.format(withstood=min(withstood, data.b), k=k, n=n, exact=share)
    return Start(back @ theta * unit, scale * unit, n, status, sentence, share)


@dataclass(frozen=True)
class Inexact:
    """The rows of a block that are not fitted exactly: 1 for those, 0 for others."""

    theta: Array

    def __call__(self, block: Block) -> Array:
        """Return 1 for rows whose residual is more than rounding."""
        return asarray(~_exact(block.H, block.T, self.theta), dtype=np.float64)


@dataclass(frozen=True)
class BadLeverage:
    """The bad leverage points of a block: 1 for those, 0 for others.

    Their residuals are beyond 2.5 σ √(1 + h), the prediction error of a row outside the fit
    (Atkinson and Riani 2000), and their inputs rarer than one Gaussian row in a thousand has; h
    is the leverage among the rows within 2.5 σ. Where most of the rows with such inputs are bad,
    the others are near the fit by chance, and all of them are bad.

    Parameters
    ----------
    theta : array of shape (k, q)
        The start.
    limit : float
        The squared residual norm of 2.5 σ.
    back : array of shape (k, r)
        The whitening matrix of the inputs of the rows within it.
    n : float
        The number of these rows.
    all_rare : bool
        Whether rare inputs alone make a row bad.
    """

    theta: Array
    limit: float
    back: Array
    n: float
    all_rare: bool = False

    @classmethod
    def of(cls, rows: Rows, start: Start) -> "BadLeverage":
        """Return the rule of a start, from the rows that it was fitted to."""
        limit = squared(2.5 * start.scale) * rows.n_targets
        near = rows.column(_Near(start.theta, limit)) * rows.a
        if not near.any():
            return cls(start.theta, np.inf, np.zeros((rows.n_features, 0)), 1.0)
        (gram,) = replace(rows, a=near / near.sum()).total(gram_of)
        rule = cls(start.theta, limit, whitening(gram), start.n * float(near.sum() / rows.n))
        bad = rows.column(rule)
        if not bad.any():
            return rule
        rare = rows.column(SquaredNorms(rule.back)) > rule._rare
        return replace(rule, all_rare=bool(rows.a @ bad > 0.5 * (rows.a @ rare)))

    def __call__(self, block: Block) -> Array:
        """Return 1 for the bad leverage points of a block, 0 for its other rows."""
        s = squared_norms(block.T - block.H @ self.theta)
        bad = np.zeros_like(s)
        far = s >= 0 if self.all_rare else s > self.limit
        if far.any():
            distance2 = squared_norms(block.H[far] @ self.back)
            bad[far] = distance2 > self._rare
            if not self.all_rare:
                bad[far] *= s[far] > self.limit * (1 + distance2 / self.n)
                found = bad > 0
                if found.any():
                    bad[found] = ~_exact(block.H[found], block.T[found], self.theta)
        return bad

    @property
    def _rare(self) -> float:
        """The squared distance that one Gaussian row in a thousand exceeds."""
        return float(chdtri(self.back.shape[1], 1e-3))


@dataclass(frozen=True)
class _Near:
    """The rows of a block that are within a limit of a fit: 1 for those, 0 for others."""

    theta: Array
    limit: float

    def __call__(self, block: Block) -> Array:
        near = squared_norms(block.T - block.H @ self.theta) <= self.limit
        far = np.flatnonzero(~near)
        if len(far):
            near[far] = _exact(block.H[far], block.T[far], self.theta)
        return np.asarray(near, dtype=np.float64)


def _unit(T: Array) -> float:
    """Return the power of two next to the median absolute value of targets other than zero."""
    sizes = np.abs(T[T != 0])
    return float(np.exp2(np.rint(np.log2(np.median(sizes))))) if len(sizes) else 1.0


def _canonical(H: Array, T: Array, a: Array) -> Index:
    """Return the rows with weight in an order by their inputs, then by their targets.

    Of equal inputs the targets -T have the order of T, so that subsets have the same rows.
    """
    rows = np.flatnonzero(a > 0)
    T, a = T[rows], a[rows]
    # Not by BLAS, whose order of additions depends on where a row stands.
    mixture = np.einsum("ij,j->i", H[rows], np.sqrt(np.arange(2.0, H.shape[1] + 2.0)))
    rises = a @ (T[:, -1] * (mixture - np.average(mixture, weights=a))) >= 0
    return np.asarray(rows[np.lexsort((*(T if rises else -T).T, mixture))])


def _whiten(H: Array, T: Array, a: Array) -> tuple[Array, Array, Array]:
    """Return whitened inputs Z = H B, largest components first, B, and a first fit to Z."""
    size = np.median(np.abs(H[sample(a, SAMPLE)]), axis=0)
    rounding = _ROUNDING * np.abs(H).max(axis=0, initial=0.0)
    for j in np.flatnonzero(size <= rounding):
        column = np.abs(H[:, j])
        size[j] = column[column > rounding[j]].mean() if column.any() else 1.0
    Z = H / size
    norm2 = squared_norms(Z)
    typical = quantile(norm2, 0.5, a)
    if typical == 0 and norm2.any():
        typical = float(norm2[norm2 > 0].min())
    w = a / np.maximum(norm2 / (typical or 1.0), 1.0)
    w = w / w.sum()
    root = np.sqrt(w)[:, None] * Z
    values, vectors = np.linalg.eigh(root.T @ root)
    kept = np.flatnonzero(values > SINGULAR * max(values[-1], SINGULAR))[::-1]
    back = vectors[:, kept] / np.sqrt(values[kept])
    Z = Z @ back
    return Z, back / size[:, None], Z.T @ (w[:, None] * T)


def _exact(Z: Array, T: Array, theta: Array) -> Mask:
    """Return which rows have residuals that are rounding errors only."""
    typical = float(np.median(np.abs(T[T != 0]))) if T.any() else 0.0
    size = typical + np.abs(T) + abs(Z) @ np.abs(theta)
    return asarray(np.all(np.abs(T - Z @ theta) <= _ROUNDING * size, axis=1))
