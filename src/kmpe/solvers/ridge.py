"""The robust ridge fit: its start, and the choice of the solver that ends it.

Every estimator on features comes here; which solver runs is decided here and nowhere else.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss, Squared
from kmpe.losses.floored import Floored
from kmpe.problems.linear import Linear, is_sparse
from kmpe.problems.ridge import Factor, Ridge
from kmpe.rows.source import Rows
from kmpe.rows.threads import team
from kmpe.solvers.lbfgs import Outcome, Point, descend
from kmpe.solvers.reweighted import Fit, Status, anneal, resolve, reweight
from kmpe.solvers.sampling import Samples

__all__ = ["INITS", "fit_linear", "fit_ridge"]

INITS = ("robust", "ridge", "zero")

# From this many rows per feature on the accelerated solver is tried: twice the rows that its
# start needs. `benchmarks/crossover.py` compares both solvers around it.
_ACCELERATE = 24
# Rows per feature in the sample on which the fit starts: the fit on it then has a cost within
# a tenth of the best.
_START = 12
# The factor comes from a tenth of the rows, which costs a tenth of least squares, but from no
# more rows per feature than 200, with which each step gains two digits, and from no fewer than
# 32 if they are a quarter of all: 50 000 rows of 300 features then take 10 steps, not 12.
_SHARE = 10
_ENOUGH = 200
_LEAST = 32
_LARGEST_SHARE = 4
_SAMPLE_BYTES = 256 << 20
# A poor sample is followed by one that is so many times larger.
_GROWTH = 4
# Rows for σ: the median residual of so many is known to 1%.
_SCALE = 20_000
_SETTLED = 0.01
_MAX_SETTLING = 10
# On the way to the start a weighted solve is good enough when what is left to gain is 0.3% of
# its cost, which has 8% to do with chance; where so many passes do not do it, a factor does.
_ROUGHLY = 0.1
_FEW_PASSES = 6
# From here on a linear problem's reweighted steps, each of which forms HᵀΛH, cost more than
# passes over the rows.
_MANY_ROWS = 10_000
_MUCH_WORK = 10**8
# A pass gains a digit or two: the parameters may as well have the digits that tol asks for.
_TIGHTER = 0.01

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
        fit = _fit_many_rows(problem, loss, theta, init=init, max_iter=max_iter, tol=tol, seed=seed)
        if fit is not None:
            return fit
        if theta is None:
            loss, theta = _start(problem, loss, init)
        loss = resolve(problem, loss, theta)
        return reweight(problem, loss, theta, max_iter=max_iter, tol=tol)


def _fit_many_rows(
    problem: Ridge,
    loss: Loss,
    theta: Array | None,
    *,
    init: str = "robust",
    max_iter: int,
    tol: float,
    seed: int = 0,
) -> Fit[Array] | None:
    """Fit as `fit_ridge` does where there are many rows; None where passes do not pay.

    That is with few rows for each feature, and where α = 0 and the features are all but
    dependent. Least squares take one factor of all the rows however many there are.
    """
    with team():
        if loss.quadratic:
            return _fit_quadratic(problem, loss, max_iter, tol)
        if np.count_nonzero(problem.sample_weight) < _ACCELERATE * problem.rows.n_features:
            return None
        return _fit_sampled(Samples.of(problem, seed), loss, init, theta, max_iter, tol)


def fit_linear(problem: Linear, loss: Loss, theta: Array, max_iter: int, tol: float) -> Fit[Array]:
    """Fit a linear problem from ``theta``, by passes over its rows where that is less work."""
    n, k = problem.H.shape
    if (n >= _MANY_ROWS or n * k**2 >= _MUCH_WORK) and not is_sparse(problem.H):
        rows = Rows.of(problem.H, problem.T, problem.a)
        ridge = Ridge(rows, problem.penalties[:, None])
        fit = _fit_many_rows(ridge, loss, theta, max_iter=max_iter, tol=_TIGHTER * tol)
        if fit is not None:
            return fit
    return reweight(problem, loss, theta, max_iter=max_iter, tol=tol)


@dataclass(frozen=True)
class _Pass:
    """The cost of a parameter, with its gradient, in one pass; the weights are left in ``w``."""

    problem: Ridge
    loss: Floored
    w: Array

    def __call__(self, theta: Array) -> Point:
        return Point(theta, *self.problem.cost_and_gradient(theta, self.loss, self.w))


def _fit_quadratic(problem: Ridge, loss: Loss, max_iter: int, tol: float) -> Fit[Array] | None:
    """Solve least squares: one factor of all the rows, then passes that polish."""
    if not problem.penalised and len(problem.rows) < problem.rows.n_features:
        return None
    evaluate = _Pass(problem, Floored(loss, 0.0), np.empty(len(problem.rows)))
    ones = np.broadcast_to(np.float64(1.0), len(problem.rows))
    factor, descent = problem.normal(ones, problem.zero)
    if not problem.penalised and not factor.sharp:
        return None
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
    size = max(samples.n // _SHARE, min(_LEAST * L, samples.n // _LARGEST_SHARE))
    middle = samples.draw(max(min(size, _ENOUGH * L, _SAMPLE_BYTES // (8 * L)), _START * L))
    if theta is None:
        small = samples.draw(_START * L)
        solver = _Solver(small)
        start_loss, theta = _start(small, loss, init, solver)
        theta = _refine(middle, resolve(small, start_loss, theta), theta, solver.factor)
    loss, theta, factor = _settle(samples, middle, loss, theta)
    floored = _floored(middle, loss, theta)
    evaluate = _Pass(problem, floored, np.empty(len(problem.rows)))
    start = evaluate(theta)
    if not (evaluate.w.any() and math.isfinite(start.cost)):
        return None
    if not problem.penalised and not factor.sharp:
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
        factor = sample.factor(evaluate.loss.weight(sample.squared_residuals(theta)))
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


def _factor(sample: Ridge, loss: Loss, theta: Array) -> Factor:
    """Return the factor of the weighted problem on a sample.

    With the weights ρ' rather than the Hessian's ψ': these are noisier and take more steps.
    """
    return sample.factor(_floored(sample, loss, theta).weight(sample.squared_residuals(theta)))


def _floored(sample: Ridge, loss: Loss, theta: Array) -> Floored:
    """Return the loss with the floor that it needs on a sample, if it needs one."""
    if Floored.is_needed(loss):
        s = sample.squared_residuals(theta)
        return Floored.at(loss, s, sample.sample_weight, sample.dim)
    return Floored(loss, 0.0)


def _refine(problem: Ridge, loss: Loss, theta: Array, factor: Factor) -> Array:
    """Return the fit of a sample, as far as its rows can tell, by a factor from other rows."""
    evaluate = _Pass(problem, _floored(problem, loss, theta), np.empty(len(problem.rows)))
    tol = problem.rows.n_features / len(problem.rows)
    return descend(evaluate, evaluate(theta), factor, max_iter=30, tol=tol).point.theta


def _settle(
    samples: Samples, middle: Ridge, loss: Loss, theta: Array
) -> tuple[Loss, Array, Factor]:
    """Return the loss with its σ a number, a fit with it, and the factor of the middle sample.

    A rule is asked until its answer settles. The fit of a sample makes its residuals smaller
    than those of all rows will be; n / (n - L) makes up for it.
    """
    resolved = resolve(middle, loss, theta)
    factor = _factor(middle, resolved, theta)
    if not loss.has_rule:
        return loss, theta, factor
    wide = middle if len(middle.rows) >= _SCALE else samples.draw(_SCALE)
    freedom = math.sqrt(1 - wide.rows.n_features / len(wide.rows))
    resolved = resolve(wide, loss, theta)
    for _ in range(_MAX_SETTLING):
        last = resolved
        theta = _refine(wide, resolved.at(resolved.scale / freedom), theta, factor)
        resolved = resolve(wide, loss, theta)
        if abs(resolved.scale - last.scale) <= _SETTLED * resolved.scale:
            break
    return resolved.at(resolved.scale / freedom), theta, factor


def _start(
    problem: Ridge, loss: Loss, init: str, solve: Callable[[Array, Array], Array] | None = None
) -> tuple[Loss, Array]:
    """Return the loss, its σ a number if ``init`` is "robust", and where to start."""
    solve = problem.solve if solve is None else solve
    ridge = solve(np.ones(len(problem.rows)), problem.zero)
    return anneal(problem, loss, ridge, solve) if init == "robust" else (loss, ridge)


class _Solver:
    """Weighted solves of one sample, roughly, by the factor of the last that needed one.

    Where the weights do not depend on the features HᵀΛH is near a multiple of HᵀH, and a few
    passes end what its factor begins, in a tenth of the time that HᵀΛH would take.
    """

    def __init__(self, problem: Ridge) -> None:
        self.problem = problem
        self.factor = problem.factor(np.ones(len(problem.rows)))

    def __call__(self, w: Array, theta: Array) -> Array:
        """Return the minimiser of the problem weighted by ``w``, found from ``theta``."""
        rows, alpha = self.problem.rows, self.problem.alpha
        if not self.problem.penalised:
            return self.problem.solve(w, theta)
        mean = float(np.average(w, weights=rows.a))
        weighted = Ridge(replace(rows, a=rows.a * (w / mean)), alpha / mean)
        evaluate = _Pass(weighted, Floored(Squared(), 0.0), np.empty(len(rows)))
        start = evaluate(theta)
        descent = descend(evaluate, start, self.factor, max_iter=_FEW_PASSES, tol=_ROUGHLY)
        if descent.outcome is Outcome.CONVERGED:
            return descent.point.theta
        self.factor, down = weighted.normal(np.ones(len(rows)), theta)
        return theta + self.factor.solve(down)
