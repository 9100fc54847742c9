"""The robust start of a PCA: a clean subset of the rows.

Rows are ranked by their outlyingness (`outlyingness`), and the central half is the start of the
maximum trimmed likelihood (`trimmed_likelihood`). If there are many rows, a sample is used.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy import linalg

from kmpe.arrays import ROUNDING, Array, Index, Mask
from kmpe.losses import Squared
from kmpe.problems.pca import Points, Scatter, Subspace, WeightedPCA, weighted_pca
from kmpe.problems.pca.distances import spread
from kmpe.problems.pca.sums import Both
from kmpe.solvers.walk import Begun
from kmpe.starts.outlyingness import coordinates, outlyingness
from kmpe.starts.trimmed_likelihood import believable_rows, nearest

__all__ = ["Believed", "PCAStart", "enough_components", "growth_ratio", "most_dimensions"]


@dataclass(frozen=True)
class Believed:
    """The indices of some rows, and which of them are in the clean subset."""

    index: Index
    inside: Mask


@dataclass(frozen=True)
class PCAStart:
    """The start of a PCA: plain PCA, or the PCA of the clean subset.

    Parameters
    ----------
    robust : bool
        Whether it is the latter.
    n_components : int, optional
        The dimension of the subspace for the weights, if it is given.
    share : float, optional
        Otherwise the share of the variance that it must explain; None for the `growth_ratio`.
    most : int
        Its largest dimension, `most_dimensions`.
    n_wanted : int
        The number of components that will be needed, if it is known, or 1.
    seed : int
        Seed of the sample, if there are many rows.
    """

    robust: bool
    n_components: int | None
    share: float | None
    most: int
    n_wanted: int
    seed: int

    def __call__(self, problem: WeightedPCA) -> Begun[WeightedPCA, Subspace]:
        """Return the initial subspace, and the problem in the dimension for the weights."""
        if self.robust:
            return self._from_believable_rows(problem)
        m = self.n_components or self.most
        if self.share is None and self.n_components is None:
            points = problem.points
            m = growth_ratio(self._some(points)[1], self.most)
        problem = problem.with_components(m)
        return Begun(problem, problem, _plain_pca(problem))

    def _from_believable_rows(self, problem: WeightedPCA) -> Begun[WeightedPCA, Subspace]:
        points = problem.points
        index, X = self._some(points)
        Z = coordinates(X)
        out = outlyingness(Z)
        m = self.n_components or self._n_components(Z[nearest(out, len(Z) // 2 + 1)])
        inside = believable_rows(Z, out, m)
        problem = problem.with_components(m)
        some = weighted_pca(Points(X[inside], np.ones(np.count_nonzero(inside))), m)
        theta = some.lift(_plain_pca(some))
        squared = Both(theta.mean, theta.W).of(X)[:, -1]
        limit = spread(np.sqrt(squared), inside, theta.W.shape[1]).limit
        begun = Begun(problem, problem, theta, details=Believed(index, inside), scale=limit)
        # With many more than ten rows per column, the fit is first made on ten per column.
        size = max(10 * points.d, len(index))
        if isinstance(problem, Scatter) and size < len(points) // 4:
            sample = points.some(points.sample(size, self.seed + 1))
            return replace(begun, sample=Scatter(sample, m))
        return begun

    def _some(self, points: Points) -> tuple[Index, Array]:
        """Return the rows that the start uses: 600, and 20 for each component."""
        index = points.sample(max(600, 20 * self.n_wanted), self.seed)
        return index, points.some(index).X

    def _n_components(self, Z: Array) -> int:
        if self.share is None:
            return growth_ratio(Z, self.most)
        return enough_components(Z, self.share, self.most)


def most_dimensions(points: Points) -> int:
    """Return the largest dimension of the subspace for the weights."""
    # A subspace of more than a tenth as many dimensions as rows fits outliers like other rows.
    return min(points.d - 1, max(1, points.n_whole // 10))


def _plain_pca(problem: WeightedPCA) -> Subspace:
    return problem.solve(problem.weighted(problem.origin, Squared()))


def enough_components(Z: Array, share: float, most: int) -> int:
    """Return the number of components that explains ``share`` of the variance of some rows."""
    variances = linalg.svdvals(Z - Z.mean(axis=0), check_finite=False) ** 2
    total = variances.sum()
    if not total > 0:
        return min(1, most)
    return min(most, int(np.searchsorted(np.cumsum(variances) / total, share)) + 1)


def growth_ratio(Z: Array, most: int) -> int:
    """Return the number of components at the elbow of the scree plot of some rows.

    The growth ratio of Ahn and Horenstein (2013): with V(k) the variance not explained by k
    components, the k with the largest ratio of log(V(k - 1) / V(k)) to the next one.
    """
    variances = linalg.svdvals(Z - Z.mean(axis=0), check_finite=False) ** 2
    variances = variances[variances > ROUNDING * variances.max(initial=0.0)]
    most = min(most, len(variances) - 2)
    if most < 1:
        return 1
    left = np.cumsum(variances[::-1])[::-1]
    growth = np.log(left[:-1] / left[1:])
    return int(np.argmax(growth[:most] / growth[1 : most + 1])) + 1
