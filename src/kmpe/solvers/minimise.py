"""The choice of the solver for a robust ridge fit.

With many rows per feature, L-BFGS on all rows completes the fit to a sample: the sample gives the
initial estimate and the preconditioner, and each pass reduces the excess cost by about the number
of rows per feature in the sample. Otherwise reweighted steps are taken, and Newton steps where
these are slow. Least squares needs one factorisation whatever the number of rows.
"""

import math
from dataclasses import replace

from kmpe.arrays import Array
from kmpe.losses import Loss, Squared
from kmpe.losses.floored import Curved, Floored, Newton
from kmpe.losses.scale import mad
from kmpe.problems.base import Weighted
from kmpe.problems.factor import Factor
from kmpe.problems.ridge import Point, Ridge
from kmpe.rows.sample import GROWTH, Samples
from kmpe.rows.threads import MOST_KEPT
from kmpe.solvers.lbfgs import Outcome, descend
from kmpe.solvers.record import Fit, Status
from kmpe.solvers.reweighted import floored, reweight
from kmpe.solvers.walk import Chosen

__all__ = [
    "LEAST_ROWS",
    "SMOOTHING",
    "START_ROWS",
    "SURE_ROWS",
    "has_many_rows",
    "minimise",
    "refine",
    "sample_of",
    "solve",
]

#: Rows per feature in the sample on which a fit starts: the excess cost of a fit to m rows of L
#: features is L / m of the cost, here less than a tenth.
START_ROWS = 12
# From this many rows per feature, passes over the rows are tried: twice the rows of the sample.
# `benchmarks/crossover.py` compares both solvers around it.
_MANY_ROWS = 2 * START_ROWS
#: Rows per feature above which estimated variances need no correction: their relative standard
#: error is about √(1 / 100), a tenth.
SURE_ROWS = 100
#: The smallest sample: with 4000 rows the relative standard error of a standard error is
#: √(1 / 8000), 1%.
LEAST_ROWS = 4000
#: The half width, in MADs, of the window over which the slope of ψ is smoothed.
SMOOTHING = 0.5

_STATUS = {
    Outcome.CONVERGED: Status.CONVERGED,
    Outcome.STALLED: Status.STALLED,
    Outcome.MAX_ITER: Status.MAX_ITER,
}


def has_many_rows(problem: Ridge, per_feature: int | None = None) -> bool:
    """Whether there are so many rows per feature; by default, enough for passes to pay."""
    least = _MANY_ROWS if per_feature is None else per_feature
    return problem.rows.n_counted >= least * problem.rows.n_features


