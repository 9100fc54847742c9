"""The result of a solver: an immutable record whose status is a sentence."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Generic

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.losses.floored import Floored
from kmpe.problems.base import Theta, Weighted

__all__ = ["Density", "Fit", "Status"]


class Status(Enum):
    """Why a solver stopped; the value is the sentence for the user."""

    CONVERGED = "Converged: cost and parameters change by less than tol."
    FLAT = "Converged: all steps to come would lower the cost by less than tol."
    STALLED = "Converged: no step lowers the cost any more in floating point."
    EXACT = "Converged: every residual is zero."
    MAX_ITER = (
        "Stopped at max_iter={max_iter} before the cost settled (last relative change "
        "{change:.1e}, tol={tol:.1e}): raise max_iter or tol, or use a larger sigma."
    )

    @property
    def converged(self) -> bool:
        """Whether the solver converged."""
        return self is not Status.MAX_ITER


@dataclass(frozen=True)
class Fit(Generic[Theta]):
    """The result of a solver.

    Parameters
    ----------
    theta
        The parameter.
    criterion : Floored
        The loss that was minimised, its σ a number.
    history : tuple of float
        The cost at the start and after each step.
    status : Status
        Why the solver stopped.
    change : float
        The last relative change of the cost.
    max_iter, tol
        The limits that the solver was given.
    at : Weighted, optional
        The problem weighted at ``theta``, if the last pass computed it.
    """

    theta: Theta
    criterion: Floored
    history: tuple[float, ...] = field(repr=False)
    status: Status
    change: float
    max_iter: int
    tol: float
    at: Weighted[Theta] | None = field(default=None, repr=False)

    @property
    def loss(self) -> Loss:
        """The loss, its σ a number."""
        return self.criterion.loss

    @property
    def n_iter(self) -> int:
        """The number of steps taken."""
        return len(self.history) - 1

    def costs(self, unit: float) -> Array:
        """Return the history of the cost where sample weights have this unit."""
        if max(map(abs, self.history)) > float(np.finfo(np.float64).max) / max(unit, 1.0):
            raise ValueError(
                f"the cost overflows: it is {max(self.history):.3g} times {unit:.3g}, the unit of "
                "sample_weight; divide sample_weight by its mean, or rescale the targets"
            )
        return unit * np.array(self.history)

    @property
    def message(self) -> str:
        """Why the solver stopped, as a sentence."""
        return self.status.value.format(max_iter=self.max_iter, change=self.change, tol=self.tol)


@dataclass(frozen=True)
class Density:
    """The density of the noise, as far as it has been estimated, symmetric about 0.

    Parameters
    ----------
    scale : float
        Its MAD.
    values, mass : array of shape (m,)
        Distances from 0, and the probability of each; they add up to 1.
    """

    scale: float
    values: Array
    mass: Array
