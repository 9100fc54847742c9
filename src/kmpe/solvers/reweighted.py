"""Iteratively reweighted least squares (Holland and Welsch 1977; half-quadratic optimisation).

    residuals → weights → weighted solve, until convergence.

For a loss that is concave in s each weighted problem majorises the cost and touches it at θ, so
that its minimiser never increases the cost. For other losses a regression uses an upper bound of
the curvature in place of the weight, and the step is shortened if the cost still increases. The
same loop computes every method of the paper; it depends neither on the loss nor on the problem.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Literal

from kmpe.arrays import LAST_DIGITS, squared
from kmpe.losses import Loss
from kmpe.losses.floored import AsPrinted, Floored
from kmpe.losses.scale import mad
from kmpe.problems.base import Problem, Theta, Weighted
from kmpe.solvers.progress import stepped
from kmpe.solvers.record import Fit, Status

__all__ = ["floored", "reweight"]


def floored(problem: Problem[Theta], loss: Loss, theta: Theta) -> Floored:
    """Return the loss with a floor for its residuals at ``theta``, if it needs one."""
    if not loss.singular:
        return Floored(loss, 0.0)
    s = problem.squared_residuals(theta)
    floored = Floored.at(loss, s, problem.sample_weight, problem.dim)
    # Residuals that are rounding are all alike.
    return Floored(loss, max(floored.floor, squared(problem.least_scale)))


def reweight(
    problem: Problem[Theta],
    loss: Loss | Floored,
    theta: Theta,
    *,
    max_iter: int = 100,
    tol: float = 1e-10,
    as_printed: bool = False,
    until: Literal["cost", "parameters"] = "cost",
    gain: Callable[[Weighted[Theta], Theta], float] | None = None,
) -> Fit[Theta]:
    """Minimise ½ Σ aᵢ ρ(sᵢ) + penalty by reweighted least squares, starting at ``theta``.

    Every step is shortened until the cost does not increase. The loop stops when the relative
    change of the cost is below ``tol`` and that of the parameters below √tol.

    Parameters
    ----------
    problem, loss, theta
        The problem, the loss (with σ a number, possibly with a floor), and the initial parameter.
    max_iter : int
        The largest number of weighted solves.
    tol : float
        Relative change of the cost at which to stop.
    as_printed : bool
        The paper's algorithms to the letter: full steps, even if the cost increases.
    until : {"cost", "parameters"}
        The stopping criterion of the algorithms as printed, compared with ``tol``: the change of
        the paper's J, which is 2 / (N sup ρ) times the cost (Algorithm 1), or of the parameters
        (Algorithm 2).
    gain : callable, optional
        By how much the minimiser of a weighted problem lowers it, if that is known without another
        pass. The loop then also stops when all steps after the next, estimated as a geometric
        series, would lower the cost by less than ``tol``; the next one costs no pass and is left to
        the caller. So parameters that the rows do not determine are not rotated without end.
    """
    criterion = loss if isinstance(loss, Floored) else floored(problem, loss, theta)
    if as_printed:
        criterion = AsPrinted(criterion.loss, criterion.floor)
    state = _State(problem.weighted(theta, criterion), 1.0)
    if not math.isfinite(state.at.cost):
        largest = math.sqrt(float(problem.squared_residuals(theta).max()))
        raise ValueError(
            f"the cost overflows: residuals are as large as {largest:.3g} under {criterion.loss}; "
            "rescale the targets"
        )
    history = [state.at.cost]
    status, change, flat, promised = Status.MAX_ITER, math.inf, False, math.inf
    for _ in range(max_iter):
        if state.at.misfit == 0:
            _check_exact(problem, state.at, criterion.loss)
            status = Status.EXACT
            break
        if state.at.mass == 0:
            _check_weights(problem, state.at, criterion.loss)
        target = problem.solve(state.at)
        if not as_printed and gain is not None:
            before, promised = promised, gain(state.at, target)
            rate = max(promised, 0.0) / before if promised < before < math.inf else math.inf
            left = math.sqrt(rate) * problem.change(state.at.theta, target)
            if _geometric(promised, rate) <= tol * abs(state.at.cost) and left <= math.sqrt(tol):
                status = Status.CONVERGED
                break
        if as_printed:
            moved = _State(problem.weighted(target, criterion), 1.0)
        else:
            descent = _descend(problem, state, target, criterion)
            if descent is None:
                status = Status.STALLED
                break
            moved = descent
        history.append(moved.at.cost)
        stepped(moved.at.cost)
        change = abs(state.at.cost - moved.at.cost)
        if as_printed and until == "cost":
            settled = _paper_cost(problem, criterion.loss, change) < tol
        elif as_printed:
            settled = problem.change(state.at.theta, moved.at.theta) <= tol
        else:
            # The length of a shortened step says little: the full step must be small.
            far = problem.change(state.at.theta, target) > math.sqrt(tol)
            # Such as a step to another minimum of the same cost, on which rounding must not decide.
            if far and change <= LAST_DIGITS * abs(state.at.cost):
                status = Status.STALLED
                break
            enough = tol * abs(moved.at.cost)
            settled = change <= enough and not far
            flat = gain is not None and not settled and _to_come(history) <= enough
        state = moved
        if settled or flat:
            status = Status.CONVERGED if settled else Status.FLAT
            break
    share = change / (abs(state.at.cost) or 1.0)
    return Fit(state.at.theta, criterion, tuple(history), status, share, max_iter, tol, state.at)


def _to_come(history: list[float], over: int = 5) -> float:
    """Return by how much all further steps would lower the cost.

    Reweighted steps converge linearly; the rate is estimated from the last ``over`` steps.
    """
    if len(history) < over + 2:
        return math.inf
    first, last = history[-over - 2] - history[-over - 1], history[-2] - history[-1]
    return _geometric(last, math.pow(last / first, 1 / over)) if 0 <= last < first else math.inf


def _geometric(last: float, rate: float) -> float:
    """Return the sum of the terms of a geometric series after its term ``last``."""
    return last * rate / (1 - rate) if rate < 1 else math.inf


@dataclass(frozen=True)
class _State(Generic[Theta]):
    """The state of the loop, and the length of its last step."""

    at: Weighted[Theta]
    step: float


def _descend(
    problem: Problem[Theta],
    state: _State[Theta],
    target: Theta,
    criterion: Floored,
    max_halvings: int = 40,
) -> _State[Theta] | None:
    """Return the first of a sequence of halved steps towards ``target`` that lowers the cost.

    The sequence begins with the full step if the weighted problem majorises the cost, or nearly so,
    otherwise with twice the last step if that is shorter. None if no step lowers the cost.
    """
    whole = criterion.loss.concave or problem.majorises
    step = 1.0 if whole else min(1.0, 2 * state.step)
    for halving in range(max_halvings):
        # The moments are needed at the accepted step, which is nearly always the first.
        if halving == 0:
            moved = problem.weighted(problem.between(state.at.theta, target, step), criterion)
            if moved.cost < state.at.cost or (whole and moved.cost == state.at.cost):
                return _State(moved, step)
        elif problem.cost(problem.between(state.at.theta, target, step), criterion) < state.at.cost:
            moved = problem.weighted(problem.between(state.at.theta, target, step), criterion)
            return _State(moved, step)
        step /= 2
    return None


def _paper_cost(problem: Problem[Theta], loss: Loss, cost: float) -> float:
    """Return the paper's J for a cost."""
    sup = loss.sup if loss.sup < math.inf else 1.0
    return 2 * cost / (problem.n * sup)


def _check_exact(problem: Problem[Theta], at: Weighted[Theta], loss: Loss) -> None:
    """Refuse a cost that is zero because high powers of small residuals underflow."""
    largest = float(problem.squared_residuals(at.theta)[problem.sample_weight > 0].max())
    if largest > 0 and not loss.singular:
        raise ValueError(
            f"the cost vanishes: residuals are as small as {math.sqrt(largest):.3g} under {loss}; "
            "rescale the targets"
        )


def _check_weights(problem: Problem[Theta], at: Weighted[Theta], loss: Loss) -> None:
    """Refuse weights that are all zero because every residual is far above σ."""
    s = problem.squared_residuals(at.theta)
    nearest = math.sqrt(float(s.min()))
    if nearest <= loss.scale:
        return
    near = float(f"{loss.efficient * mad(s, None, problem.dim):.2g}")
    raise ValueError(
        f"sigma={loss.scale:g} gives every sample zero weight (smallest residual {nearest:.2g}); "
        f'use sigma="mad" or a value near {near:g}'
    )
