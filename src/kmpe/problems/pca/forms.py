"""The weighted PCA problem in three forms, chosen by the shape of the data.

Each form minimises ½ Σ aᵢ wᵢ ‖xᵢ - μ - WWᵀ(xᵢ - μ)‖² over the mean μ and the orthonormal
columns of W: (26), (28) and (29) of the paper.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
from scipy import linalg
from scipy.linalg import lapack

from kmpe.arrays import Array
from kmpe.problems.pca.eigen import leading_eigenvectors
from kmpe.problems.pca.points import Points
from kmpe.problems.pca.subspace import Subspace, between, distance

__all__ = ["Dual", "Iterated", "Scatter", "WeightedPCA", "weighted_pca"]

# The relative spread of ‖e‖² is √(2/q) for q Gaussian components: losses that have their scale
# from "mad" see √q of them, so that weights tell residuals apart by their spread and not by
# their level. Past 12 a loss that rejects would reach into the middle of the residuals.
_LARGEST_DIM = 12
# From this many columns on, forming and decomposing the scatter matrix costs more than passing
# over the data with a few vectors.
_MANY_COLUMNS = 1000
_EXTRA_VECTORS = 8
# Steps on the way start from the last subspace and need not be exact; the last one is, to this
# share of the largest eigenvalue.
_EXACT = 1e-9
_MOST_PASSES = 60
# A sketch spares a pass for the whole scatter matrix when there are this many times more
# columns than components.
_COLUMNS_PER_COMPONENT = 8


@dataclass(frozen=True)
class WeightedPCA(ABC):
    """The problem on points; its parameter is an m-dimensional subspace."""

    points: Points
    m: int

    @abstractmethod
    def solve(self, w: Array, theta: Subspace, /) -> Subspace:
        """Return the minimiser of the problem weighted by ``w``, found from ``theta``."""

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
    def dim(self) -> int:
        """The number of components that tell one residual norm from another."""
        q = max(1, self.n_directions - self.m)
        return min(_LARGEST_DIM, max(1, round(math.sqrt(q))))

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
        mean = theta.mean - self.points.offset
        V = np.column_stack([mean, theta.W])
        inside = mean @ theta.W
        s = self.points.squared_norms + mean @ mean
        kept = self._room_for_scores(theta)

        def subtract(Y: Array, where: slice) -> None:
            P = Y @ V
            if kept is not None:
                kept[where] = P[:, 1:]
            s[where] -= 2 * P[:, 0]
            T = P[:, 1:] - inside
            s[where] -= np.einsum("ij,ij->i", T, T)

        self.points.each(subtract)
        return np.maximum(s, 0.0, out=s)

    def _room_for_scores(self, theta: Subspace) -> Array | None:  # noqa: ARG002 - for a subclass
        """Return where to keep the scores yᵀW, if the next step will ask for them."""
        return None

    def penalty(self, theta: Subspace, /) -> float:  # noqa: ARG002 - the protocol
        """Return 0: nothing is penalised."""
        return 0.0

    def between(self, theta: Subspace, target: Subspace, step: float, /) -> Subspace:
        """Return the subspace that lies ``step`` of the way from ``theta`` to ``target``."""
        return between(theta, target, step)

    def change(self, theta: Subspace, other: Subspace, /) -> float:
        """Return the distance of two subspaces relative to the spread of the data."""
        return distance(theta, other, self.points.spread)

    def _products(self, aw: Array, V: Array, shift: Array) -> Array:
        """Return SV with S the weighted covariance of the rows and shift their mean."""
        # Twice as fast as Y.T @ T for rows in C order.
        (VS,) = self.points.total(lambda Y, where: ((aw[where, None] * (Y @ V)).T @ Y,))
        return np.asarray(VS.T / aw.sum() - np.outer(shift, shift @ V))

    def _counts(self, w: Array) -> Array:
        """Return the weights of the rows.

        A loss with p > 2 has none for rows without residual: if all are, they count alike.
        """
        aw = self.points.a * w
        return aw if aw.any() else self.points.a

    def _moments(self, aw: Array) -> tuple[Array, float]:
        """Return the weighted mean of the rows less the offset, and their total variance."""
        mass = float(aw.sum())
        (shift,) = self.points.total(lambda Y, where: (aw[where] @ Y,))
        shift /= mass
        return shift, float(aw @ self.points.squared_norms) / mass - float(shift @ shift)


@dataclass(frozen=True)
class Scatter(WeightedPCA):
    """More rows than columns: the weighted scatter matrix in one pass, and its eigenvectors.

    With a ``sketch``, the scatter matrix of a sample for one unit of weight, a pass multiplies
    the whole scatter matrix with W only, and the sketch says the rest. The step ends a little
    beside the minimiser; where the steps come to rest it makes no difference.
    """

    sketch: Array | None = None
    # The scores of the last subspace whose residuals were asked for: the step from there needs
    # them again, and they cost half of its pass.
    last: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def _room_for_scores(self, theta: Subspace) -> Array | None:
        if self.sketch is None:
            return None
        self.last.clear()
        self.last.update(theta=theta, scores=np.empty((len(self.points), theta.W.shape[1])))
        return np.asarray(self.last["scores"])

    def with_components(self, m: int) -> Self:
        """Return the same problem for a subspace of ``m`` dimensions."""
        return replace(self, m=m, sketch=self.sketch if m == self.m else None)

    def solve(self, w: Array, theta: Subspace, /) -> Subspace:
        """Return the mean (28) and the leading eigenvectors of (29)."""
        aw = self._counts(w)
        d, m = self.points.d, self.m
        thin = 0 < m == theta.W.shape[1] and _COLUMNS_PER_COMPONENT * m <= d
        if self.sketch is not None and thin:
            S, shift, total = self._corrected_sketch(aw, theta, self.sketch)
        else:
            S, shift = self.scatter(aw)
            total = float(np.trace(S))
        mean = self.points.offset + shift
        if m == 0:
            return Subspace(mean, np.zeros((d, 0)), np.zeros(0), total)
        # One by one, more than an eighth of the eigenvectors cost more than all at once.
        some = (d - m, d - 1) if _COLUMNS_PER_COMPONENT * m <= d else None
        driver: Literal["evr", "evd"] = "evd" if some is None else "evr"
        values, W = linalg.eigh(S, subset_by_index=some, driver=driver, check_finite=False)
        return Subspace(mean, W[:, : -m - 1 : -1], np.maximum(values[: -m - 1 : -1], 0.0), total)

    def scatter(self, aw: Array) -> tuple[Array, Array]:
        """Return the scatter matrix of weighted rows by weight, and their mean less the offset."""
        root = np.sqrt(aw)

        def term(Y: Array, where: slice) -> tuple[Array, Array]:
            Y = Y * root[where, None]
            return Y.T @ Y, root[where] @ Y

        S, shift = self.points.total(term)
        mass = float(aw.sum())
        shift /= mass
        return S / mass - np.outer(shift, shift), shift

    def _corrected_sketch(
        self, aw: Array, theta: Subspace, sketch: Array
    ) -> tuple[Array, Array, float]:
        """Return the symmetric matrix next to the sketch that takes W where S takes it."""
        mass = float(aw.sum())
        W = theta.W
        scores = self.last["scores"] if self.last.get("theta") is theta else None

        def term(Y: Array, where: slice) -> tuple[Array]:
            T = Y @ W if scores is None else scores[where]
            return (np.column_stack([aw[where], aw[where, None] * T]).T @ Y,)

        (both,) = self.points.total(term)
        shift = both[0] / mass
        miss = both[1:].T / mass - np.outer(shift, shift @ W) - sketch @ W
        inside = W.T @ miss
        S = sketch + miss @ W.T + W @ miss.T - W @ ((inside + inside.T) / 2) @ W.T
        total = float(aw @ self.points.squared_norms) / mass - float(shift @ shift)
        return S, shift, total


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
        X = np.asarray(points.X, dtype=np.float64)
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
        return replace(self, m=m, max_passes=_MOST_PASSES)

    def solve(self, w: Array, theta: Subspace, /) -> Subspace:
        """Return the mean (28) and the leading eigenvectors of (29)."""
        aw = self._counts(w)
        d, m = self.points.d, self.m
        shift, total = self._moments(aw)
        mean = self.points.offset + shift
        if m == 0:
            return Subspace(mean, np.zeros((d, 0)), np.zeros(0), total)
        k = min(d, m + _EXTRA_VECTORS)
        extra = np.random.RandomState(0).standard_normal((d, max(0, k - theta.W.shape[1])))
        values, W = leading_eigenvectors(
            lambda V: self._products(aw, V, shift),
            np.hstack([theta.W[:, :k], extra]),
            m,
            tol=_EXACT,
            max_passes=self.max_passes,
        )
        return Subspace(mean, W, np.maximum(values, 0.0), total)


def weighted_pca(points: Points, m: int, *, most: int | None = None) -> WeightedPCA:
    """Return the problem in the form that suits its shape.

    ``most`` is the largest number of components that will be asked for; ``m`` by default.
    """
    n, d = points.X.shape
    wanted = max(m, 1) if most is None else most
    if min(n, d) > _MANY_COLUMNS and 10 * wanted <= min(n, d):
        return Iterated(points, m)
    return Dual.of(points, m) if n <= d else Scatter(points, m)
