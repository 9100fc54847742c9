"""Hausman's (1978) test: whether two losses estimate the same slopes.

They do if the noise is independent of the inputs, whatever its shape.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg
from scipy.special import fdtrc

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.losses.scale import mad
from kmpe.problems.leverage import projected, whitening
from kmpe.problems.ridge_sums import SquaredNorms, gram_of, weighted_gram
from kmpe.rows.source import Block, Features, Rows, is_sparse

__all__ = ["hausman"]


def hausman(
    rows: Rows, R1: Array, loss1: Loss, R0: Array, loss0: Loss, *, level: float = 1.0
) -> float:
    """Return the p-value of the hypothesis that two losses estimate the same slopes.

    Hausman's (1978) test, without his assumption that one estimator is efficient. The covariance
    of the difference is that for influences independent of the inputs, or the sum of squares of the
    jackknifed influences of the rows (HC3), whichever is larger: the first is biased if the noise
    depends on the inputs, the second by rows of large leverage. The statistic is compared with
    Hotelling's distribution.

    ``R1`` and ``R0`` are the residuals of two fits to the rows, with an intercept or without. A
    p-value above ``level`` is by the first covariance alone, which needs only the residuals.
    """
    a, n, d = rows.a, rows.n, rows.n_features
    # The difference of two fits is a linear function of the inputs; centred, of the slopes alone.
    moved = R0 - R1 - np.average(R0 - R1, weights=a)
    if n <= d + 1 or not moved[a > 0].any():
        return 1.0
    influence = _influence(R1, a, loss1) - _influence(R0, a, loss0)
    plain = float(a @ moved**2) / float(a @ influence**2)
    p = _hotelling((n - d - 1) * plain, d, n)
    if p > level:
        return p
    features = _Centred(rows.features, rows.total(_sums)[0] / n)
    about = replace(rows, T=moved[:, None], features=features)
    gram, push = about.total(_products)
    V = whitening(gram)  # a pseudo-inverse, for dependent columns
    leverage = a * (about.column(SquaredNorms(projected(V))) + 1 / n)
    jackknife = (influence / np.maximum(1 - leverage, 0.01)) ** 2
    (middle,) = replace(about, a=a * jackknife).total(gram_of)
    push = V.T @ push[:, 0]
    robust = float(push @ linalg.lstsq(V.T @ middle @ V, push, check_finite=False)[0])
    d = V.shape[1]
    return _hotelling(min(robust, (n - d - 1) * plain), d, n)


@dataclass(frozen=True)
class _Centred:
    """Centred features, dense."""

    features: Features | None
    mean: Array

    @property
    def n_features(self) -> int:
        return len(self.mean)

    def __call__(self, X: Any) -> Array:
        H = X if self.features is None else self.features(X)
        return np.asarray((H.toarray() if is_sparse(H) else H) - self.mean)


def _sums(block: Block) -> tuple[Array]:
    return (np.asarray(block.a @ block.H).ravel(),)


def _products(block: Block) -> tuple[Array, Array]:
    return weighted_gram(block.H, block.a), block.H.T @ (block.a[:, None] * block.T)


def _hotelling(statistic: float, d: int, n: float) -> float:
    """Return the probability that Hotelling's T² of n rows in d dimensions is larger."""
    return float(fdtrc(d, n - d, statistic * (n - d) / (d * (n - 1))))


def _influence(r: Array, a: Array, loss: Loss) -> Array:
    """Return ψ(r) / E[ψ'], with the slope of the mean of ψ over ± one standard error."""
    step = mad(r * r, a) / np.sqrt(a.sum())
    slope = float(np.average(loss.psi(r + step) - loss.psi(r - step), weights=a)) / (2 * step)
    if slope <= 0:
        slope = float(np.average(loss.weight(r * r), weights=a))
    return np.asarray(loss.psi(r) / slope) if slope > 0 else np.zeros(len(r))
