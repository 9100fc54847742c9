"""Looks at the noise: choose a loss, follow it to its fit, and choose again on what that shows.

The residuals of a better fit show the noise more sharply, so the choice of the loss and the fit
are made in turns.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.loss import Selection, as_noise, blend, choose_loss, mean_slope, variance
from kmpe.choice.noise import log_evidence
from kmpe.losses import Huber, Loss
from kmpe.losses.scale import mad
from kmpe.problems.linear import Linear
from kmpe.solvers.ridge import fit_linear
from kmpe.starts.regression import pilot

__all__ = ["Look", "adapt", "weighed_alike"]

# To tell looks apart, coefficients need no more digits.
_TOL = 1e-6
# Residuals of the chosen loss show the noise more sharply than the pilot's. On uniform +
# 10% N(0, 9), n = 100, 60 draws, the error over the best peer's was 0.53 with one more look and
# 0.49 with two, which is not much more than chance.
_MORE_LOOKS = 2
# Up to so many rows, so many of the best candidates are followed to their fits, and blended. What a
# candidate promises says more of the error than the probability of its residuals does, and is
# blurred by chance, by more the fewer the rows: it counts with the power √n / 2, charged with a
# larger part of its standard error than where one candidate must be chosen. Parts with less than a
# twentieth of the largest share are left out. On 400 draws at n = 100 the error over the best
# peer's was 0.02 less than with the one best candidate on Student's t3 noise, and 0.01 less on
# Gaussian noise with outliers.
_FOLLOW_ROWS = 200
_FOLLOWED = 30
_BLURRED = 0.5
_BLEND_CHARGE = 0.7
_LEAST_SHARE = 0.05
# The search for rows on one plane: up to how many rows it is made without a promise; the step from
# one σ to the next, from the MAD down; how many rows per coefficient must lie there, where any fit
# has one; which share of the rows of the step before, of which a density leaves a tenth; and the
# share of the variance that may be left. Laplace noise, the most peaked of the usual, leaves nine
# tenths.
_ZOOM_ROWS = 1000
_ZOOM = 0.1
_ON_PLANE = 3
_MOST = 0.5
_ZOOM_GAIN = 0.5
_ZOOM_TOL = 1e-12
# The second start must promise this much less variance: against bad leverage points the
# trimmed one is the safer of the two.
_SECOND_START = 0.8


class Look(NamedTuple):
    """A choice of the loss, the fit with it, and the variance that its residuals confirm."""

    selection: Selection
    theta: Array
    variance: float


def adapt(sample: Linear, theta: Array, max_iter: int) -> Look:
    """Return the choice of the loss, and the fit with it to the sample, from a pilot fit.

    The choice is repeated on the residuals that it leads to, as long as these keep what it
    promised. Where a start from least squares ends elsewhere, the one of the two that promises
    less variance is followed. Few rows then blend the best candidates.
    """
    look = _look(sample, theta, max_iter)
    other = pilot(sample, trimmed=False)
    if not _close(sample, look, other):
        rival = _look(sample, other, max_iter)
        if rival.selection.best_variance < _SECOND_START * look.selection.best_variance:
            look = rival
    for _ in range(_MORE_LOOKS):
        closer = _look(sample, look.theta, max_iter)
        if closer.variance >= look.variance:
            break
        look = closer
    if sample.dim == 1 and float(sample.a.sum()) <= _FOLLOW_ROWS:
        look = _blended(sample, look, max_iter)
    return _zoom(sample, look, max_iter)


def _close(sample: Linear, look: Look, theta: Array) -> bool:
    """Whether a fit is no further from a look's than the noise is wide."""
    apart = sample.H @ (look.theta - theta)
    unit = mad(sample.squared_residuals(look.theta), sample.a, sample.dim)
    return float(np.average(np.einsum("ij,ij->i", apart, apart), weights=sample.a)) <= unit**2


