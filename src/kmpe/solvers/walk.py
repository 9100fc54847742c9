"""The path that every fit takes: problem → start → choice → solver → record.

A family of estimators brings its own stations, which are plain callables; the order in which they
are visited, and what is handed from one to the next, is the same for all and stands here.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from kmpe.losses import Loss
from kmpe.problems.base import Problem, Theta
from kmpe.rows.threads import team
from kmpe.solvers.progress import station
from kmpe.solvers.record import Fit

__all__ = ["Begun", "Chosen", "Walked", "walk"]

P = TypeVar("P", bound=Problem[Any])


@dataclass(frozen=True)
class Begun(Generic[P, Theta]):
    """Where a fit begins.

    Parameters
    ----------
    problem, sample : Problem
        The problem on all rows, and on some that stand for them; the same where rows are few.
    theta
        A parameter that outliers do not hold.
    loss : Loss, optional
        The loss that led there, its σ a number.
    details
        What led there, for the choice.
    caution : str
        What the start could not guard against, as a sentence; empty if there is nothing.
    scale : float
        The scale of its residuals, where the start finds one.
    """

    problem: P
    sample: P
    theta: Theta
    loss: Loss | None = None
    details: Any = None
    caution: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class Chosen(Generic[P, Theta]):
    """What the data have decided.

    Parameters
    ----------
    problem, sample, theta
        As in `Begun`, now for the loss that was chosen.
    loss : Loss
        The loss, its σ a number.
    details
        What led to the choice, for the user.
    steps : int
        The number of weighted solves on all rows that it took.
    caution, scale
        As in `Begun`.
    """

    problem: P
    sample: P
    theta: Theta
    loss: Loss
    details: Any = None
    steps: int = 0
    caution: str = ""
    scale: float = 1.0


@dataclass(frozen=True)
class Walked(Generic[P, Theta]):
    """A fit, and the choice that it rests on."""

    chosen: Chosen[P, Theta]
    fit: Fit[Theta]


def walk(
    problem: P,
    start: Callable[[P], Begun[P, Theta]],
    choose: Callable[[Begun[P, Theta]], Chosen[P, Theta]],
    solve: Callable[[Chosen[P, Theta]], Fit[Theta]],
) -> Walked[P, Theta]:
    """Fit a problem: start, choose, solve."""
    # Many small decompositions: BLAS threads would make each of them slower.
    with team():
        station("start")
        begun = start(problem)
        station("choice of the loss")
        chosen = replace(choose(begun), scale=begun.scale)
        station("passes over all rows")
        return Walked(chosen, solve(chosen))
