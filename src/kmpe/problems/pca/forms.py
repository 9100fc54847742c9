"""The weighted PCA problem in three forms, chosen by the shape of the data.

Each form minimises ½ Σ aᵢ wᵢ ‖xᵢ - μ - WWᵀ(xᵢ - μ)‖² over the mean μ and the orthonormal
columns of W: (26), (28) and (29) of the paper.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from kmpe.arrays import Array
from kmpe.losses import Squared
from kmpe.problems.base import Criterion, Weighted
from kmpe.problems.pca.eigen import leading_eigenvectors
from kmpe.problems.pca.points import Points
from kmpe.problems.pca.subspace import ScoreMoments, Subspace, between, distance
from kmpe.problems.pca.sums import (
    Cost,
    Distances,
    Mean,
    Measured,
    Products,
    ScatterMatrix,
    Scores,
    WeightedScores,
)

__all__ = ["Dual", "Iterated", "Scatter", "WeightedPCA"]


@dataclass(frozen=True)
class WeightedPCA(ABC):
    """The problem on points; its parameter is an m-dimensional subspace."""

    points: Points
    m: int
    majorises: ClassVar[bool] = False
    least_scale: ClassVar[float] = 0.0

    @abstractmethod
    def _term(self, distances: Distances, loss: Criterion) -> Any:
        """Return what a pass sums up: misfit, mass, and the moments that `solve` needs."""

    @abstractmethod
    def _minimiser(self, weighted: Weighted[Subspace]) -> Subspace:
        """Return the minimiser of a problem whose weights are not all 0."""

    def with_components(self, m: int) -> Self:
        """Return the same problem for a subspace of ``m`` dimensions."""
        return replace(self, m=m)

    def final(self, m: int) -> Self:
        """Return the problem for the ``m`` components that are asked for in the end."""
        return self.with_components(m)

    def lift(self, theta: Subspace) -> Subspace:
        """Return a subspace of this problem in the coordinates of the data."""
        return theta

    @property
    def sample_weight(self) -> Array:
        """The number of times that each row counts."""
        return self.points.a

    @property
    def n(self) -> float:
        """The number of rows as they count."""
        return self.points.n

    @property
    def dim(self) -> int:
        """The number of components that tell one residual norm from another.

        The relative spread of ‖e‖² is √(2/q) for q Gaussian components: losses that have their
        scale from "mad" see √q of them, so that weights tell residuals apart by their spread and
        not by their level. Past 12 a loss that rejects would reach into the middle of the
        residuals.
        """
        q = max(1, self.n_directions - self.m)
        return min(12, max(1, round(math.sqrt(q))))

    @property
    def n_directions(self) -> int:
        """The number of dimensions that the residuals and the subspace share."""
        return self.points.d

    @property
    def origin(self) -> Subspace:
        """The subspace of no direction at the mean of the rows."""
        return Subspace(self.points.mean, np.zeros((self.points.d, 0)), np.zeros(0), 0.0)

    def squared_residuals(self, theta: Subspace, /) -> Array:
        """Return ‖x - μ‖² - ‖Wᵀ(x - μ)‖² of every row, clipped at 0."""
        return np.asarray(self.points.rows.column(self._distances(theta)))

    def measured(self, theta: Subspace, other: Subspace) -> Measured:
        """Return what gives scores and squared distance of a row, and that from another one."""
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
        """Return the same problem with other counts of the rows."""
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
        return Weighted(theta, loss, 0.5 * float(total), 0.0, float(mass), tuple(moments))

    def solve(self, weighted: Weighted[Subspace], /) -> Subspace:
        """Return the mean (28) and the leading eigenvectors of (29).

        A loss with p > 2 has no weight for rows without residual: if none has one, they count
        alike.
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
        # A copy that travelled is contiguous, and products of other strides have other last digits.
        return Distances(theta.mean - self.points.offset, np.ascontiguousarray(theta.W))


@dataclass(frozen=True)
class Scatter(WeightedPCA):
    """More rows than columns: the weighted scatter matrix in one pass, and its eigenvectors.

    With a ``sketch``, the scatter matrix of a sample for one unit of weight, a pass multiplies
    the whole scatter matrix with W only, and the sketch says the rest. The step ends a little
    beside the minimiser; where the steps come to rest it makes no difference.
    """

    sketch: Array | None = None

    def with_components(self, m: int) -> Self:
        """Return the same problem for a subspace of ``m`` dimensions."""
        return replace(self, m=m, sketch=self.sketch if m == self.m else None)

    def scatter(self, weighted: Weighted[Subspace]) -> tuple[Array, Array]:
        """Return the scatter matrix for one unit of weight, and the mean less the offset."""
        S, shift = weighted.moments
        shift = shift / weighted.mass
        return S / weighted.mass - np.outer(shift, shift), shift

    def sketched(self, sketch: Array, rows: int) -> Self:
        """Return the problem with the scatter matrix of so many rows, if that is near enough.

        Eigenvalues outside the subspace are wrong by the share 2√(d / n) (Bai and Yin 1993). What
        that is of the gap is the rate at which steps with the sketch converge.
        """
        d, m = self.points.d, self.m
        if not 0 < m < d:
            return self
        inner, outer = linalg.eigvalsh(sketch, subset_by_index=(d - m - 1, d - m))[::-1]
        # At a tenth, two steps leave a ten-thousandth of the distance in the cost.
        near = 2 * math.sqrt(d / rows) * outer <= 0.1 * (inner - outer)
        return replace(self, sketch=sketch) if near else self

    def _uses_sketch(self, W: Array) -> bool:
        return self.sketch is not None and 0 < self.m == W.shape[1] and self._few_components

    @property
    def _few_components(self) -> bool:
        # More than an eighth of the columns: a product with W costs as much as the scatter matrix,
        # and eigenvectors one by one more than all at once.
        return 8 * self.m <= self.points.d

    def _term(self, distances: Distances, loss: Criterion) -> Any:
        if self._uses_sketch(distances.W):
            return Scores(distances, loss)
        return ScatterMatrix(distances, loss)

    def _minimiser(self, weighted: Weighted[Subspace]) -> Subspace:
        d, m = self.points.d, self.m
        if self.sketch is not None and self._uses_sketch(weighted.theta.W):
            S, shift, total = _corrected(self.sketch, weighted)
        else:
            S, shift = self.scatter(weighted)
            total = float(np.trace(S))
        mean = self.points.offset + shift
        if m == 0:
            return Subspace(mean, np.zeros((d, 0)), np.zeros(0), total)
        some = (d - m, d - 1) if self._few_components else None
        driver: Literal["evr", "evd"] = "evd" if some is None else "evr"
        values, W = linalg.eigh(S, subset_by_index=some, driver=driver, check_finite=False)
        return Subspace(mean, W[:, : -m - 1 : -1], np.maximum(values[: -m - 1 : -1], 0.0), total)

    def gain(self, weighted: Weighted[Subspace], target: Subspace) -> float:
        """Return by how much ``target`` lowers the weighted sum of squares, with a sketch.

        Half the squared Newton decrement where weights stay as they are. Without a sketch rows are
        few, and steps go on until they change nothing.
        """
        if not self._uses_sketch(weighted.theta.W):
            return math.inf
        left = max(target.total - float(target.variances.sum()), 0.0)
        return 0.5 * (float(weighted.moments[2]) - weighted.mass * left)


