"""The loop: residuals → weights → weighted solve, until it stops.

It drives every method of the paper. It knows neither which loss makes the weights nor which
problem they weigh; it returns a record and leaves no state behind.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Generic, Literal, Protocol, TypeVar

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.losses.floored import Floored
from kmpe.losses.scale import ONCE, cutoff, mad

__all__ = ["Fit", "Problem", "Settled", "Status", "anneal", "resolve", "reweight", "settle"]

Theta = TypeVar("Theta")

# One halving of σ per solve loses no row on the way down; residuals follow σ.
_ANNEALING_RATIO = 2.0
_MAX_ANNEALING_STEPS = 100
# A rule's σ has settled when it repeats itself to this accuracy.
_SETTLED = 0.01
_MAX_HALVINGS = 40
# How far outliers may inflate a rule's σ. The interquartile range of Silverman's rule has no
# bound once a quarter of the rows are outliers.
_MOST_INFLATED = 2.0
_FAR_OUT = 5.0


class Problem(Protocol[Theta]):
    """A weighted least-squares problem, as the loop sees it."""

    @property
    def sample_weight(self) -> Array:
        """The number of times that each row counts."""

    @property
    def dim(self) -> int:
        """The number of components of one residual."""

    def squared_residuals(self, theta: Theta, /) -> Array:
        """Return ‖eᵢ‖² of every row."""

    def penalty(self, theta: Theta, /) -> float:
        """Return what the cost has beside the residuals."""

    def solve(self, w: Array, theta: Theta, /) -> Theta:
        """Return the minimiser of the problem weighted by ``w``, found from ``theta``."""

    def between(self, theta: Theta, target: Theta, step: float, /) -> Theta:
        """Return the parameter that lies ``step`` of the way from ``theta`` to ``target``."""

    def change(self, theta: Theta, other: Theta, /) -> float:
        """Return the distance of two parameters relative to their size."""


class Status(Enum):
    """Why the loop stopped; the value is the sentence for the user."""

    CONVERGED = "Converged: cost and parameters change by less than tol."
    STALLED = "Converged: no step lowers the cost any more in floating point."
    EXACT = "Converged: every residual is zero."
    MAX_ITER = (
        "Stopped at max_iter={max_iter} before the cost settled (last relative change "
        "{change:.1e}, tol={tol:.1e}): raise max_iter or tol, or use a larger sigma."
    )

    @property
    def converged(self) -> bool:
        """Whether the loop ended where it should."""
        return self is not Status.MAX_ITER

    def sentence(self, max_iter: int, change: float, tol: float) -> str:
        """Return the sentence with its numbers."""
        return self.value.format(max_iter=max_iter, change=change, tol=tol)


@dataclass(frozen=True)
class Fit(Generic[Theta]):
    """What the loop returns."""

    theta: Theta
    loss: Loss
    weights: Array
    history: tuple[float, ...] = field(repr=False)
    status: Status
    message: str
    s: Array = field(default_factory=lambda: np.zeros(0), repr=False)

    @property
    def n_iter(self) -> int:
        """The number of steps taken."""
        return len(self.history) - 1


@dataclass(frozen=True)
class _State(Generic[Theta]):
    """Where the loop stands, and how long its last step was."""

    theta: Theta
    s: Array
    cost: float
    step: float


@dataclass(frozen=True)
class _Cost(Generic[Theta]):
    """½ Σ aᵢ ρ(sᵢ) + penalty."""

    problem: Problem[Theta]
    loss: Floored

    def __call__(self, s: Array, theta: Theta) -> float:
        # Where this overflows the cost is not finite, and no such step is taken.
        with np.errstate(over="ignore", invalid="ignore"):
            rho = self.loss.rho(s)
            return 0.5 * float(self.problem.sample_weight @ rho) + self.problem.penalty(theta)

    def state(self, theta: Theta, step: float) -> _State[Theta]:
        s = self.problem.squared_residuals(theta)
        return _State(theta, s, self(s, theta), step)


def reweight(
    problem: Problem[Theta],
    loss: Loss,
    theta: Theta,
    *,
    max_iter: int = 100,
    tol: float = 1e-10,
    as_printed: bool = False,
    floored: Floored | None = None,
    until: Literal["cost", "parameters"] = "cost",
    s: Array | None = None,
) -> Fit[Theta]:
    """Minimise ½ Σ aᵢ ρ(sᵢ) + penalty by reweighted least squares, from ``theta`` on.

    Every step is shortened until the cost does not rise. The loop stops when the cost changes
    by less than ``tol`` of itself and the parameters by less than √tol.

    Parameters
    ----------
    problem, loss, theta
        What to solve, with which loss (its σ a number), and where to start.
    max_iter : int
        The largest number of weighted solves.
    tol : float
        Relative change of the cost at which to stop.
    as_printed : bool
        The paper's algorithms to the letter: full steps, whatever they do to the cost.
    until : {"cost", "parameters"}
        What ends an iteration as printed when it changes by less than ``tol``: the paper's J,
        which is 2 / (N sup ρ) times the cost (Algorithm 1), or the parameters (Algorithm 2).
    floored : Floored, optional
        The loss with its floor, where a solver that came before has set it.
    s : array, optional
        The squared residuals of ``theta``, where they are known already.
    """
    if s is None:
        s = problem.squared_residuals(theta)
    a = problem.sample_weight
    floored = Floored.at(loss, s, a, problem.dim) if floored is None else floored
    cost_of = _Cost(problem, floored)
    state = _State(theta, s, cost_of(s, theta), 1.0)
    if not math.isfinite(state.cost):
        raise ValueError(
            f"the cost overflows: residuals are as large as {math.sqrt(s.max()):.3g} under {loss}; "
            "rescale the targets"
        )
    J = 2 / (float(a.sum()) * (loss.sup if loss.sup < math.inf else 1.0))
    history = [state.cost]
    status, change = Status.MAX_ITER, math.inf
    for _ in range(max_iter):
        if not state.s.any():
            status = Status.EXACT
            break
        w = floored.weight(state.s)
        _check_weights(a * w, state.s, loss, problem.dim)
        target = problem.solve(w, state.theta)
        if as_printed:
            moved = cost_of.state(target, 1.0)
        else:
            descent = _descend(cost_of, state, target)
            if descent is None:
                status = Status.STALLED
                break
            moved = descent
        history.append(moved.cost)
        change = abs(state.cost - moved.cost)
        if as_printed and until == "cost":
            settled = J * change < tol
        elif as_printed:
            settled = problem.change(state.theta, moved.theta) <= tol
        else:
            # A step that was cut short says little: the whole of it must be small.
            far = problem.change(state.theta, target) > math.sqrt(tol)
            settled = change <= tol * abs(moved.cost) and not far
        state = moved
        if settled:
            status = Status.CONVERGED
            break
    message = status.sentence(max_iter, change / (abs(state.cost) or 1.0), tol)
    w = floored.weight(state.s)
    return Fit(state.theta, loss, w, tuple(history), status, message, state.s)


def anneal(
    problem: Problem[Theta],
    loss: Loss,
    theta: Theta,
    solve: Callable[[Array, Theta], Theta] | None = None,
) -> tuple[Loss, Theta]:
    """Return the loss with its σ a number, and a start for it that outliers do not hold.

    σ comes down from the largest residual, halved at every weighted solve, to its value; where
    it is a rule, the rule is asked again at every step until its answer settles. On the way
    the loss is its own ``relaxed`` one.

    Parameters
    ----------
    problem, loss, theta
        What to solve, with which loss, and where to start.
    solve : callable, optional
        What to call instead of ``problem.solve``: one decimal place is enough here.
    """
    solve = problem.solve if solve is None else solve
    a = problem.sample_weight
    s = problem.squared_residuals(theta)
    if not loss.has_rule and (loss.convex or not hasattr(loss, "sigma")):
        return loss, theta
    sigma = math.sqrt(float(s[a > 0].max()))
    for _ in range(_MAX_ANNEALING_STEPS):
        goal = loss.resolve(s, a, problem.dim).scale
        if not s.any() or abs(sigma - goal) <= _SETTLED * goal:
            break
        sigma = max(goal, sigma / _ANNEALING_RATIO)
        # Measured from the nearest row: only ratios of weights matter here, and the largest
        # weight is then 1 however small σ is.
        w = loss.relaxed(sigma).weight(s - s[a > 0].min())
        theta = solve(w, theta)
        s = problem.squared_residuals(theta)
    return resolve(problem, loss, theta), theta


@dataclass(frozen=True)
class Settled(Generic[Theta]):
    """What `settle` returns: a loss with σ a number, where it leads, and how far that was."""

    loss: Loss
    theta: Theta
    s: Array
    steps: int


def settle(
    problem: Problem[Theta],
    loss: Loss,
    theta: Theta,
    *,
    max_steps: int = 30,
    bounded: bool = True,
) -> Settled[Theta]:
    """Let a rule's σ settle from a start that outliers do not hold, where nothing need anneal.

    The rule is asked again after every weighted solve, until its answer changes by less than 1%
    or the steps are used up: with p > 2 it may go round in a circle. Rules in `ONCE` are asked
    once; a σ that is a number stays.

    Parameters
    ----------
    problem, loss, theta
        What to solve, with which loss, and where to start.
    max_steps : int
        The largest number of weighted solves.
    bounded : bool
        Whether σ may be at most twice what the rule says of the rows that are not far out.
    """
    s = problem.squared_residuals(theta)
    resolved, steps = _resolve(problem, loss, theta, s, bounded), 0
    settled = not loss.has_rule or getattr(loss, "sigma", None) in ONCE
    while not settled and steps < max_steps:
        theta = problem.solve(resolved.weight(s), theta)
        s = problem.squared_residuals(theta)
        before, resolved = resolved.scale, _resolve(problem, loss, theta, s, bounded)
        settled = abs(resolved.scale - before) <= _SETTLED * before
        steps += 1
    return Settled(resolved, theta, s, steps)


def resolve(problem: Problem[Theta], loss: Loss, theta: Theta) -> Loss:
    """Return the loss with its σ a number, for residuals like those of ``theta``.

    A rule's σ is doubled until ``theta`` costs less than to give up every row: a bounded loss
    on data that are fitted all but perfectly would otherwise be outweighed by the penalty.
    """
    if not loss.has_rule:
        return loss
    return _resolve(problem, loss, theta, problem.squared_residuals(theta), False)


def _resolve(problem: Problem[Theta], loss: Loss, theta: Theta, s: Array, bounded: bool) -> Loss:
    if not loss.has_rule:
        return loss
    a = problem.sample_weight
    resolved = loss.resolve(s, a, problem.dim)
    if bounded:
        inside = a * (s <= cutoff(s, a, problem.dim, z=_FAR_OUT) ** 2)
        most = _MOST_INFLATED * loss.resolve(s, inside, problem.dim).scale
        resolved = resolved.at(min(resolved.scale, most))
    while 0.5 * float(a @ resolved.rho(s)) + problem.penalty(theta) >= 0.5 * a.sum() * resolved.sup:
        resolved = resolved.at(2 * resolved.scale)
    return resolved


def _descend(
    cost_of: "_Cost[Theta]", state: "_State[Theta]", target: Theta
) -> "_State[Theta] | None":
    """Return the best of the halved steps towards ``target``, or None if none descends.

    The search begins at twice the last step. Concave losses take the whole step: it is the
    minimiser of a function that lies above the cost and touches it.
    """
    best = None
    step = min(1.0, 2 * state.step)
    for _ in range(_MAX_HALVINGS):
        moved = cost_of.state(cost_of.problem.between(state.theta, target, step), step)
        if best is not None and not moved.cost < best.cost:
            return best
        if moved.cost <= state.cost:
            if cost_of.loss.loss.concave:
                return moved
            best = moved
        step /= 2
    return best


def _check_weights(aw: Array, s: Array, loss: Loss, dim: int) -> None:
    """Refuse weights that are all zero because every residual is far beyond σ."""
    nearest = math.sqrt(float(s.min()))
    if aw.any() or nearest <= loss.scale:
        return
    near = float(f"{loss.efficient * mad(s, None, dim):.2g}")
    raise ValueError(
        f"sigma={loss.scale:g} gives every sample zero weight (smallest residual {nearest:.2g}); "
        f'use sigma="mad" or a value near {near:g}'
    )
