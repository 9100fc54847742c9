"""The choice of the loss: minus the logarithm of the mean density of the noise.

The residuals of a robust fit give a posterior over noise shapes (`kmpe.choice.noise`); its mean
density f gives the loss ρ(r²) = 2σ² (log f(0) - log f(r)) (`kmpe.losses.density`). A fit with that
loss leaves better residuals, and these give a better loss. Two rounds are best: with few rows
further rounds adapt the loss to the fit instead of the noise.

This assumes noise that is independent of the inputs. Otherwise different losses estimate different
slopes, and `hausman` tests whether two of them do.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import linalg
from scipy.special import fdtrc

from kmpe.arrays import Array
from kmpe.choice.noise import GRID, Noise, infer
from kmpe.losses import Correntropy, Loss
from kmpe.losses.density import LogDensity
from kmpe.losses.scale import mad
from kmpe.problems.leverage import projected, whitening
from kmpe.problems.ridge_sums import SquaredNorms, gram_of, weighted_gram
from kmpe.rows.source import Block, Features, Rows, is_sparse

__all__ = ["LOOKS", "REFERENCE", "Choice", "choose_loss", "hausman"]

#: The number of rounds in which the noise is estimated. With 15 inputs and 100 rows of t3 noise the
#: error over the best peer's is 1.13 with two and 1.22 with four; with 5 inputs and 300 rows both
#: have 1.05 (`python benchmarks/noise_study.py`).
LOOKS = 2
#: σ / MAD of the correntropic loss for an unknown noise: 97% efficiency on Gaussian noise.
REFERENCE = 2.5


@dataclass(frozen=True, eq=False)
class Choice:
    """A loss and the noise that it was chosen for, None for several targets."""

    loss: Loss
    noise: Noise | None

    def __str__(self) -> str:
        return str(self.loss) if self.noise is None else f"minus log density: {self.noise}"


def choose_loss(
    residuals: npt.ArrayLike,
    *,
    sample_weight: npt.ArrayLike | None = None,
    leverage: npt.ArrayLike = 0.0,
    grain: float | None = None,
) -> Choice:
    """Choose the loss for given residuals: minus the log density of their noise.

    The dictionary of noise shapes is for one dimension. For several targets, whose loss is a
    function of residual norms, it is the correntropic loss with σ = 2.5 MAD.

    Parameters
    ----------
    residuals : array of shape (n,) or (n, q)
        Residuals of a robust fit.
    sample_weight : array of shape (n,), optional
        Sample weights, as numbers of repeats.
    leverage : float or array of shape (n,)
        Leverages, or the number of parameters per row: residuals of fitted rows are too small by
        a factor of √(1 - h).
    grain : float, optional
        The `granularity` of the targets, below which the loss has no detail; by default that of
        the residuals, which may all differ even if targets are counts.

    See Also
    --------
    RobustLinearRegression : Chooses its loss this way.
    LogDensity : The loss that is chosen.

    Examples
    --------
    >>> noise = np.random.default_rng(0).standard_t(3, 1000)
    >>> print(choose_loss(noise).noise)
    Student's t with 3 degrees of freedom, 100%
    """
    R = np.asarray(residuals, dtype=np.float64)
    R = R.reshape(len(R), -1)
    a = np.ones(len(R)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if R.shape[1] > 1:
        s = np.einsum("ij,ij->i", R, R)
        return Choice(Correntropy(REFERENCE * mad(s, a, R.shape[1])), None)
    noise = infer(R[:, 0], a, np.asarray(leverage, dtype=np.float64), grain)
    return Choice(LogDensity.of(GRID, noise.log_density, noise.sigma, noise.grain), noise)


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
