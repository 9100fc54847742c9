"""Three forms of the weighted PCA problem, chosen by the shape of the data."""

import math
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from kmpe.arrays import LAST_DIGITS, ROUNDING, Array
from kmpe.problems.base import Criterion, Weighted
from kmpe.problems.pca.eigen import leading_eigenvectors
from kmpe.problems.pca.points import Points, minus
from kmpe.problems.pca.subspace import Subspace
from kmpe.problems.pca.sums import Distances, Mean, Products, ScatterMatrix, Scores
from kmpe.problems.pca.weighted import WeightedPCA

__all__ = ["Dual", "Iterated", "Scatter"]


@dataclass(frozen=True)
class Scatter(WeightedPCA):
    """More rows than columns: the weighted scatter matrix in one pass, and its eigenvectors.

    With a ``sketch``, the scatter matrix of a sample per unit of weight, a pass computes only the
    product of the scatter matrix with W, and the sketch stands in for the rest of the matrix. A
    step then ends near the minimiser, not at it; the limit of the steps is the same.
    """

    sketch: Array | None = None

    def with_components(self, m: int) -> Self:
        """Return the same problem for a subspace of ``m`` dimensions."""
        return replace(self, m=m, sketch=self.sketch if m == self.m else None)

    def scatter(self, weighted: Weighted[Subspace]) -> tuple[Array, Array]:
        """Return the scatter matrix per unit of weight, and the mean minus the offset."""
        S, shift = weighted.moments
        shift = shift / weighted.mass
        return S / weighted.mass - np.outer(shift, shift), shift

    def sketched(self, sketch: Array, rows: int) -> Self:
        """Return the problem with the scatter matrix of a sample of rows, if it is near enough.

        Its eigenvalues outside the subspace have a relative error of 2√(d / n) (Bai and Yin 1993).
        The ratio of that error to the eigengap is the rate at which steps with the sketch converge.
        """
        d, m = self.points.d, self.m
        if not 0 < m < d:
            return self
        inner, outer = linalg.eigvalsh(sketch, subset_by_index=(d - m - 1, d - m))[::-1]
        # At a rate of a tenth, two steps reduce the excess cost, quadratic in the distance, 1e-4
        # times.
        near = 2 * math.sqrt(d / rows) * outer <= 0.1 * (inner - outer)
        return replace(self, sketch=sketch) if near else self

    def _uses_sketch(self, W: Array) -> bool:
        return self.sketch is not None and 0 < self.m == W.shape[1] and self._few_components

    @property
    def _few_components(self) -> bool:
        # With more than an eighth of the columns a product with W costs as much as the scatter
        # matrix, and single eigenvectors cost more than all at once.
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
            # Directions in which weighted rows vary by rounding only stay where they were.
            W = weighted.theta.W
            S += ROUNDING * (total + float(shift @ shift)) * (W @ W.T)
        mean = self.points.offset + shift
        if m == 0:
            return Subspace(mean, np.zeros((d, 0)), np.zeros(0), total)
        some = (d - m, d - 1) if self._few_components else None
        driver: Literal["evr", "evd"] = "evd" if some is None else "evr"
        values, W = linalg.eigh(S, subset_by_index=some, driver=driver, check_finite=False)
        return Subspace(mean, W[:, : -m - 1 : -1], np.maximum(values[: -m - 1 : -1], 0.0), total)

    def gain(self, weighted: Weighted[Subspace], target: Subspace) -> float:
        """Return by how much ``target`` lowers the weighted sum of squares, if there is a sketch.

        It is half the squared Newton decrement for fixed weights. Without a sketch there are few
        rows, and steps are taken until nothing changes.
        """
        if not self._uses_sketch(weighted.theta.W):
            return math.inf
        left = max(target.total - float(target.variances.sum()), 0.0)
        return 0.5 * (float(weighted.moments[2]) - weighted.mass * left)


def _corrected(sketch: Array, weighted: Weighted[Subspace]) -> tuple[Array, Array, float]:
    """Return the symmetric matrix nearest to the sketch whose product with W is that of S.

    The Powell-symmetric-Broyden update.
    """
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
    those of the n × n matrix Rᵀ, and Q maps them back. A Gram matrix would lose half of the digits.
    """

    reflectors: Array | None = None
    tau: Array | None = None
    centre: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, points: Points, m: int) -> "Dual":
        """Return the problem on the rows of X."""
        X = points.whole()
        centre = points.a @ X / points.n
        # Q is only applied to a few vectors: its Householder reflectors are enough.
        raw, R = linalg.qr(minus(X, centre).T, mode="raw", overwrite_a=True, check_finite=False)
        reflectors, tau = (np.asarray(part, dtype=np.float64) for part in raw)
        # Equal rows, which stand beside each other, stay equal.
        new = np.append(True, np.any(X[1:] != X[:-1], axis=1))
        rows = np.ascontiguousarray(R.T[np.flatnonzero(new)[np.cumsum(new) - 1]])
        rows[np.abs(rows) <= LAST_DIGITS * np.linalg.norm(rows, axis=1, keepdims=True)] = 0.0
        return cls(Points(rows, points.a), m, reflectors=reflectors, tau=tau, centre=centre)

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
    """Many rows and many columns: subspace iteration with Σ w x (xᵀW), started at the last W."""

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
        k = min(d, m + 8)  # a larger block widens the eigengap and converges faster
        extra = np.random.RandomState(0).standard_normal((d, max(0, k - theta.W.shape[1])))
        distances = self._distances(theta)

        def products(V: Array) -> Array:
            """Return SV with S the weighted covariance of the rows."""
            (VS,) = self.points.rows.total(Products(distances, weighted.loss, V))
            return np.asarray(VS.T / weighted.mass - np.outer(shift, shift @ V))

        start = np.hstack([theta.W[:, :k], extra])
        # Intermediate steps start at the last subspace and need not be exact; the final one is, to
        # this share of the largest eigenvalue.
        values, W = leading_eigenvectors(products, start, m, tol=1e-9, max_passes=self.max_passes)
        return Subspace(mean, W, np.maximum(values, 0.0), total)
