"""The end of a robust ridge fit: which solver runs is decided here and nowhere else.

With many rows for each feature L-BFGS passes over all rows end what a sample began: the sample
gives the start and the factor of the Hessian, and each pass divides what is left of the cost by
about the sample's rows per feature. Otherwise reweighted steps do it, and Newton's where these are
slow. Least squares take one factor of all the rows however many there are.
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

#: Rows per feature in the sample on which a fit starts: its cost is within a tenth of the best.
START_ROWS = 12
# From this many rows per feature on passes over the rows are tried: twice the rows that their
# start needs. `benchmarks/crossover.py` compares both solvers around it.
_MANY_ROWS = 2 * START_ROWS
#: From so many rows per feature on estimates of variances are taken as they are: the chance that
#: is in them is about √(1 / 100), a tenth.
SURE_ROWS = 100
#: The least number of rows in a sample: so many choose a loss to 1% of its variance.
LEAST_ROWS = 4000
#: MADs to either side over which the slope of ψ is smoothed.
SMOOTHING = 0.5

_STATUS = {
    Outcome.CONVERGED: Status.CONVERGED,
    Outcome.STALLED: Status.STALLED,
    Outcome.MAX_ITER: Status.MAX_ITER,
}


def has_many_rows(problem: Ridge, per_feature: int | None = None) -> bool:
    """Whether there are so many rows for each feature; by default, that passes over them pay."""
    least = _MANY_ROWS if per_feature is None else per_feature
    return problem.rows.n_counted >= least * problem.rows.n_features


def sample_of(problem: Ridge) -> Ridge:
    """Return the sample on which a fit starts, chooses and takes its factor; all rows if few.

    It is a tenth of the rows, whose factor costs a tenth of least squares, but no more rows per
    feature than 200, with which each step gains two digits, and no fewer than 32 if they are a
    quarter of all: 50 000 rows of 300 features then take 10 steps, not 12.
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
        All the rows.
    sample : Ridge
        The problem on some of them, which stand for all.
    loss : Loss
        ρ, its σ a number.
    theta : array
        Where to start.
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
    """Minimise what was chosen: the last station but the record."""
    parts = chosen.problem, chosen.sample, chosen.loss, chosen.theta
    return minimise(*parts, max_iter=max_iter, tol=tol)


def refine(problem: Ridge, loss: Loss, theta: Array, factor: Factor) -> Array:
    """Return the fit of a sample, as far as its rows can tell, by a factor from other rows."""
    criterion = floored(problem, loss, theta)
    tol = problem.rows.n_features / len(problem.rows)
    start = problem.point(theta, criterion)
    point = descend(
        lambda theta: problem.point(theta, criterion), start, factor, max_iter=30, tol=tol
    ).point
    return point.theta


def _fit_least_squares(problem: Ridge, loss: Loss, max_iter: int, tol: float) -> Fit[Array] | None:
    """Solve least squares: one factor of all the rows, then passes that polish.

    None where nothing is penalised and the features are all but dependent.
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
    """Descend on all rows by a sample's factor; None where nothing would come of it."""
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

    ψ' of single rows has much chance in it, and for peaked noise no bound: it is smoothed.
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
    """Descend on all rows; with a larger sample, and at last all rows, where that is slow.

    Far from the end curvatures mislead, and the weights that bound them take their place.
    """

    def evaluate(theta: Array) -> Point:
        return problem.point(theta, criterion)

    descent = descend(evaluate, start, factor, max_iter=max_iter, tol=tol)
    costs += descent.history
    rows = sample.rows
    while descent.outcome is Outcome.SLOW:
        theta, whole = descent.point.theta, rows is problem.rows
        larger = Samples(problem.rows).draw(GROWTH * len(rows))
        # A few rows of large weight may be all that is drawn, however many are asked for.
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
    """Take reweighted steps, and Newton's where these are slow: a factor each, but no luck needed.

    ``costs`` are those of the steps so far, without that of ``theta``.
    """
    left = max(max_iter - len(costs), 0)
    # Newton's steps pay after twenty: residuals near zero are then known.
    fit = reweight(problem, loss, theta, max_iter=min(20, left), tol=tol)
    costs += fit.history
    left -= len(fit.history) - 1
    if fit.status is Status.MAX_ITER and left > 0:
        criterion = fit.criterion
        if not criterion.loss.singular:  # whose curvature is infinite next to where it is negative
            criterion = Newton(criterion.loss, criterion.floor, problem.dim)
        fit = reweight(problem, criterion, fit.theta, max_iter=left, tol=tol)
        costs += fit.history[1:]
    return replace(fit, history=costs, max_iter=max_iter)
