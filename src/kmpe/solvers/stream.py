"""Robust fits of a stream: batch after batch, each seen once.

What is known of the batches gone by is their cost to second order in the coefficients. A new
batch is weighed by the model that stands: its rows by the loss, with σ the median over the last
batches, and the batch as a whole by how much wider its residuals spread, and how much further
out its features lie, than those of the other ones. A batch of outliers has no weight and does not
widen σ for the next one; should the world itself have changed, half of these batches say so and
the weights come back.

A first batch may be the bad one. So the first few are kept, and fitted together each time,
until there are enough of them. Batches of a few rows are kept together: what is compared are groups
of rows, whose number does not grow with that of the batches.
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

#: From a ridge problem to its robust fit.
RidgeFit = Callable[[Ridge], Fit[Array]]

# A burst of five bad batches is outvoted.
_WINDOW = 11
# A batch is trusted whose residuals spread up to this much wider than those of the others, or whose
# features reach so much further; the second number allows for the chance in a batch of n rows,
# over √n.
_TRUSTED = (1.5, 5.0)
# Features of two batches are compared on so many rows, which smaller batches add up to, in the
# metric of one of them with this share of its mean variance in every direction: few rows know few
# directions.
_COMPARED_ROWS = 50
_BLUR = 1e-3


class Past(NamedTuple):
    """The batches gone by: their cost is ½ tr βᵀGβ - tr βᵀM to second order."""

    gram: Array
    moment: Array


class _Group(NamedTuple):
    """Rows of some of the first batches, and the number of the batch that each came with."""

    rows: Rows
    born: Array

    def with_batch(self, batch: Rows, number: int) -> "_Group":
        rows = _joined((self.rows, batch), np.ones(2))
        return _Group(rows, np.append(self.born, np.full(len(batch), number)))


@dataclass(frozen=True)
class Stream:
    """What is known of a stream.

    Parameters
    ----------
    loss : Loss
        The loss, its σ a number or a rule.
    alpha : float
        Strength of the penalty.
    forgetting : float
        What a batch still counts when the next one has come; 1 forgets nothing.
    theta : array of shape (L, q)
        The coefficients, once there was a batch.
    past : Past, optional
        The batches gone by, once the first few are joined.
    scales : tuple
        σ by the loss's rule, or by "mad", on each of the last batches.
    reaches : tuple
        How far out the features of each of the last batches lay.
    opening : tuple
        The first few batches, until they are joined.
    n_batches : int
        The number of batches that came.
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
        """Return the loss with σ as it stands now."""
        if not (self.loss.has_rule and self.scales):
            return self.loss
        return self.loss.at(float(np.median(self.scales)))

    def after(self, batch: Rows, fit: RidgeFit) -> tuple["Stream", Array]:
        """Return the stream with one more batch, and the weight of each of the batch's rows.

        ``fit`` is asked for the robust fit of the first few batches.
        """
        _check_outputs(batch, self.theta)
        if self.past is not None:
            return self._weighed(batch, self.past)
        opening = self._opened(batch)
        # Fitted again when they have grown by a twentieth: batches may be single rows.
        if opening._n_opening < 1.05 * self.n_fitted:
            return opening, np.ones(len(batch))
        stream, w = opening._fitted(fit)
        return stream, w[-len(batch) :]

    def _opened(self, batch: Rows) -> "Stream":
        """Return the stream with one more batch among the first, in a group with small ones."""
        number, groups = self.n_batches, self.opening
        if groups and len(groups[-1].rows) + len(batch) <= _COMPARED_ROWS:
            groups = (*groups[:-1], groups[-1].with_batch(batch, number))
        else:
            groups = (*groups, _Group(batch, np.full(len(batch), number)))
        return replace(self, opening=groups, n_batches=number + 1)

    @property
    def _rule(self) -> Loss:
        """The loss whose rule says how widely residuals spread."""
        return self.loss if self.loss.has_rule else Correntropy()

    def _scale(self, batch: Rows, theta: Array) -> float:
        s = Ridge(batch, np.zeros(batch.n_features)).squared_residuals(theta)
        return self._rule.resolve(s, batch.a, batch.n_targets).scale

    def _fitted(self, fit: RidgeFit) -> tuple["Stream", Array]:
        """Fit the first batches together: once to find the bad ones, once without these."""
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
        # Five bad batches among 20 are outvoted, and no fit of 20 rows per feature follows them.
        complete = len(trusts) >= 20 and n >= 20 * L
        if complete or 8 * n * L > MOST_KEPT:
            past = _expanded(rows, fitted.loss, theta, 1.0)[0]
            stream = replace(stream, past=past, opening=())
        last = Ridge(groups[-1], np.zeros(L)).squared_residuals(theta)
        return stream, trusts[-1] * fitted.criterion.weight(last)

    def _weighed(self, batch: Rows, past: Past, rounds: int = 3) -> tuple["Stream", Array]:
        """Weigh a batch by the model that stands, and let both settle."""
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

    Its minimiser is right to second order in what ``theta`` still has to move; with frozen
    weights it would be right to first order only.
    """
    problem = Ridge(batch, np.zeros(batch.n_features))
    s = problem.squared_residuals(theta)
    criterion = Floored.at(loss, s, batch.a, problem.dim)
    gram = trust * problem.weighted(theta, Curved(criterion, problem.dim)).moments[0]
    gradient = trust * problem.point(theta, criterion).gradient
    return Past(gram, gram @ theta - gradient), trust * criterion.weight(s)


def _trust(batch: Rows, size: float, sizes: tuple[float, ...]) -> float:
    """Return the weight of a batch as a whole, from its own scale or reach and the others'."""
    most, chance = _TRUSTED
    allowed = (most + chance / math.sqrt(len(batch))) * float(np.median(sizes))
    return min(1.0, allowed / size) ** 4 if size > 0 else 1.0


def _check_outputs(batch: Rows, theta: Array) -> None:
    """Refuse a batch of another number of targets than those before it."""
    if theta.size and batch.n_targets != theta.shape[1]:
        raise ValueError(
            f"the number of targets changes from {theta.shape[1]} to {batch.n_targets} "
            "within a stream: call fit, or a new machine, to begin another"
        )


def _reach(batch: Rows, gram: Array) -> float:
    """Return how far out a batch's features lie, in the metric of the Gram matrix of others."""
    H, blur = _few_rows(batch), _BLUR * float(np.trace(gram)) / len(gram)
    if blur == 0:
        return 0.0
    factor = Factor.of(gram + blur * np.eye(len(gram)))
    return math.sqrt(blur * float(np.vdot(H.T, factor.solve(H.T))) / len(H))


def _reaches(batches: tuple[Rows, ...]) -> tuple[float, ...]:
    """Return the reach of each batch: the median of what it is among each of the others."""
    samples = [_few_rows(batch) for batch in batches]
    return tuple(np.median([_reaches_among(samples, H) for H in samples], axis=0).tolist())


def _reaches_among(samples: list[Array], other: Array) -> list[float]:
    """Return the reach of the rows of each sample among other rows, by products: they are few."""
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
    """Return the rows of all batches, each with its share of its weight."""
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
