"""Robust linear regression from start to end: pilot, choice of the loss, fit to all rows."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from kmpe.adaptive import Selection, choose_loss, mean_slope, variance
from kmpe.fitting import fit_many_rows
from kmpe.losses import Huber, Loss
from kmpe.problems.linear import Linear, is_sparse
from kmpe.problems.ridge import Ridge
from kmpe.rows import Rows
from kmpe.scale import Array, mad
from kmpe.solve import Fit, resolve, reweight
from kmpe.start import bad_leverage, pilot, refit, sample_rows

__all__ = ["Regression", "regress"]

# So many rows choose a loss to 1% of its variance, and start the fit to all rows within a
# step or two of its end.
_SAMPLE_ROWS = 4000
_SAMPLE_ROWS_PER_COEFFICIENT = 24
_SAMPLE_TOL = 1e-6
# Where there are more rows, so many of them choose between the best of the losses again: of
# Student's t3 noise 4000 rows cannot tell a loss from another with 20% more variance.
_FINALISTS = 6
_FINALISTS_ROWS = 20_000
# From here on reweighted steps, each of which forms HᵀΛH, cost more than passes over the rows.
_MANY_ROWS = 10_000
_MUCH_WORK = 10**8
# A pass gains a digit or two: the parameters may as well have the digits that tol asks for.
_TIGHTER = 0.01
# Residuals of the chosen loss show the noise more sharply than the pilot's. On uniform +
# 10% N(0, 9), n = 100, 60 draws, the error over the best peer's was 0.53 with one more look and
# 0.49 with two, which is not much more than chance.
_MORE_LOOKS = 2
# The step from one σ to the next in the search for rows on one plane, from the MAD down; how many
# rows per coefficient must lie there, where any fit has one; and the share of the variance that
# may be left. Laplace noise, the most peaked of the usual, leaves nine tenths.
_ZOOM = 0.25
_ON_PLANE = 3
_ZOOM_GAIN = 0.5
_ZOOM_TOL = 1e-12
# The second start must promise this much less variance: against bad leverage points the
# trimmed one is the safer of the two.
_SECOND_START = 0.8


@dataclass(frozen=True)
class Regression:
    """A fit, the choice of its loss if there was one, and the problem that it solves.

    The problem is the one that was given but for its penalties, which suit the loss, and for bad
    leverage points, which have no weight in it.
    """

    fit: Fit[Array]
    selection: Selection | None
    problem: Linear


def regress(problem: Linear, loss: Loss | None, *, max_iter: int, tol: float) -> Regression:
    """Fit a linear problem robustly; ``loss`` None chooses it.

    Pilot and choice happen on a sample of the rows, where there are many. With a chosen loss
    bad leverage points are left out; a given loss has to deal with them itself.
    """
    size = max(_SAMPLE_ROWS, _SAMPLE_ROWS_PER_COEFFICIENT * problem.H.shape[1])
    sample = sample_rows(problem, size)
    theta = pilot(sample)
    if loss is not None:
        loss = resolve(sample, loss, theta)
        return Regression(_fit(problem, loss, theta, max_iter, tol), None, problem)
    out = bad_leverage(problem, sample, theta)
    if out.any():
        problem = replace(problem, a=np.where(out, 0.0, problem.a))
        sample = sample.take(~bad_leverage(sample, sample, theta))
    selection, theta, _ = _adapt(sample, refit(sample, theta), max_iter)
    if len(sample) < np.count_nonzero(problem.a):
        wide = sample_rows(problem, _FINALISTS_ROWS)
        selection = selection.narrowed(
            _FINALISTS, wide.residuals(theta), sample_weight=wide.a, leverage=wide.leverages
        )
    problem = _weighed_alike(problem, sample, selection.loss, theta)
    fit = _fit(problem, selection.loss, theta, max_iter, tol)
    fit = replace(fit, weights=fit.weights * (problem.a > 0))
    return Regression(fit, selection, problem)


def _fit(problem: Linear, loss: Loss, theta: Array, max_iter: int, tol: float) -> Fit[Array]:
    """Fit all rows of a problem, by passes over them where that is less work."""
    n, k = problem.H.shape
    if (n >= _MANY_ROWS or n * k**2 >= _MUCH_WORK) and not is_sparse(problem.H):
        rows = Rows.of(problem.H, problem.T, problem.a)
        ridge = Ridge(rows, problem.penalties[:, None])
        fit = fit_many_rows(ridge, loss, theta, max_iter=max_iter, tol=_TIGHTER * tol)
        if fit is not None:
            return fit
    return reweight(problem, loss, theta, max_iter=max_iter, tol=tol)


def _adapt(sample: Linear, theta: Array, max_iter: int) -> "_Look":
    """Return the choice of the loss, and the fit with it to the sample, from a pilot fit.

    The choice is repeated on the residuals that it leads to, as long as these keep what it
    promised. Where a start from least squares ends elsewhere, the one of the two that promises
    less variance is followed.
    """
    look = _look(sample, theta, max_iter)
    other = pilot(sample, trimmed=False)
    apart = sample.H @ (look.theta - other)
    unit = mad(sample.squared_residuals(look.theta), sample.a, sample.dim)
    if float(np.average(np.einsum("ij,ij->i", apart, apart), weights=sample.a)) > unit**2:
        rival = _look(sample, other, max_iter)
        if rival.selection.best_variance < _SECOND_START * look.selection.best_variance:
            look = rival
    for _ in range(_MORE_LOOKS):
        closer = _look(sample, look.theta, max_iter)
        if closer.variance >= look.variance:
            break
        look = closer
    return _zoom(sample, look, max_iter)


def _zoom(sample: Linear, look: "_Look", max_iter: int) -> "_Look":
    """Follow rows that lie on one plane exactly: noise with an atom, as rounded noise has.

    Least absolute deviations find that plane without error. Huber's loss does so step by step,
    its σ as small as the residuals so far can tell the rows on the plane from the others.
    """
    sigma = mad(sample.squared_residuals(look.theta), sample.a, sample.dim)
    rounding = float(np.finfo(np.float64).eps * np.abs(sample.T).max())
    while sigma > rounding:
        sigma *= _ZOOM
        s = sample.squared_residuals(look.theta)
        if float(sample.a @ (s <= sigma**2)) <= _ON_PLANE * sample.H.shape[1]:
            break
        loss = Huber(sigma)
        promised = _variance(sample, loss, look.theta)
        if promised < _ZOOM_GAIN * look.variance:
            chosen = look.selection.with_choice(loss, promised)
            closer = _follow(sample, chosen, look.theta, max_iter, _ZOOM_TOL)
            if closer.variance >= _ZOOM_GAIN * look.variance:
                break
            look = closer
    return look


class _Look(NamedTuple):
    """A choice of the loss, the fit with it, and the variance that its residuals confirm."""

    selection: Selection
    theta: Array
    variance: float


def _look(sample: Linear, theta: Array, max_iter: int) -> _Look:
    """Choose a loss for the residuals of ``theta``, and follow it."""
    selection = choose_loss(
        sample.residuals(theta), sample_weight=sample.a, leverage=sample.leverages
    )
    return _follow(sample, selection, theta, max_iter)


def _follow(
    sample: Linear, selection: Selection, theta: Array, max_iter: int, tol: float = _SAMPLE_TOL
) -> _Look:
    """Return the fit with the chosen loss, and what its residuals say of that loss."""
    problem = _weighed_alike(sample, sample, selection.loss, theta)
    fit = _fit(problem, selection.loss, theta, max_iter, tol)
    return _Look(selection, fit.theta, _variance(sample, selection.loss, fit.theta))


def _variance(sample: Linear, loss: Loss, theta: Array) -> float:
    R = sample.residuals(theta)
    return variance(R, loss, sample_weight=sample.a, leverage=sample.leverages)


def _weighed_alike(problem: Linear, sample: Linear, loss: Loss, theta: Array) -> Linear:
    """Return the problem with the penalty that does to this loss what it does to least squares."""
    slope = mean_slope(loss, sample.squared_residuals(theta), sample.a, sample.dim)
    return replace(problem, penalties=problem.penalties * slope)