def sample_of(problem: Ridge) -> Ridge:
    """Return the sample for the initial estimate, the choices and the preconditioner.

    It is a tenth of the rows, whose factorisation costs a tenth of least squares, but at most 200
    rows per feature, with which each step gains two digits, and at least 32 if these are no more
    than a quarter of all: 50 000 rows of 300 features then take 10 steps instead of 12. It is all
    rows if these are few.
    """
    L, n = problem.rows.n_features, problem.rows.n_counted
    size = max(n // 10, min(32 * L, n // 4))
    size = min(size, 200 * L, MOST_KEPT // (8 * L))
    rows = Samples(problem.rows).draw(max(size, START_ROWS * L, LEAST_ROWS))
    return problem if rows is problem.rows else problem.on(rows)


def minimise(
    problem: Ridge, sample: Ridge, loss: Loss, theta: Array, *, max_iter: int, tol: float
) -> Fit[Array]:
    """Minimise ½ Σ aᵢ ρ(‖tᵢ - hᵢβ‖²) + ½ Σ αⱼ ‖βⱼ‖² over β.

    Parameters
    ----------
    problem : Ridge
        The problem on all rows.
    sample : Ridge
        The problem on a sample.
    loss : Loss
        ρ, its σ a number.
    theta : array
        The initial parameter.
    max_iter, tol
        As in `reweight`.
    """
    fit = None
    if loss.quadratic:
        fit = _fit_least_squares(problem, loss, max_iter, tol)
    elif has_many_rows(problem):
        fit = _fit_by_passes(problem, sample, loss, theta, max_iter, tol)
    return _fit_by_steps(problem, loss, theta, (), max_iter, tol) if fit is None else fit


def solve(chosen: Chosen[Ridge, Array], *, max_iter: int, tol: float) -> Fit[Array]:
    """Minimise with the chosen loss."""
    parts = chosen.problem, chosen.sample, chosen.loss, chosen.theta
    return minimise(*parts, max_iter=max_iter, tol=tol)


def refine(problem: Ridge, loss: Loss, theta: Array, factor: Factor) -> Array:
    """Return the fit to a sample to statistical accuracy, preconditioned by a given factor."""
    criterion = floored(problem, loss, theta)
    tol = problem.rows.n_features / len(problem.rows)
    start = problem.point(theta, criterion)
    point = descend(
        lambda theta: problem.point(theta, criterion), start, factor, max_iter=30, tol=tol
    ).point
    return point.theta


def _fit_least_squares(problem: Ridge, loss: Loss, max_iter: int, tol: float) -> Fit[Array] | None:
    """Solve least squares: one factorisation, then steps of iterative refinement.

    None if nothing is penalised and the features are nearly dependent.
    """
    if not problem.penalised and len(problem.rows) < problem.rows.n_features:
        return None
    at_zero = problem.weighted(problem.zero, Squared())
    factor = problem.factor(at_zero)
    if not problem.penalised and not factor.sharp:
        return None
    criterion = Floored(loss, 0.0)
    start = problem.point(problem.step(at_zero, factor), criterion)
    return _finish(problem, problem, criterion, start, factor, (at_zero.cost,), max_iter, tol)


def _fit_by_passes(
    problem: Ridge, sample: Ridge, loss: Loss, theta: Array, max_iter: int, tol: float
) -> Fit[Array] | None:
    """Minimise on all rows, preconditioned by a sample; None if that would not work."""
    criterion = floored(sample, loss, theta)
    start = problem.point(theta, criterion)
    weighted = _bent(sample, theta, criterion)
    if not (weighted.mass > 0 and math.isfinite(start.cost)):
        return None
    factor = sample.factor(weighted)
    if not problem.penalised and not factor.sharp:
        return None
    return _finish(problem, sample, criterion, start, factor, (), max_iter, tol)


def _bent(sample: Ridge, theta: Array, criterion: Floored) -> Weighted[Array]:
    """Return the problem weighted by the curvature of the loss.

    ψ' is smoothed: at single residuals it varies much, and for peaked noise it is unbounded.
    """
    width = SMOOTHING * mad(sample.squared_residuals(theta), sample.sample_weight, sample.dim)
    return sample.weighted(theta, Curved(criterion, sample.dim, width))


def _finish(
    problem: Ridge,
    sample: Ridge,
    criterion: Floored,
    start: Point,
    factor: Factor,
    costs: tuple[float, ...],
    max_iter: int,
    tol: float,
) -> Fit[Array]:
    """Minimise on all rows; if that is slow, with a larger sample and finally with all rows.

    Far from the minimum curvatures are misleading, and the weights, their bounds, are used.
    """

    def evaluate(theta: Array) -> Point:
        return problem.point(theta, criterion)

    descent = descend(evaluate, start, factor, max_iter=max_iter, tol=tol)
    costs += descent.history
    rows = sample.rows
    while descent.outcome is Outcome.SLOW:
        theta, whole = descent.point.theta, rows is problem.rows
        larger = Samples(problem.rows).draw(GROWTH * len(rows))
        # If a few rows have nearly all the weight, a larger sample may draw no others.
        rows = larger if len(larger) > len(rows) else problem.rows
        sample = problem.on(rows)
        factor = sample.factor(sample.weighted(theta, criterion))
        left = max_iter + 1 - len(costs)
        descent = descend(evaluate, descent.point, factor, max_iter=left, tol=tol)
        costs += descent.history[1:]
        if whole and descent.outcome is Outcome.SLOW:
            theta = descent.point.theta
            return _fit_by_steps(problem, criterion, theta, costs[:-1], max_iter, tol)
    point, status = descent.point, _STATUS[descent.outcome]
    change = descent.left / (abs(point.cost) or 1.0)
    return Fit(point.theta, criterion, costs, status, change, max_iter, tol)


def _fit_by_steps(
    problem: Ridge,
    loss: Loss | Floored,
    theta: Array,
    costs: tuple[float, ...],
    max_iter: int,
    tol: float,
) -> Fit[Array]:
    """Take reweighted steps, and Newton steps if these are slow.

    ``costs`` are those of the steps so far, without that of ``theta``.
    """
    left = max(max_iter - len(costs), 0)
    # Newton steps after twenty: by then it is clear which residuals are near zero.
    fit = reweight(problem, loss, theta, max_iter=min(20, left), tol=tol)
    costs += fit.history
    left -= len(fit.history) - 1
    if fit.status is Status.MAX_ITER and left > 0:
        criterion = fit.criterion
        if not criterion.loss.singular:  # a singular loss has curvatures of -∞ near residual 0
            criterion = Newton(criterion.loss, criterion.floor, problem.dim)
        fit = reweight(problem, criterion, fit.theta, max_iter=left, tol=tol)
        costs += fit.history[1:]
    return replace(fit, history=costs, max_iter=max_iter)
