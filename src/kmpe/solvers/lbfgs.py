"""L-BFGS (Liu and Nocedal 1989), preconditioned by the Hessian of a sample of the rows.

In the variables Rβ, with RᵀR that Hessian, the problem is almost perfectly conditioned: with m rows
in the sample each step reduces the excess cost about m / L times, and costs one pass over the rows.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from kmpe.arrays import Array, norm
from kmpe.problems.factor import Factor
from kmpe.problems.ridge import Point
from kmpe.solvers.progress import stepped

__all__ = ["Descent", "Outcome", "descend"]

_EPS = float(np.finfo(np.float64).eps)


class Outcome(Enum):
    """Why `descend` stopped."""

    CONVERGED = "the remaining decrease is below tol"
    STALLED = "no step lowers the cost in floating point"
    SLOW = "the preconditioner is a poor one"
    MAX_ITER = "no step is left"


@dataclass(frozen=True)
class Descent:
    """The result of `descend`: the last point, the cost after each step, the predicted decrease."""

    point: Point
    history: tuple[float, ...]
    left: float
    outcome: Outcome


@dataclass(frozen=True)
class _Memory:
    """The approximation of the inverse Hessian: B⁻¹ of the factor, updated by the last steps."""

    factor: Factor
    steps: tuple[tuple[Array, Array, float], ...] = ()
    scale: float = 1.0

    def with_step(self, step: Array, bend: Array, most: int = 20) -> "_Memory":
        """Return this memory with one more step and the change of gradient along it."""
        curvature = float(np.vdot(step, bend))
        if curvature <= _EPS * norm(step) * norm(bend):
            return self
        squares = float(np.vdot(bend, self.factor.solve(bend)))
        if squares <= 0:  # they underflow in small units
            return self
        scale = curvature / squares
        return replace(self, steps=(*self.steps, (step, bend, curvature))[-most:], scale=scale)

    def solve(self, g: Array) -> Array:
        """Return the inverse Hessian times g, by the two-loop recursion."""
        shares = []
        for step, bend, curvature in reversed(self.steps):
            shares.append(float(np.vdot(step, g)) / curvature)
            g = g - shares[-1] * bend
        g = self.scale * self.factor.solve(g)
        for (step, bend, curvature), share in zip(self.steps, reversed(shares), strict=True):
            g = g + (share - float(np.vdot(bend, g)) / curvature) * step
        return g


def descend(
    evaluate: Callable[[Array], Point],
    start: Point,
    factor: Factor,
    *,
    max_iter: int,
    tol: float,
) -> Descent:
    """Minimise a cost from ``start``, to a relative accuracy of ``tol``.

    Parameters
    ----------
    evaluate : callable
        Maps a parameter to its `Point`, by one pass over the rows.
    start : Point
        The initial point.
    factor : Factor
        The preconditioner: the factor of a matrix near the Hessian.
    max_iter : int
        The largest number of steps.
    tol : float
        Stop when the decrease that the quadratic model predicts, ½ gᵀB⁻¹g, is well below this share
        of the cost, and the step is below √tol of the parameter.
    """
    point, memory, history, promises = start, _Memory(factor), [start.cost], [math.inf]
    outcome = Outcome.MAX_ITER
    for iteration in range(max_iter + 1):
        step = -memory.solve(point.gradient)
        left = -0.5 * float(np.vdot(point.gradient, step))
        promises.append(left)
        if _settled(point, step, left, tol):
            outcome = Outcome.CONVERGED
            break
        if iteration == max_iter:
            break
        # With a useful preconditioner ten steps gain at least two digits.
        if len(promises) > 10 and left > 1e-2 * promises[-10]:
            outcome = Outcome.SLOW
            break
        moved = _search(evaluate, point, step, -2 * left)
        if moved is None:
            small = left <= 1e3 * _EPS * abs(point.cost)
            outcome = Outcome.STALLED if small else Outcome.SLOW
            break
        memory = memory.with_step(moved.theta - point.theta, moved.gradient - point.gradient)
        point = moved
        history.append(point.cost)
        stepped(point.cost)
    return Descent(point, tuple(history), left, outcome)


def _settled(point: Point, step: Array, left: float, tol: float) -> bool:
    near = norm(step) <= math.sqrt(tol) * norm(point.theta)
    # The predicted decrease must be far below tol: it may be ten times too low if σ is small and ρ
    # far from quadratic.
    return left <= 0.03 * tol * abs(point.cost) and (near or left <= _EPS * abs(point.cost))


def _search(
    evaluate: Callable[[Array], Point],
    point: Point,
    step: Array,
    slope: float,
    max_trials: int = 20,
    sufficient: float = 1e-4,
) -> Point | None:
    """Return a point along ``step`` with sufficient decrease of the cost, or None.

    The full step nearly always has it. If not, the step is shortened by interpolation of the slopes
    at both ends. ``sufficient`` is Armijo's constant.
    """
    if not slope < 0:
        return None
    share = 1.0
    for _ in range(max_trials):
        tried = evaluate(point.theta + share * step)
        if tried.cost <= point.cost + sufficient * share * slope:
            return tried
        end = float(np.vdot(tried.gradient, step))
        least = -slope / (end - slope) if end > 0 else 0.5
        share *= min(0.7, max(0.1, least))
    return None
