"""An affine subspace: the parameter of the PCA problem."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from kmpe.arrays import SINGULAR, Array

__all__ = ["ScoreMoments", "Subspace", "between", "distance"]


@dataclass(frozen=True)
class Subspace:
    """A mean and orthonormal directions, with the variances along them.

    Parameters
    ----------
    mean : array of shape (d,)
        The point μ that the subspace passes through.
    W : array of shape (d, m)
        Orthonormal columns; in a solution, by decreasing variance.
    variances : array of shape (m,)
        Weighted variances along the columns.
    total : float
        The sum of the weighted variances in all directions.
    """

    mean: Array
    W: Array
    variances: Array
    total: float

    def leading(self, m: int) -> "Subspace":
        """Return the subspace of the first ``m`` directions."""
        return replace(self, W=self.W[:, :m], variances=self.variances[:m])


class ScoreMoments(NamedTuple):
    """Weighted means of scores, their products, and the squared distances from the subspace."""

    mean: Array
    products: Array
    outside: Array

    @classmethod
    def of(cls, T: Array, s: Array, weights: Array) -> "ScoreMoments":
        """Return the moments of rows with scores T and squared distances s."""
        w = weights / weights.sum()
        return cls(w @ T, (w[:, None] * T).T @ T, w @ s)

    def leading(self, m: int) -> "ScoreMoments":
        """Return the moments in the subspace of the first ``m`` directions."""
        rest = float(np.trace(self.products[m:, m:]))
        return ScoreMoments(self.mean[:m], self.products[:m, :m], self.outside + rest)

    def solve(self, theta: Subspace) -> Subspace:
        """Return the same subspace with mean and principal directions of the scores."""
        covariance = self.products - np.outer(self.mean, self.mean)
        values, U = linalg.eigh(covariance, check_finite=False)
        # Far from their mean, scores have products of which the difference may be rounding only.
        rounding = SINGULAR * float(np.trace(self.products))
        variances = np.where(values[::-1] > rounding, values[::-1], 0.0)
        total = float(variances.sum() + self.outside)
        return Subspace(theta.mean + theta.W @ self.mean, theta.W @ U[:, ::-1], variances, total)


def between(theta: Subspace, target: Subspace, step: float) -> Subspace:
    """Return the subspace ``step`` of the way from ``theta`` to ``target``.

    The directions of the target are rotated to be as near as possible to those of ``theta``
    (Procrustes), and the point on the chord between both is made orthonormal again. Within the
    subspace the mean moves all the way, which costs nothing; otherwise the first-order change of
    the cost could be positive.
    """
    if step == 1.0:
        return target
    shift = target.mean - theta.mean
    inside = theta.W @ (theta.W.T @ shift)
    mean = theta.mean + inside + step * (shift - inside)
    if theta.W.shape[1] == 0:
        return replace(target, mean=mean)
    left, _, right = linalg.svd(target.W.T @ theta.W, check_finite=False)
    aligned = target.W @ (left @ right)
    chord = theta.W + step * (aligned - theta.W)
    W = linalg.qr(chord, mode="economic", check_finite=False)[0]
    return replace(target, mean=mean, W=np.asarray(W, dtype=np.float64))


def distance(theta: Subspace, other: Subspace, spread: float) -> float:
    """Return the distance of two subspaces.

    The root mean squared sine of the principal angles, combined with the distance of the means
    orthogonal to the subspace, in units of ``spread``, the spread of the data.
    """
    gap = other.mean - theta.mean
    gap = gap - theta.W @ (theta.W.T @ gap)
    shift = float(np.linalg.norm(gap)) / spread if spread > 0 else 0.0
    m = theta.W.shape[1]
    if m == 0:
        return shift
    turn = other.W - theta.W @ (theta.W.T @ other.W)
    return float(np.hypot(np.linalg.norm(turn) / np.sqrt(m), shift))
