"""The weighted PCA problem: the base class of its forms.

Minimise ½ Σ aᵢ wᵢ ‖xᵢ - μ - WWᵀ(xᵢ - μ)‖² over the mean μ and the orthonormal columns of W: (26),
(28) and (29) of the paper.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Squared
from kmpe.problems.base import Criterion, Weighted
from kmpe.problems.pca.points import Points
from kmpe.problems.pca.subspace import ScoreMoments, Subspace, between, distance
from kmpe.problems.pca.sums import Cost, Distances, Measured, WeightedScores

__all__ = ["WeightedPCA"]


@dataclass(frozen=True)
class WeightedPCA(ABC):
    """The problem on points; its parameter is an m-dimensional subspace."""

    points: Points
    m: int
    majorises: ClassVar[bool] = False
    least_scale: ClassVar[float] = 0.0

    @abstractmethod
    def _term(self, distances: Distances, loss: Criterion) -> Any:
        """Return the term that a pass sums: misfit, mass, and the moments for `solve`."""

    @abstractmethod
    def _minimiser(self, weighted: Weighted[Subspace]) -> Subspace:
        """Return the minimiser of a problem whose weights are not all 0."""

    def with_components(self, m: int) -> Self:
        """Return the same problem for a subspace of ``m`` dimensions."""
        return replace(self, m=m)

    def final(self, m: int) -> Self:
        """Return the problem for the final number ``m`` of components."""
        return self.with_components(m)

    def lift(self, theta: Subspace) -> Subspace:
        """Return a subspace of this problem in the coordinates of the data."""
        return theta

    @property
    def sample_weight(self) -> Array:
        """The sample weights, as numbers of repeats."""
        return self.points.a

    @property
    def n(self) -> float:
        """The sum of the sample weights."""
        return self.points.n

    @property
    def dim(self) -> int:
        """The number of components by which the rule "mad" scales a residual norm.

        The relative spread of ‖e‖² is √(2/q) for q Gaussian components. With √q components in the
        rule, weights depend on where a residual lies within that spread and not on its level.
        Above 12 a loss with a rejection point would reject rows in the middle of the residuals.
        """
        q = max(1, self.n_directions - self.m)
        return min(12, max(1, round(math.sqrt(q))))

    @property
    def n_directions(self) -> int:
        """The number of dimensions that the residuals and the subspace share."""
        return self.points.d

    @property
    def origin(self) -> Subspace:
        """The subspace of dimension 0 at the mean of the rows."""
        return Subspace(self.points.mean, np.zeros((self.points.d, 0)), np.zeros(0), 0.0)

    def squared_residuals(self, theta: Subspace, /) -> Array:
        """Return ‖x - μ‖² - ‖Wᵀ(x - μ)‖² of every row, clipped at 0."""
        return np.asarray(self.points.rows.column(self._distances(theta)))

    def measured(self, theta: Subspace, other: Subspace) -> Measured:
        """Return the function that gives scores and squared distances of rows from both."""
        return Measured(self._distances(theta), self._distances(other))

    def moments(self, theta: Subspace, at: Subspace, loss: Criterion) -> ScoreMoments:
        """Return the moments of the scores in ``theta`` of rows weighted by the loss at ``at``."""
        sums = self.points.rows.total(
            WeightedScores(self._distances(theta), self._distances(at), loss)
        )
        if sums[0] == 0:
            return self.moments(theta, at, Squared())
        return ScoreMoments(*(value / sums[0] for value in sums[1:]))

    def of_rows(self, a: Array) -> Self:
        """Return the same problem with other sample weights."""
        return replace(self, points=self.points.counted(a))

    def cost(self, theta: Subspace, loss: Criterion, /) -> float:
        """Return ½ Σ aᵢ ρ(‖eᵢ‖²)."""
        (total,) = self.points.rows.total(Cost(self._distances(theta), loss))
        return 0.5 * float(total)

    def penalty(self, theta: Subspace, /) -> float:  # noqa: ARG002 - the protocol
        """Return 0: nothing is penalised."""
        return 0.0

    def weighted(self, theta: Subspace, loss: Criterion, /) -> Weighted[Subspace]:
        """Return the cost of a subspace and the moments of the rows weighted there, in one pass."""
        with np.errstate(over="ignore", invalid="ignore"):
            total, mass, *moments = self.points.rows.total(self._term(self._distances(theta), loss))
        # Moments that overflow lead nowhere: no step goes where they do.
        possible = all(np.isfinite(moment).all() for moment in moments)
        misfit = 0.5 * float(total) if possible else math.inf
        return Weighted(theta, loss, misfit, 0.0, float(mass), tuple(moments))

    def solve(self, weighted: Weighted[Subspace], /) -> Subspace:
        """Return the mean (28) and the leading eigenvectors of (29).

        A loss with p > 2 has weight 0 at residual 0: if all residuals are 0, rows count equally.
        """
        if weighted.mass == 0:
            weighted = self.weighted(weighted.theta, Squared())
        return self._minimiser(weighted)

    def gain(self, weighted: Weighted[Subspace], target: Subspace) -> float:  # noqa: ARG002
        """Return by how much ``target`` lowers the weighted sum of squares; inf if not known."""
        return math.inf

    def between(self, theta: Subspace, target: Subspace, step: float, /) -> Subspace:
        """Return the subspace that lies ``step`` of the way from ``theta`` to ``target``."""
        return between(theta, target, step)

    def change(self, theta: Subspace, other: Subspace, /) -> float:
        """Return the distance of two subspaces relative to the spread of the data."""
        return distance(theta, other, self.points.spread)

    def _distances(self, theta: Subspace) -> Distances:
        # Contiguous, as after unpickling: products with other strides have other last digits.
        return Distances(theta.mean - self.points.offset, np.ascontiguousarray(theta.W))
