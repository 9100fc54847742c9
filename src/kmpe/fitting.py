"""The robust ridge fit: its start, and the choice of the solver that ends it.

Every estimator on features comes here; which solver runs is decided here and nowhere else.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from kmpe.accelerate import Outcome, Point, descend
from kmpe.losses import Loss
from kmpe.machine import team
from kmpe.objective import Floored
from kmpe.problems.ridge import Factor, Ridge
from kmpe.sampling import Samples
from kmpe.scale import Array
from kmpe.solve import Fit, Status, anneal, resolve, reweight

__all__ = ["INITS", "fit_ridge"]

INITS = ("robust", "ridge", "zero")

# From this many rows per feature on the accelerated solver is tried: twice the rows that its
# start needs. `benchmarks/crossover.py` compares both solvers around it.
_ACCELERATE = 24
# Rows per feature in the sample on which the fit starts: the fit on it then has a cost within
# a tenth of the best.
_START = 12
# The factor comes from a tenth of the rows, which costs a tenth of least squares, but from no
# more rows per feature than this: each step then gains two digits.
_SHARE = 10
_ENOUGH = 200
_SAMPLE_BYTES = 256 << 20
# A poor sample is followed by one that is so many times larger.
_GROWTH = 4
# Rows for σ: the median residual of so many is known to 1%.
_SCALE = 20_000
_SETTLED = 0.01
_MAX_SETTLING = 10
# Where reweighting ends a fit its steps are short, and say less of what is left to gain.
_TAIL = 0.1

_STATUS = {
    Outcome.CONVERGED: Status.CONVERGED,
    Outcome.STALLED: Status.STALLED,
    Outcome.MAX_ITER: Status.MAX_ITER,
}


def fit_ridge(
    problem: Ridge,
    loss: Loss,
    *,
    init: str = "robust",
    theta: Array | None = None,
    max_iter: int = 100,
    tol: float = 1e-8,
    seed: int = 0,
) -> Fit[Array]:
    """Minimise ½ Σ aᵢ ρ(‖tᵢ - hᵢβ‖²) + ½ α ‖β‖² over β.

    With many more rows than features the fit starts on a sample of them and ends with
    `descend` on all; otherwise it is `reweight` throughout.

    Parameters
    ----------
    problem : Ridge
        The rows and α.
    loss : Loss
        ρ; its σ may be a rule, which is then asked on the way and frozen.
    init : {"robust", "ridge", "zero"}
        "robust" starts from a ridge fit and brings σ down from the largest residual to its
        value; "ridge" leaves out the second part; "zero" is Algorithm 1 as printed.
    theta : array, optional
        Where to start instead, in the problem's own parameters.
    max_iter, tol
        As in `reweight`.
    seed : int
        Seed of the sample of rows.

    Returns
    -------
    Fit
        Its ``theta`` is the problem's parameter: ``problem.coefficients(fit.theta)`` is β.
    """
    with team():
        if init == "zero" and theta is None:
            start = problem.zero
            loss = resolve(problem, loss, start)
            return reweight(problem, loss, start, max_iter=max_iter, tol=tol, as_printed=True)
        if loss.quadratic and problem.alpha > 0:
            return _fit_quadratic(problem, loss, max_iter, tol)
        n = int(np.count_nonzero(problem.sample_weight))
        if n >= _ACCELERATE * problem.rows.n_features:
            fit = _fit_sampled(Samples.of(problem, seed), loss, init, theta, max_iter, tol)
            if fit is not None:
                return fit
        if theta is None:
            loss, theta = _start(problem, loss, init)
        loss = resolve(problem, loss, theta)
        return reweight(problem, loss, theta, max_iter=max_iter, tol=tol)


@dataclass(frozen=True)
class _Pass:
    """The cost of a parameter, with its gradient, in one pass; the weights are left in ``w``."""

    problem: Ridge
    loss: Floored
    w: Array

    def __call__(self, theta: Array) -> Point:
        return Point(theta, *self.problem.cost_and_gradient(theta, self.loss, self.w))


def _fit_quadratic(problem: Ridge, loss: Loss, max_iter: int, tol: float) -> Fit[Array]:
    """Solve least squares: one factor of all the rows, then passes that polish."""
    evaluate = _Pass(problem, Floored(loss, 0.0), np.empty(len(problem.rows)))
    ones = np.broadcast_to(np.float64(1.0), len(problem.rows))
    factor, descent = problem.normal(ones, problem.zero)
    start = evaluate(factor.solve(descent))
    T = problem.rows.T
    at_zero = 0.5 * float(problem.sample_weight @ np.einsum("ij,ij->i", T, T))
    return _finish(evaluate, start, factor, (at_zero,), Samples.of(problem, 0), max_iter, tol)


def _fit_sampled(
    samples: Samples, loss: Loss, init: str, theta: Array | None, max_iter: int, tol: float
) -> Fit[Array] | None:
    """Fit on a small sample, then on a larger one, then on all rows; None where that fails."""
    problem = samples.problem
    L = problem.rows.n_features
    size = min(samples.n // _SHARE, _ENOUGH * L, _SAMPLE_BYTES // (8 * L))
    middle = samples.draw(max(size, _START * L))
    if theta is None:
        small = samples.draw(_START * L)
        start_loss, theta = _start(small, loss, init)
        theta = _refine(middle, resolve(small, start_loss, theta), theta, small)
    wide = middle if len(middle.rows) >= _SCALE else samples.draw(_SCALE)
    loss, theta = _settle(wide, loss, theta, middle)
    floored, factor = _factor(middle, loss, theta)
    evaluate = _Pass(problem, floored, np.empty(len(problem.rows)))
    start = evaluate(theta)
    if not (evaluate.w.any() and math.isfinite(start.cost)):
        return None
    if problem.alpha == 0 and not factor.sharp:
        return None
    return _finish(evaluate, start, factor, (), samples, max_iter, tol)


def _finish(
    evaluate: _Pass,
    start: Point,
    factor: Factor,
    costs: tuple[float, ...],
    samples: Samples,
    max_iter: int,
    tol: float,
) -> Fit[Array]:
    """Descend on all rows; with a larger sample, and at last all rows, where that is slow."""
    descent = descend(evaluate, start, factor, max_iter=max_iter, tol=tol)
    costs += descent.history
    size = _START * evaluate.problem.rows.n_features
    while descent.outcome is Outcome.SLOW:
        theta = descent.point.theta
        size *= _GROWTH
        sample = samples.draw(size)
        s = sample.squared_residuals(theta)
        factor = sample.factor(evaluate.loss.curvature(s, sample.dim))
        left = max_iter + 1 - len(costs)
        descent = descend(evaluate, descent.point, factor, max_iter=left, tol=tol)
        costs += descent.history[1:]
        if sample is evaluate.problem and len(descent.history) == 1:
            return _finish_slowly(evaluate, theta, costs, max_iter, tol)
    point, status = descent.point, _STATUS[descent.outcome]
    if status is Status.STALLED:
        evaluate(point.theta)  # the weights are those of a step that failed
    message = status.sentence(max_iter, descent.left / (abs(point.cost) or 1.0), tol)
    return Fit(point.theta, evaluate.loss.loss, evaluate.w, costs, status, message)


def _finish_slowly(
    evaluate: _Pass, theta: Array, costs: tuple[float, ...], max_iter: int, tol: float
) -> Fit[Array]:
    """End with reweighted steps on all rows: slow, but they need no luck."""
    loss, left = evaluate.loss, max_iter + 1 - len(costs)
    rest = reweight(evaluate.problem, loss.loss, theta, max_iter=left, tol=tol, floored=loss)
    message = rest.message.replace(f"max_iter={left}", f"max_iter={max_iter}")
    return replace(rest, history=costs + rest.history[1:], message=message)


def _factor(sample: Ridge, loss: Loss, theta: Array) -> tuple[Floored, Factor]:
    """Return the loss with its floor, and the factor of the Hessian on the sample."""
    s = sample.squared_residuals(theta)
    floored = Floored.at(loss, s, sample.sample_weight, sample.dim)
    return floored, sample.factor(floored.curvature(s, sample.dim))


def _refine(problem: Ridge, loss: Loss, theta: Array, sample: Ridge) -> Array:
    """Return the fit of a sample, as far as its rows can tell, by the factor of a smaller one."""
    floored, factor = _factor(sample, loss, theta)
    evaluate = _Pass(problem, floored, np.empty(len(problem.rows)))
    tol = problem.rows.n_features / len(problem.rows)
    return descend(evaluate, evaluate(theta), factor, max_iter=30, tol=tol).point.theta


def _settle(wide: Ridge, loss: Loss, theta: Array, sample: Ridge) -> tuple[Loss, Array]:
    """Return the loss with its σ a number, asking a rule until its answer settles.

    The fit of a sample makes its residuals smaller than those of all rows will be; n / (n - L)
    makes up for it.
    """
    freedom = math.sqrt(1 - wide.rows.n_features / len(wide.rows))
    resolved = resolve(wide, loss, theta)
    for _ in range(_MAX_SETTLING if resolved is not loss else 0):
        last = resolved
        theta = _refine(wide, resolved.at(resolved.scale / freedom), theta, sample)
        resolved = resolve(wide, loss, theta)
        if abs(resolved.scale - last.scale) <= _SETTLED * resolved.scale:
            break
    return (loss if resolved is loss else resolved.at(resolved.scale / freedom)), theta


def _start(problem: Ridge, loss: Loss, init: str) -> tuple[Loss, Array]:
    """Return the loss, its σ a number if ``init`` is "robust", and where to start."""
    ridge = problem.solve(np.ones(len(problem.rows)), problem.zero)
    return anneal(problem, loss, ridge) if init == "robust" else (loss, ridge)
