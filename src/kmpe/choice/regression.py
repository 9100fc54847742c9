"""Robust linear regression from start to end: pilot, choice of the loss, fit to all rows."""

from dataclasses import dataclass, replace

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.looks import adapt, weighed_alike
from kmpe.choice.loss import Selection
from kmpe.losses import Loss
from kmpe.problems.linear import Linear
from kmpe.solvers.reweighted import Fit, resolve
from kmpe.solvers.ridge import fit_linear
from kmpe.starts.regression import bad_leverage, pilot, refit, sample_rows

__all__ = ["Regression", "regress"]

# So many rows choose a loss to 1% of its variance, and start the fit to all rows within a
# step or two of its end.
_SAMPLE_ROWS = 4000
_SAMPLE_ROWS_PER_COEFFICIENT = 24
# Where there are more rows, so many of them choose between the best of the losses again: of
# Student's t3 noise 4000 rows cannot tell a loss from another with 20% more variance.
_FINALISTS = 6
_FINALISTS_ROWS = 20_000


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
        return Regression(fit_linear(problem, loss, theta, max_iter, tol), None, problem)
    out = bad_leverage(problem, sample, theta)
    if out.any():
        problem = replace(problem, a=np.where(out, 0.0, problem.a))
        sample = sample.take(~bad_leverage(sample, sample, theta))
    selection, theta, _ = adapt(sample, refit(sample, theta), max_iter)
    if len(sample) < np.count_nonzero(problem.a):
        wide = sample_rows(problem, _FINALISTS_ROWS)
        selection = selection.narrowed(
            _FINALISTS, wide.residuals(theta), sample_weight=wide.a, leverage=wide.leverages
        )
    problem = weighed_alike(problem, sample, selection.loss, theta)
    fit = fit_linear(problem, selection.loss, theta, max_iter, tol)
    fit = replace(fit, weights=fit.weights * (problem.a > 0))
    return Regression(fit, selection, problem)
