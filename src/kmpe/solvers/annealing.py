"""A scale for the loss: graduated non-convexity (Blake and Zisserman 1987), and rules that settle.

A narrow loss sees only the rows near its start. `anneal` brings σ down from the largest residual,
one weighted solve at each halving, so that rows are given up one after the other. `settle` starts
where outliers do not hold the fit, and asks a rule for σ again until its answer stands.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.losses.scale import FAR_OUT, ONCE, cutoff
from kmpe.problems.base import Problem, Theta

__all__ = ["Move", "Settled", "anneal", "resolve", "settle", "solve_once"]

#: From a parameter and a loss to a parameter that suits the loss better.
Move = Callable[[Theta, Any], Theta]

# A rule's σ has settled when it repeats itself to this accuracy.
_SETTLED = 0.01


def solve_once(problem: Problem[Theta]) -> Move[Theta]:
    """Return the move that solves the problem weighted at a parameter."""
    return lambda theta, loss: problem.solve(problem.weighted(theta, loss))


@dataclass(frozen=True)
class _Shifted:
    """A loss whose s is measured from that of the nearest row.

    Only ratios of weights matter to a weighted solve, and the largest is then 1 however small σ is.
    """

    loss: Loss
    nearest: float

    def rho(self, s: Array) -> Array:
        return self.loss.rho(s - self.nearest)

    def weight(self, s: Array) -> Array:
        return self.loss.weight(s - self.nearest)

    def rho_and_weight(self, s: Array) -> tuple[Array, Array]:
        return self.loss.rho_and_weight(s - self.nearest)

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - the weights will do
        return w


def anneal(
    problem: Problem[Theta],
    loss: Loss,
    theta: Theta,
    move: Move[Theta] | None = None,
    *,
    max_steps: int = 100,
) -> tuple[Loss, Theta]:
    """Return the loss with its σ a number, and a start for it that outliers do not hold.

    σ comes down from the largest residual, halved at every weighted solve, to its value; where
    it is a rule, the rule is applied again at every step until σ settles. On the way
    the loss is its own ``relaxed`` one.

    Parameters
    ----------
    problem, loss, theta
        What to solve, with which loss, and where to start.
    move : callable, optional
        What to call instead of the weighted solve: one decimal place is enough here.
    max_steps : int
        The largest number of solves.
    """
    move = solve_once(problem) if move is None else move
    a = problem.sample_weight
    s = problem.squared_residuals(theta)
    if not loss.has_rule and (loss.convex or not hasattr(loss, "sigma")):
        return loss, theta
    sigma = math.sqrt(float(s[a > 0].max()))
    for _ in range(max_steps):
        goal = _ruled(problem, loss, s).scale
        if not s.any() or abs(sigma - goal) <= _SETTLED * goal:
            break
        # One halving per solve loses no row on the way down; residuals follow σ.
        sigma = max(goal, sigma / 2)
        theta = move(theta, _Shifted(loss.relaxed(sigma), float(s[a > 0].min())))
        s = problem.squared_residuals(theta)
    return resolve(problem, loss, theta), theta


@dataclass(frozen=True)
class Settled(Generic[Theta]):
    """What `settle` returns: a loss with σ a number, where it leads, and how far that was."""

    loss: Loss
    theta: Theta
    steps: int


def settle(
    problem: Problem[Theta],
    loss: Loss,
    theta: Theta,
    move: Move[Theta] | None = None,
    *,
    max_steps: int = 30,
    bounded: bool = False,
    bracketed: bool = False,
    freedom: float = 1.0,
) -> Settled[Theta]:
    """Let a rule's σ settle from a start that outliers do not hold, where nothing need anneal.

    The rule is applied again after every move, until σ changes by less than 1% or the steps
    are used up: with p > 2 it may cycle, unless it is bracketed. Rules in `ONCE` are
    asked once; a σ that is a number stays.

    Parameters
    ----------
    problem, loss, theta
        What to solve, with which loss, and where to start.
    move : callable, optional
        What to do with each σ; by default one weighted solve.
    max_steps : int
        The largest number of moves.
    bounded : bool
        Whether σ is held by the rows that are not far out: at most twice what the rule says of
        them, and wide enough for them to have weight.
    bracketed : bool
        Whether a σ that the rule has called too small is a lower bound from then on, and one that
        it has called too large an upper one. Where there are both, σ is their geometric mean: the
        bracket halves, and σ cannot cycle.
    freedom : float
        The share of the residuals' variance that the fit has left in them: 1 - k / n for a fit of k
        parameters to these n rows.
    """
    move = solve_once(problem) if move is None else move
    resolved, steps = _resolved(problem, loss, theta, bounded, freedom), 0
    settled = not loss.has_rule or getattr(loss, "sigma", None) in ONCE
    low, high = 0.0, math.inf
    while not settled and steps < max_steps:
        theta = move(theta, resolved)
        before, resolved = resolved.scale, _resolved(problem, loss, theta, bounded, freedom)
        if bracketed:
            low, high = (before, high) if resolved.scale > before else (low, before)
            if low > 0 and high < math.inf:
                resolved = resolved.at(math.sqrt(low * high))
        settled = abs(resolved.scale - before) <= _SETTLED * before
        steps += 1
    return Settled(resolved, theta, steps)


def _widened(loss: Loss, s: Array, least: float = 0.2) -> Loss:
    """Return the loss with a σ at which squared residuals s have weight, if there is one.

    ``least`` is that of the mean weight of the rows that are not far out, as a share of the largest
    weight there is: a row that the fit passes through may outweigh 5 others. Silverman's σ² shrinks
    as n^(-1/5) while squared norms of many components stay away from 0; without a bound the fit
    turns to single rows.
    """
    share = _mean_weight(loss, s)
    while share < least:
        wider = loss.at(2**0.25 * loss.scale)
        before, share = share, _mean_weight(wider, s)
        if share <= before:  # with p > 2 residuals of zero never have any
            break
        loss = wider
    return loss


def _mean_weight(loss: Loss, s: Array) -> float:
    """Return the mean weight of rows over the largest one; 1 for losses without bounds of both."""
    if loss.singular or not (s.any() and loss.sup < math.inf):
        return 1.0
    largest = float(loss.weight(np.linspace(0, 10, 201) * loss.scale**2).max())
    return float(loss.weight(s).mean()) / largest


def resolve(problem: Problem[Theta], loss: Loss, theta: Theta) -> Loss:
    """Return the loss with its σ a number, for residuals like those of ``theta``.

    A rule's σ is doubled until ``theta`` costs less than to give up every row: a bounded loss
    on data that are fitted all but perfectly would otherwise be outweighed by the penalty.
    """
    return _resolved(problem, loss, theta, False, 1.0)


def _ruled(problem: Problem[Theta], loss: Loss, s: Array) -> Loss:
    """Return the loss with its rule applied; σ is not rounding where rows are fitted exactly."""
    if not loss.has_rule:
        return loss
    resolved = loss.resolve(s, problem.sample_weight, problem.dim)
    return resolved.at(max(resolved.scale, problem.least_scale))


def _resolved(
    problem: Problem[Theta], loss: Loss, theta: Theta, bounded: bool, freedom: float
) -> Loss:
    if not loss.has_rule:
        return loss
    a, s = problem.sample_weight, problem.squared_residuals(theta)
    resolved = _ruled(problem, loss, s)
    if bounded:
        inside = a * (s <= cutoff(s, a, problem.dim, z=FAR_OUT) ** 2)
        # Outliers inflate a rule's σ at most twofold: the interquartile range of Silverman's rule
        # has no bound once a quarter of the rows are outliers.
        most = 2 * loss.resolve(s, inside, problem.dim).scale
        resolved = resolved.at(min(resolved.scale, most))
        resolved = _widened(resolved, s[inside > 0])
    with np.errstate(over="ignore"):
        penalty = problem.penalty(theta)
    if not math.isfinite(penalty):
        raise ValueError(
            "the penalty overflows: alpha is too large beside sample_weight and the targets; "
            "rescale the targets, or choose a smaller alpha"
        )
    while 0.5 * float(a @ resolved.rho(s)) + penalty >= 0.5 * a.sum() * resolved.sup:
        resolved = resolved.at(2 * resolved.scale)
    return resolved.at(resolved.scale / math.sqrt(freedom))
