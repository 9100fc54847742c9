"""The stages of every fit: problem → start → choice → solver → record.

Each family of estimators supplies its own stages, which are callables. Their order, and what one
passes to the next, is the same for all and is defined here.
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
    """The result of the start.

    Parameters
    ----------
    problem, sample : Problem
        The problem on all rows and on a sample; the same if there are few rows.
    theta
        A robust initial estimate.
    loss : Loss, optional
        Its loss, with σ a number.
    details
        Further results of the start, for the choice.
    caution : str
        A sentence about outliers that the start may have missed; empty if there is nothing to say.
    scale : float
        The robust scale of the residuals, if the start estimates it.
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
    """The result of the choice.

    Parameters
    ----------
    problem, sample, theta
        As in `Begun`, for the chosen loss.
    loss : Loss
        The loss, with σ a number.
    details
        The reasons of the choice, for the user.
    steps : int
        The number of weighted solves on all rows.
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
    """A fit and the choice it is based on."""

    chosen: Chosen[P, Theta]
    fit: Fit[Theta]


def walk(
    problem: P,
    start: Callable[[P], Begun[P, Theta]],
    choose: Callable[[Begun[P, Theta]], Chosen[P, Theta]],
    solve: Callable[[Chosen[P, Theta]], Fit[Theta]],
) -> Walked[P, Theta]:
    """Fit a problem: start, choose, solve."""
    # There are many small decompositions, which BLAS threads would make slower.
    with team():
        station("start")
        begun = start(problem)
        station("choice of the loss")
        chosen = replace(choose(begun), scale=begun.scale)
        station("passes over all rows")
        return Walked(chosen, solve(chosen))
