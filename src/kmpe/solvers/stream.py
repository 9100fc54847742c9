"""Robust fits to a stream of batches, each of which is read once.

The batches so far are summarised by their cost to second order in the coefficients. The rows of a
new batch are weighted by the loss at the current model, with σ the median over the last batches,
and the batch as a whole by how much the spread of its residuals and the leverage of its features
exceed those of the other batches. A batch of outliers gets no weight and does not increase σ for
the next one. After a change of the distribution, weights return to 1 once the new batches are half
of the window.

The first batch may be a bad one. The first few are therefore kept in memory and fitted together
until there are enough of them. Batches of a few rows are merged into groups, which are compared in
place of single batches and whose number is bounded.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from kmpe.arrays import Array
from kmpe.losses import Correntropy, Loss
from kmpe.losses.floored import Curved, Floored
from kmpe.problems.factor import Factor
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.rows.threads import MOST_KEPT
from kmpe.solvers.record import Fit

__all__ = ["RidgeFit", "Stream"]

#: Maps a ridge problem to its robust fit.
RidgeFit = Callable[[Ridge], Fit[Array]]

# The number of last batches whose medians are used: five bad ones in a row do not change them.
_WINDOW = 11
# A batch has full weight if its scale, or its reach, is at most 1.5 + 5 / √n times that of the
# others; the second term allows for random variation in a batch of n rows.
_TRUSTED = (1.5, 5.0)
# Features of two batches are compared on samples of this many rows, to which smaller batches are
# merged, in the metric of the Gram matrix of one of them. This share of its mean eigenvalue is
# added to the diagonal, as few rows do not determine all directions.
_COMPARED_ROWS = 50
_BLUR = 1e-3


class Past(NamedTuple):
    """The batches so far: their cost is ½ tr βᵀGβ - tr βᵀM to second order."""

    gram: Array
    moment: Array


class _Group(NamedTuple):
    """Rows of some of the first batches, and the batch number of each row."""

    rows: Rows
    born: Array

    def with_batch(self, batch: Rows, number: int) -> "_Group":
        rows = _joined((self.rows, batch), np.ones(2))
        return _Group(rows, np.append(self.born, np.full(len(batch), number)))


@dataclass(frozen=True)
class Stream:
    """The state of a stream.

    Parameters
    ----------
    loss : Loss
        The loss, its σ a number or a rule.
    alpha : float
        Strength of the penalty.
    forgetting : float
        The factor by which the weight of past batches decreases with each new one; 1 keeps it.
    theta : array of shape (L, q)
        The coefficients, after the first batch.
    past : Past, optional
        The summary of past batches, once the first few are merged.
    scales : tuple
        σ by the rule of the loss, or by "mad", on each of the last batches.
    reaches : tuple
        The reach of the features of each of the last batches.
    opening : tuple
        The first few batches, until they are merged.
    n_batches : int
        The number of batches so far.
    n_fitted : int
        The number of rows of the first few when they were last fitted.
    """

    loss: Loss
    alpha: float
    forgetting: float
    theta: Array = field(default_factory=lambda: np.empty((0, 0)))
    past: Past | None = None
    scales: tuple[float, ...] = ()
    reaches: tuple[float, ...] = ()
    opening: tuple[_Group, ...] = ()
    n_batches: int = 0
    n_fitted: int = 0

    @property
    def _n_opening(self) -> int:
        return sum(len(group.rows) for group in self.opening)

    def resolved(self) -> Loss:
        """Return the loss with the current σ."""
        if not (self.loss.has_rule and self.scales):
            return self.loss
        return self.loss.at(float(np.median(self.scales)))

    def after(self, batch: Rows, fit: RidgeFit) -> tuple["Stream", Array]:
        """Return the stream with one more batch, and the weight of each of the batch's rows.

        ``fit`` computes the robust fit to the first few batches.
        """
        _check_outputs(batch, self.theta)
        if self.past is not None:
            return self._weighed(batch, self.past)
        opening = self._opened(batch)
        # Refitted when the rows have grown by a twentieth: batches may be single rows.
        if opening._n_opening < 1.05 * self.n_fitted:
            return opening, np.ones(len(batch))
        stream, w = opening._fitted(fit)
        return stream, w[-len(batch) :]

    def _opened(self, batch: Rows) -> "Stream":
        """Return the stream with one more opening batch, merged with other small ones."""
        number, groups = self.n_batches, self.opening
        if groups and len(groups[-1].rows) + len(batch) <= _COMPARED_ROWS:
            groups = (*groups[:-1], groups[-1].with_batch(batch, number))
        else:
            groups = (*groups, _Group(batch, np.full(len(batch), number)))
        return replace(self, opening=groups, n_batches=number + 1)

    @property
    def _rule(self) -> Loss:
        """The loss whose rule gives the scale of the residuals."""
        return self.loss if self.loss.has_rule else Correntropy()

    def _scale(self, batch: Rows, theta: Array) -> float:
        s = Ridge(batch, np.zeros(batch.n_features)).squared_residuals(theta)
        return self._rule.resolve(s, batch.a, batch.n_targets).scale

    def _fitted(self, fit: RidgeFit) -> tuple["Stream", Array]:
        """Fit the first batches together, once to find the bad ones and once without these."""
        groups = tuple(group.rows for group in self.opening)
        reaches = _reaches(groups)
        usual = np.array([_trust(g, r, reaches) for g, r in zip(groups, reaches, strict=True)])
        ages = self.n_batches - 1 - np.concatenate([group.born for group in self.opening])
        trusts = usual
        for _ in range(2):
            rows = _joined(groups, trusts)
            rows = replace(rows, a=rows.a * self.forgetting**ages)
            problem = Ridge.of(rows, self.alpha)
            fitted = fit(problem)
            theta = problem.coefficients(fitted.theta)
            scales = tuple(self._scale(group, theta) for group in groups)
            trusts = usual * [
                _trust(g, size, scales) for g, size in zip(groups, scales, strict=True)
            ]
            if trusts.min() > 0.5:
                break
        stream = replace(self, theta=theta, scales=scales[-_WINDOW:], n_fitted=len(rows))
        n, L = len(rows), rows.n_features
        # Five bad batches among 20 do not change medians, and a fit with 20 rows per feature
        # withstands them.
        complete = len(trusts) >= 20 and n >= 20 * L
        if complete or 8 * n * L > MOST_KEPT:
            past = _expanded(rows, fitted.loss, theta, 1.0)[0]
            stream = replace(stream, past=past, opening=())
        last = Ridge(groups[-1], np.zeros(L)).squared_residuals(theta)
        return stream, trusts[-1] * fitted.criterion.weight(last)

    def _weighed(self, batch: Rows, past: Past, rounds: int = 3) -> tuple["Stream", Array]:
        """Alternate between the weights of a batch and the model, ``rounds`` times."""
        theta = self.theta
        scale = self._scale(batch, theta)
        reach = _reach(batch, past.gram)
        stream = replace(
            self,
            scales=(*self.scales, scale)[-_WINDOW:],
            reaches=(*self.reaches, reach)[-_WINDOW:],
        )
        trust = _trust(batch, scale, stream.scales) * _trust(batch, reach, stream.reaches)
        loss = stream.resolved()
        for _ in range(rounds):
            new, w = _expanded(batch, loss, theta, trust)
            gram = new.gram + self.forgetting * past.gram
            moment = new.moment + self.forgetting * past.moment
            theta = _solved(gram, moment, self.alpha, theta)
        return replace(stream, theta=theta, past=Past(gram, moment)), w


def _expanded(batch: Rows, loss: Loss, theta: Array, trust: float) -> tuple[Past, Array]:
    """Return the cost of a batch to second order around ``theta``, and the weights there.

    Its minimiser is a Newton step, whose error is of second order in the distance to the minimum;
    with fixed weights the error would be of first order.
    """
    problem = Ridge(batch, np.zeros(batch.n_features))
    s = problem.squared_residuals(theta)
    criterion = Floored.at(loss, s, batch.a, problem.dim)
    gram = trust * problem.weighted(theta, Curved(criterion, problem.dim)).moments[0]
    gradient = trust * problem.point(theta, criterion).gradient
    return Past(gram, gram @ theta - gradient), trust * criterion.weight(s)


def _trust(batch: Rows, size: float, sizes: tuple[float, ...]) -> float:
    """Return the weight of a batch as a whole, from its scale or reach and those of the others."""
    most, chance = _TRUSTED
    allowed = (most + chance / math.sqrt(len(batch))) * float(np.median(sizes))
    return min(1.0, allowed / size) ** 4 if size > 0 else 1.0


def _check_outputs(batch: Rows, theta: Array) -> None:
    """Refuse a batch whose number of targets differs from that of earlier ones."""
    if theta.size and batch.n_targets != theta.shape[1]:
        raise ValueError(
            f"the number of targets changes from {theta.shape[1]} to {batch.n_targets} "
            "within a stream: call fit, or use a new estimator, to begin another stream"
        )


def _reach(batch: Rows, gram: Array) -> float:
    """Return the reach of a batch: the typical leverage of its rows, given a Gram matrix."""
    H, blur = _few_rows(batch), _BLUR * float(np.trace(gram)) / len(gram)
    if blur == 0:
        return 0.0
    factor = Factor.of(gram + blur * np.eye(len(gram)))
    return math.sqrt(blur * float(np.vdot(H.T, factor.solve(H.T))) / len(H))


def _reaches(batches: tuple[Rows, ...]) -> tuple[float, ...]:
    """Return the reach of each batch: the median over its reaches relative to each other batch."""
    samples = [_few_rows(batch) for batch in batches]
    return tuple(np.median([_reaches_among(samples, H) for H in samples], axis=0).tolist())


def _reaches_among(samples: list[Array], other: Array) -> list[float]:
    """Return the reach of each sample relative to other rows, computed from all products."""
    blur = _BLUR * float(np.vdot(other, other)) / other.shape[1]
    if blur == 0:
        return [0.0] * len(samples)
    factor = Factor.of(other @ other.T + blur * np.eye(len(other)))
    H = np.concatenate(samples)
    across = other @ H.T
    left = np.einsum("ij,ij->i", H, H) - np.einsum("ij,ij->j", across, factor.solve(across))
    ends = np.cumsum([len(sample) for sample in samples])[:-1]
    return [math.sqrt(max(float(part.mean()), 0.0)) for part in np.split(left, ends)]


def _few_rows(batch: Rows) -> Array:
    return np.asarray(batch.X[:: -(-len(batch) // _COMPARED_ROWS)], np.float64)


def _joined(batches: tuple[Rows, ...], shares: Array) -> Rows:
    """Return the rows of all batches, with weights multiplied by the share of each batch."""
    H = np.concatenate([batch.X for batch in batches])
    T = np.concatenate([batch.T for batch in batches])
    a = np.concatenate([share * b.a for share, b in zip(shares, batches, strict=True)])
    return Rows.of(H, T, a)


def _solved(gram: Array, moment: Array, alpha: float, theta: Array) -> Array:
    """Return the minimiser of ½ tr βᵀGβ - tr βᵀM + ½ α ‖β‖², as a step from ``theta``."""
    if alpha == 0:
        return np.asarray(linalg.lstsq(gram, moment, check_finite=False)[0])
    B = gram.copy()
    B.flat[:: len(B) + 1] += alpha
    return theta + Factor.of(B).solve(moment - B @ theta)
