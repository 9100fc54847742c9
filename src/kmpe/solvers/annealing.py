"""The scale σ of the loss: graduated non-convexity, and fixed points of rules.

A loss with a small σ gives weight only to rows near the initial fit. `anneal` therefore lowers σ
from the largest residual, one weighted solve for each halving, so that rows are rejected gradually
(graduated non-convexity; Blake and Zisserman 1987). `settle` starts from a robust initial estimate
and applies a rule for σ repeatedly until σ no longer changes.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from kmpe.arrays import Array, squared
from kmpe.losses import Loss
from kmpe.losses.scale import FAR_OUT, ONCE, cutoff
from kmpe.problems.base import Problem, Theta
from kmpe.solvers.reweighted import floored

__all__ = ["Move", "Settled", "anneal", "resolve", "settle", "solve_once"]

#: Maps a parameter and a loss to a parameter of lower cost.
Move = Callable[[Theta, Any], Theta]

# The relative change of σ at which a rule has converged.
_SETTLED = 0.01


def solve_once(problem: Problem[Theta]) -> Move[Theta]:
    """Return the move that is one weighted solve."""

    def move(theta: Theta, loss: Any) -> Theta:
        # A row that is met exactly has a weight of 1e100 under a singular loss.
        criterion = floored(problem, loss, theta) if isinstance(loss, Loss) else loss
        return problem.solve(problem.weighted(theta, criterion))

    return move


@dataclass(frozen=True)
class _Shifted:
    """A loss of s minus the smallest s.

    A weighted solve depends only on ratios of weights, and so the largest is 1 however small σ is.
    """

    loss: Loss
    nearest: float

    def rho(self, s: Array) -> Array:
        return self.loss.rho(s - self.nearest)

    def weight(self, s: Array) -> Array:
        return self.loss.weight(s - self.nearest)

    def rho_and_weight(self, s: Array, full: bool = False) -> tuple[Array, Array]:
        return self.loss.rho_and_weight(s - self.nearest, full)

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
    """Return the loss with σ a number, and an initial estimate for it.

    σ falls from the largest residual, halved at every weighted solve, to its value; if it is a
    rule, the rule is applied at every step until σ converges. On the way the loss is `relaxed`.

    Parameters
    ----------
    problem, loss, theta
        The problem, the loss, and the initial parameter.
    move : callable, optional
        A replacement for the weighted solve; an accuracy of one digit is enough.
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
        # Residuals shrink with σ, so that one halving per solve does not reject good rows.
        sigma = max(goal, sigma / 2)
        theta = move(theta, _Shifted(loss.relaxed(sigma), float(s[a > 0].min())))
        s = problem.squared_residuals(theta)
    return resolve(problem, loss, theta), theta


@dataclass(frozen=True)
class Settled(Generic[Theta]):
    """The result of `settle`: the loss with σ a number, its parameter, and the number of moves."""

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
    """Return the fixed point of a rule for σ, from a robust initial estimate.

    The rule is applied after every move, until σ changes by less than 1% or ``max_steps`` is
    reached: with p > 2 it may cycle, unless it is bracketed. Rules in `ONCE` are applied once; a σ
    that is a number stays.

    Parameters
    ----------
    problem, loss, theta
        The problem, the loss, and the initial parameter.
    move : callable, optional
        The move for each σ; by default one weighted solve.
    max_steps : int
        The largest number of moves.
    bounded : bool
        Whether σ is bounded by the rows that are not far out: it is at most twice the σ of the rule
        for these, and large enough for them to have weight.
    bracketed : bool
        Whether a σ that the rule increases becomes a lower bound, and one that it decreases an
        upper bound. If there are both, σ is their geometric mean (bisection), so that it cannot
        cycle.
    freedom : float
        The share of the noise variance that is left in the residuals: 1 - k / n for a fit of k
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


def _widened(loss: Loss, s: Array, a: Array, least: float = 0.2) -> Loss:
    """Return the loss with σ increased until the squared residuals s have weight, if they can.

    The mean weight of the rows that are not far out must be at least ``least`` times the largest
    value of the weight function: a row with residual 0 then has at most the weight of 5 others.
    Silverman's σ² shrinks as n^(-1/5) while squared norms of many components stay away from 0;
    without a bound the fit would follow single rows.
    """
    share = _mean_weight(loss, s, a)
    while share < least:
        wider = loss.at(2**0.25 * loss.scale)
        before, share = share, _mean_weight(wider, s, a)
        if share <= before:  # with p > 2 the weight at residual 0 is 0 for every σ
            break
        loss = wider
    return loss


def _mean_weight(loss: Loss, s: Array, a: Array) -> float:
    """Return the mean weight over the largest one; 1 if the weights or the loss are unbounded."""
    if loss.singular or not (s.any() and loss.sup < math.inf):
        return 1.0
    largest = float(loss.weight(np.linspace(0, 10, 201) * squared(loss.scale)).max())
    return float(np.average(loss.weight(s), weights=a)) / largest


def resolve(problem: Problem[Theta], loss: Loss, theta: Theta) -> Loss:
    """Return the loss with its σ a number, for residuals like those of ``theta``.

    The σ of a rule is doubled until ``theta`` costs less than β = 0 with every row rejected: with
    a bounded loss and nearly exact fits the penalty would otherwise dominate.
    """
    return _resolved(problem, loss, theta, False, 1.0)


def _ruled(problem: Problem[Theta], loss: Loss, s: Array) -> Loss:
    """Return the loss with its rule applied; σ stays above rounding errors of exact fits."""
    if not loss.has_rule:
        return loss
    least = problem.least_scale
    resolved = loss.resolve(np.maximum(s, squared(least)), problem.sample_weight, problem.dim)
    return resolved.at(max(resolved.scale, least))


def _resolved(
    problem: Problem[Theta], loss: Loss, theta: Theta, bounded: bool, freedom: float
) -> Loss:
    if not loss.has_rule:
        return loss
    a, s = problem.sample_weight, problem.squared_residuals(theta)
    resolved = _ruled(problem, loss, s)
    if bounded:
        inside = a * (s <= squared(cutoff(s, a, problem.dim, z=FAR_OUT)))
        # Outliers increase σ at most twofold: the interquartile range in Silverman's rule breaks
        # down with a quarter of outliers.
        most = 2 * loss.resolve(s, inside, problem.dim).scale
        resolved = resolved.at(min(resolved.scale, most))
        resolved = _widened(resolved, s[inside > 0], inside[inside > 0])
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
