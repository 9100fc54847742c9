"""Starts of a ridge fit with a given loss and penalty: annealed, plain, or zero.

The annealed start lowers σ from the largest residual (`kmpe.solvers.annealing`). With many rows it
does so on a small sample, and a larger one refines it.
"""

from dataclasses import dataclass, replace

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss, Squared
from kmpe.losses.floored import Floored
from kmpe.problems.base import Criterion
from kmpe.problems.factor import Factor
from kmpe.problems.ridge import Point, Ridge
from kmpe.rows.sample import Samples
from kmpe.solvers.annealing import Move, anneal, resolve, solve_once
from kmpe.solvers.lbfgs import Outcome, descend
from kmpe.solvers.minimise import START_ROWS, has_many_rows, refine, sample_of
from kmpe.solvers.walk import Begun

__all__ = ["INITS", "RidgeStart"]

INITS = ("robust", "ridge", "zero")


@dataclass(frozen=True)
class RidgeStart:
    """The start of a ridge fit.

    Parameters
    ----------
    loss : Loss
        The loss, its σ a number or a rule.
    init : {"robust", "ridge", "zero"}
        "robust" starts from a ridge fit and anneals; "ridge" leaves out the second part; "zero" is
        where Algorithm 1 of the paper starts.
    """

    loss: Loss
    init: str

    def __call__(self, problem: Ridge) -> Begun[Ridge, Array]:
        """Return the initial estimate."""
        if self.init == "zero":
            return Begun(problem, problem, problem.zero)
        if self.loss.quadratic or not has_many_rows(problem):
            loss, theta = self._annealed(problem, solve_once(problem))
            return Begun(problem, problem, theta, loss)
        sample = sample_of(problem)
        small = problem.on(Samples(problem.rows).draw(START_ROWS * problem.rows.n_features))
        solver = _RoughSolver(small, _Even.of(self.loss, small))
        loss, theta = self._annealed(small, solver)
        loss = resolve(small, loss, theta)
        return Begun(problem, sample, refine(sample, loss, theta, solver.factor), loss)

    def _annealed(self, problem: Ridge, move: Move[Array]) -> tuple[Loss, Array]:
        if self.loss.quadratic:
            return self.loss, problem.zero
        ridge = move(problem.zero, _Even.of(self.loss, problem))
        return (
            anneal(problem, self.loss, ridge, move) if self.init == "robust" else (self.loss, ridge)
        )


@dataclass(frozen=True)
class _Even:
    """Least squares in which every row has the same weight.

    The weights of a loss without σ, and with them the penalty, have the unit of the targets: there
    the weight is that of a typical target.
    """

    level: float

    @classmethod
    def of(cls, loss: Loss, problem: Ridge) -> "_Even":
        """Return the least squares that suits the penalty of a loss."""
        if hasattr(loss, "sigma"):
            return cls(1.0)
        s = problem.squared_residuals(problem.zero)
        typical = np.average(s, weights=problem.sample_weight)
        return cls(float(loss.weight(typical)) if typical > 0 else 1.0)

    def rho(self, s: Array) -> Array:
        return self.level * s

    def weight(self, s: Array) -> Array:
        return np.full_like(s, self.level)

    def rho_and_weight(self, s: Array, full: bool = False) -> tuple[Array, Array]:  # noqa: ARG002
        return self.rho(s), self.weight(s)

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - the protocol
        return w


class _RoughSolver:
    """Approximate weighted solves on one sample, preconditioned by the last factor.

    If the weights do not depend on the features, HᵀΛH is near a multiple of HᵀH, and a few passes
    with its factor take a tenth of the time of factorising HᵀΛH.
    """

    def __init__(self, problem: Ridge, even: _Even) -> None:
        self.problem = problem
        self.level = even.level
        self.factor: Factor = problem.factor(problem.weighted(problem.zero, even))

    def __call__(self, theta: Array, loss: Criterion) -> Array:
        """Return approximately the minimiser of the problem weighted at ``theta``."""
        problem = self.problem
        if not problem.penalised:
            return problem.solve(problem.weighted(theta, loss))
        w = loss.weight(problem.squared_residuals(theta))
        # The mean weight is that of the factor.
        unit = float(np.average(w, weights=problem.sample_weight)) / self.level
        weighted = Ridge(
            replace(problem.rows, a=problem.sample_weight * (w / unit)), problem.penalties / unit
        )
        squared = Floored(Squared(), 0.0)

        def evaluate(theta: Array) -> Point:
            return weighted.point(theta, squared)

        start = evaluate(theta)
        # A weighted solve on the way to the start is accurate enough when its excess cost is 0.3%,
        # as the sampling error is 8%; if six passes do not reach it, a new factor does.
        descent = descend(evaluate, start, self.factor, max_iter=6, tol=0.1)
        if descent.outcome is Outcome.CONVERGED:
            return descent.point.theta
        at = weighted.weighted(theta, squared)
        self.factor = weighted.factor(at)
        return weighted.step(at, self.factor)