def _blended(sample: Linear, look: Look, max_iter: int) -> Look:
    """Follow the best candidates, and blend them by what they promise and what they leave.

    Few rows do not tell which of several losses is the best, and a blend owes less to chance than
    any one of them. What a candidate promises rests on the residuals of another fit; those of its
    own fit, if it suits the noise, are the more probable, where the noise has edges above all. A
    candidate that leads elsewhere has no share: it may be one that outliers draw to them.
    """
    noise, a = _noise(sample, look.theta)
    unit = mad(noise[:, 0] ** 2, a, 1)
    if unit == 0:
        return look

    def log_probability(rival: Look) -> float:
        if not (0 < rival.variance < math.inf and _close(sample, look, rival.theta)):
            return -math.inf
        noise, a = _noise(sample, rival.theta)
        return log_evidence(np.abs(noise[:, 0]) / unit, a)

    selection = _choose(sample, look.theta)
    best = np.argsort(selection.score, kind="stable")[:_FOLLOWED]
    losses = [selection.candidates[i] for i in best]
    evidence = [
        log_probability(_follow(sample, replace(selection, loss=loss), look.theta, max_iter))
        for loss in losses
    ]
    promise = np.log(selection.variance[best]) + _BLEND_CHARGE * selection.uncertainty[best]
    log_share = np.array(evidence) - _BLURRED * math.sqrt(float(a.sum())) * promise
    if not np.isfinite(log_share.max()):
        return look
    shares = np.exp(log_share - log_share.max())
    R = sample.residuals(look.theta)
    loss = blend(
        R,
        losses,
        np.where(shares >= _LEAST_SHARE, shares, 0.0),
        sample_weight=sample.a,
        leverage=sample.leverages,
    )
    chosen = selection.with_choice(loss, _variance(sample, loss, look.theta))
    return _follow(sample, chosen, look.theta, max_iter)


def _zoom(sample: Linear, look: Look, max_iter: int) -> Look:
    """Follow rows that lie on one plane exactly: noise with an atom, as rounded noise has.

    Least absolute deviations find that plane without error. Huber's loss comes to them as σ
    falls, and is followed for as long as rows enough are within σ. Many rows must promise a gain
    before that; few are too blurred to do so.
    """
    sigma = mad(sample.squared_residuals(look.theta), sample.a, sample.dim)
    rounding = float(np.finfo(np.float64).eps * np.abs(sample.T).max())
    few = float(sample.a.sum()) <= _ZOOM_ROWS
    if not (few or _promises_plane(sample, look, sigma, rounding)):
        return look
    theta, goes_on = look.theta, True
    while goes_on and (sigma := _ZOOM * sigma) > rounding:
        loss = Huber(sigma)
        chosen = look.selection.with_choice(loss, _variance(sample, loss, theta))
        closer = _follow(sample, chosen, theta, max_iter, _ZOOM_TOL)
        theta = closer.theta
        goes_on = _enough_within(sample, theta, sigma)
        most = _within(sample, theta, sigma) > _MOST * _within(sample, theta, sigma / _ZOOM)
        if goes_on and most and closer.variance < _ZOOM_GAIN * look.variance:
            look = closer
    return look


def _promises_plane(sample: Linear, look: Look, sigma: float, rounding: float) -> bool:
    """Whether the residuals of a look promise a gain to Huber's loss with some small σ."""
    while (sigma := _ZOOM * sigma) > rounding and _enough_within(sample, look.theta, sigma):
        if _variance(sample, Huber(sigma), look.theta) < _ZOOM_GAIN * look.variance:
            return True
    return False


def _enough_within(sample: Linear, theta: Array, sigma: float) -> bool:
    return _within(sample, theta, sigma) > _ON_PLANE * int(sample.H.shape[1])


def _within(sample: Linear, theta: Array, sigma: float) -> float:
    return float(sample.a @ (sample.squared_residuals(theta) <= sigma**2))


def _look(sample: Linear, theta: Array, max_iter: int) -> Look:
    """Choose a loss for the residuals of ``theta``, and follow it."""
    return _follow(sample, _choose(sample, theta), theta, max_iter)


def _choose(sample: Linear, theta: Array) -> Selection:
    R = sample.residuals(theta)
    return choose_loss(R, sample_weight=sample.a, leverage=sample.leverages)


def _noise(sample: Linear, theta: Array) -> tuple[Array, Array]:
    R = sample.residuals(theta)
    return as_noise(R, sample.a, sample.leverages)


def _follow(
    sample: Linear, selection: Selection, theta: Array, max_iter: int, tol: float = _TOL
) -> Look:
    """Return the fit with the chosen loss, and what its residuals say of that loss."""
    problem = weighed_alike(sample, sample, selection.loss, theta)
    fit = fit_linear(problem, selection.loss, theta, max_iter, tol)
    return Look(selection, fit.theta, _variance(sample, selection.loss, fit.theta))


def _variance(sample: Linear, loss: Loss, theta: Array) -> float:
    R = sample.residuals(theta)
    return variance(R, loss, sample_weight=sample.a, leverage=sample.leverages)


def weighed_alike(problem: Linear, sample: Linear, loss: Loss, theta: Array) -> Linear:
    """Return the problem with the penalty that does to this loss what it does to least squares."""
    slope = mean_slope(loss, sample.squared_residuals(theta), sample.a, sample.dim)
    return replace(problem, penalties=problem.penalties * slope)