def _corrected(sketch: Array, weighted: Weighted[Subspace]) -> tuple[Array, Array, float]:
    """Return the symmetric matrix next to the sketch that takes W where S takes it."""
    both, squares, _ = weighted.moments
    W = weighted.theta.W
    shift = both[0] / weighted.mass
    miss = both[1:].T / weighted.mass - np.outer(shift, shift @ W) - sketch @ W
    inside = W.T @ miss
    S = sketch + miss @ W.T + W @ miss.T - W @ ((inside + inside.T) / 2) @ W.T
    return S, shift, float(squares) / weighted.mass - float(shift @ shift)


@dataclass(frozen=True)
class Dual(Scatter):
    """No more rows than columns: the same rows in coordinates of the space that they span.

    X - 1c = RᵀQᵀ with c the mean of the rows: distances, means and directions of the rows are
    those of the n × n matrix Rᵀ, and Q takes them back. A Gram matrix would say the same with
    half of the digits.
    """

    reflectors: Array | None = None
    tau: Array | None = None
    centre: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, points: Points, m: int) -> "Dual":
        """Return the problem on the rows of X."""
        X = points.whole()
        centre = points.a @ X / points.n
        # Q is only ever applied, to a few vectors: its reflectors are enough.
        raw, R = linalg.qr((X - centre).T, mode="raw", overwrite_a=True, check_finite=False)
        reflectors, tau = (np.asarray(part, dtype=np.float64) for part in raw)
        rows = Points(np.ascontiguousarray(R.T), points.a)
        return cls(rows, m, reflectors=reflectors, tau=tau, centre=centre)

    def lift(self, theta: Subspace) -> Subspace:
        """Return the subspace in the coordinates of the data."""
        V = self.rotate(np.column_stack([theta.mean, theta.W]))
        return replace(theta, mean=self.centre + V[:, 0], W=V[:, 1:])

    def rotate(self, V: Array) -> Array:
        """Return QV."""
        whole = np.zeros((self.n_directions, V.shape[1]), order="F")
        whole[: len(V)] = V
        size = int(lapack.dormqr("L", "N", self.reflectors, self.tau, whole, -1)[1][0])
        QV = lapack.dormqr("L", "N", self.reflectors, self.tau, whole, size, overwrite_c=True)[0]
        return np.asarray(QV)

    @property
    def n_directions(self) -> int:
        return len(self.centre)


@dataclass(frozen=True)
class Iterated(WeightedPCA):
    """Many rows and many columns: subspace iteration with Σ w x (xᵀW), from the last W on."""

    max_passes: int = 2

    def final(self, m: int) -> Self:
        """Return the problem for ``m`` components whose solution is exact."""
        return replace(self, m=m, max_passes=60)

    def _term(self, distances: Distances, loss: Criterion) -> Any:
        return Mean(distances, loss)

    def _minimiser(self, weighted: Weighted[Subspace]) -> Subspace:
        d, m, theta = self.points.d, self.m, weighted.theta
        shift, squares = weighted.moments
        shift = shift / weighted.mass
        total = float(squares) / weighted.mass - float(shift @ shift)
        mean = self.points.offset + shift
        if m == 0:
            return Subspace(mean, np.zeros((d, 0)), np.zeros(0), total)
        k = min(d, m + 8)  # with some vectors more than are wanted these are found sooner
        extra = np.random.RandomState(0).standard_normal((d, max(0, k - theta.W.shape[1])))
        distances = self._distances(theta)

        def products(V: Array) -> Array:
            """Return SV with S the weighted covariance of the rows."""
            (VS,) = self.points.rows.total(Products(distances, weighted.loss, V))
            return np.asarray(VS.T / weighted.mass - np.outer(shift, shift @ V))

        start = np.hstack([theta.W[:, :k], extra])
        # Steps on the way start from the last subspace and need not be exact; the last one is, to
        # this share of the largest eigenvalue.
        values, W = leading_eigenvectors(products, start, m, tol=1e-9, max_passes=self.max_passes)
        return Subspace(mean, W, np.maximum(values, 0.0), total)
