"""The interface between a weighted least-squares problem and a solver.

A problem has a parameter θ, a residual eᵢ(θ) for each row and the cost

    ½ Σ aᵢ ρ(‖eᵢ‖²) + penalty(θ).

Its weights ρ'(‖eᵢ‖²) are computed from θ within each block of rows, so that no array with one entry
per row is passed around: one pass gives the cost of θ and the moments of the problem weighted
there, and the moments give the minimiser of the weighted problem.
"""

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from kmpe.arrays import Array

__all__ = ["Criterion", "Problem", "Theta", "Weighted"]

Theta = TypeVar("Theta")


class Criterion(Protocol):
    """The part of a loss that a pass needs."""

    def rho(self, s: Array, /) -> Array:
        """Return ρ(s)."""

    def weight(self, s: Array, /) -> Array:
        """Return ρ'(s)."""

    def rho_and_weight(self, s: Array, /, full: bool = False) -> tuple[Array, Array]:
        """Return ρ(s) and ρ'(s), small weights in ``full`` precision too or not."""

    def metric(self, s: Array, w: Array, /) -> Array:
        """Return an upper bound of the curvature of ½ ρ(‖e‖²) in e, at least w = ρ'."""


@dataclass(frozen=True)
class Weighted(Generic[Theta]):
    """A problem weighted by a loss at θ: the result of one pass over the rows.

    Parameters
    ----------
    theta, loss
        The parameter and the loss.
    misfit : float
        ½ Σ aᵢ ρ(‖eᵢ‖²).
    penalty : float
        The penalty of θ.
    mass : float
        The sum of the weights, Σ aᵢ wᵢ.
    moments : tuple of array
        The sums that determine the minimiser.
    """

    theta: Theta
    loss: Criterion
    misfit: float
    penalty: float
    mass: float
    moments: tuple[Array, ...] = field(repr=False)

    @property
    def cost(self) -> float:
        """The cost of θ."""
        return self.misfit + self.penalty


class Problem(Protocol[Theta]):
    """A weighted least-squares problem, as the solvers see it."""

    @property
    def sample_weight(self) -> Array:
        """The sample weights, as numbers of repeats."""

    @property
    def n(self) -> float:
        """The sum of the sample weights."""

    @property
    def dim(self) -> int:
        """The number of components of one residual."""

    @property
    def least_scale(self) -> float:
        """The scale below which residuals are rounding."""

    @property
    def majorises(self) -> bool:
        """Whether weighted steps use `Criterion.metric`, for losses that are not concave in s."""

    def squared_residuals(self, theta: Theta, /) -> Array:
        """Return ‖eᵢ‖² of every row."""

    def cost(self, theta: Theta, loss: Criterion, /) -> float:
        """Return ½ Σ aᵢ ρ(‖eᵢ‖²) + penalty."""

    def penalty(self, theta: Theta, /) -> float:
        """Return the penalty of θ."""

    def weighted(self, theta: Theta, loss: Criterion, /) -> Weighted[Theta]:
        """Return the cost of θ and the moments of the problem weighted there, in one pass."""

    def solve(self, weighted: Weighted[Theta], /) -> Theta:
        """Return the minimiser of the weighted problem."""

    def between(self, theta: Theta, target: Theta, step: float, /) -> Theta:
        """Return the parameter that lies ``step`` of the way from ``theta`` to ``target``."""

    def change(self, theta: Theta, other: Theta, /) -> float:
        """Return the distance of two parameters relative to their size."""
