"""A robust start for PCA: which half of the rows to believe before there is any fit.

Residuals cannot say it. A tight cluster of outliers that the first subspace passes through has
none, and giving up a weak direction for it may even lower the trimmed sum of squares: with 30%
of the rows in such a cluster (n = 500, d = 50, m = 3), concentration steps from 20 random subsets
ended at a subspace error of 0.58, those from the inner half at 0.07. So rows are first ranked by
how far out they lie in the directions that the rows themselves point out (Stahel and Donoho), and
concentration begins at the half that lies furthest in.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kmpe.arrays import Array, Index, Mask
from kmpe.losses import Squared
from kmpe.problems.pca import Points, Scatter, Subspace, WeightedPCA, weighted_pca
from kmpe.solvers.walk import Begun

__all__ = ["PCAStart", "believable_rows", "central_rows", "enough_components", "most_dimensions"]

# The robust start looks at this many rows, and at 20 for each component.
_ROWS = 600
_ROWS_PER_COMPONENT = 20
# A subspace of more dimensions than a tenth of the rows fits outliers as well as the others.
_LEAST_ROWS_PER_COMPONENT = 10
# With many more rows than this for each column, σ settles on that many of them.
_SAMPLE_ROWS_PER_COLUMN = 20


@dataclass(frozen=True)
class PCAStart:
    """The start of a PCA: plain PCA, or the PCA of the half of the rows that lies furthest in.

    Parameters
    ----------
    robust : bool
        Which of the two.
    n_components : int, optional
        The number of dimensions that weights are learnt in, if it is given.
    share : float
        The share of the variance that they must hold otherwise.
    most : int
        The largest number of them, `most_dimensions`.
    n_wanted : int
        The number of components that will be asked for, if it is known, or 1.
    seed : int
        Seed of the directions and subsets.
    """

    robust: bool
    n_components: int | None
    share: float
    most: int
    n_wanted: int
    seed: int

    def __call__(self, problem: WeightedPCA) -> Begun[WeightedPCA, Subspace]:
        """Return where the fit begins, its problem in the dimensions that weights are learnt in."""
        if self.robust:
            return self._from_central_rows(problem)
        problem = problem.with_components(self.n_components or self.most)
        return Begun(problem, problem, _plain_pca(problem))

    def _from_central_rows(self, problem: WeightedPCA) -> Begun[WeightedPCA, Subspace]:
        points, rng = problem.points, np.random.RandomState(self.seed)
        index = points.sample(max(_ROWS, _ROWS_PER_COMPONENT * self.n_wanted), self.seed)
        Z, centre = central_rows(points.some(index).X, rng)
        m = self.n_components or enough_components(Z, centre, self.share, self.most)
        kept = index[believable_rows(Z, centre, m, rng)]
        problem = problem.with_components(m)
        half = weighted_pca(Points(points.some(kept).X, np.ones(len(kept))), m)
        theta = half.lift(_plain_pca(half))
        size = max(_SAMPLE_ROWS_PER_COLUMN * points.d, len(index))
        if not (isinstance(problem, Scatter) and size < len(points) // 4):
            return Begun(problem, problem, theta)
        sample = points.some(points.sample(size, self.seed + 1))
        return Begun(problem, Scatter(sample, m), theta)


def most_dimensions(points: Points) -> int:
    """Return the largest number of dimensions that weights can be learnt in."""
    return min(points.d - 1, max(1, points.n_whole // _LEAST_ROWS_PER_COMPONENT))


def _plain_pca(problem: WeightedPCA) -> Subspace:
    return problem.solve(problem.weighted(problem.origin, Squared()))


def central_rows(X: Array, rng: np.random.RandomState) -> tuple[Array, Mask]:
    """Return coordinates of the rows, and a mask of the half that lies furthest in.

    The coordinates Z have the distances of the rows and no more columns than rows.
    """
    Z = _coordinates(X)
    rank = np.argsort(_outlyingness(Z, rng), kind="stable")
    centre = np.zeros(len(Z), dtype=np.bool_)
    centre[rank[: len(Z) // 2 + 1]] = True
    return Z, centre


def enough_components(Z: Array, centre: Mask, share: float, most: int) -> int:
    """Return how many components hold ``share`` of the variance of the central rows."""
    Y = Z[centre] - Z[centre].mean(axis=0)
    variances = linalg.svdvals(Y, check_finite=False) ** 2
    total = variances.sum()
    if not total > 0:
        return min(1, most)
    return min(most, int(np.searchsorted(np.cumsum(variances) / total, share)) + 1)


def believable_rows(
    Z: Array,
    centre: Mask,
    m: int,
    rng: np.random.RandomState,
    n_subsets: int = 12,
    n_carried_on: int = 2,
) -> Mask:
    """Return the half of the rows that an m-dimensional subspace fits best.

    Concentration steps (fit a subspace, keep the rows nearest to it) from the central rows and
    from the best of several small subsets of them. The winner is the fit of the least trimmed
    sum of squares over the central rows: over all rows a cluster of outliers could win it.
    """
    h = min(len(Z), max((len(Z) + m + 2) // 2, m + 2))
    rows = np.flatnonzero(centre)
    subsets = [rng.choice(rows, min(m + 2, len(rows)), replace=False) for _ in range(n_subsets)]
    trimmed = [_trimmed(_squared_residuals(Z, subset, m)[rows]) for subset in subsets]
    starts = [rows] + [subsets[i] for i in np.argsort(trimmed, kind="stable")[:n_carried_on]]
    best, least = rows, np.inf
    for start in starts:
        keep, s = _concentrate(Z, start, m, h)
        value = _trimmed(s[rows])
        if value < least:
            best, least = keep, value
    mask = np.zeros(len(Z), dtype=np.bool_)
    mask[best] = True
    return mask


def _trimmed(s: Array) -> float:
    k = max(1, 3 * len(s) // 4)
    return float(np.partition(s, k - 1)[:k].sum())


def _concentrate(Z: Array, keep: Index, m: int, h: int, max_steps: int = 10) -> tuple[Index, Array]:
    """Return the rows kept by concentration steps from ``keep``, and all squared residuals."""
    s = _squared_residuals(Z, keep, m)
    for _ in range(max_steps):
        nearest = np.sort(np.argsort(s, kind="stable")[:h])
        if np.array_equal(nearest, keep):
            break
        keep = nearest
        s = _squared_residuals(Z, keep, m)
    return keep, s


def _squared_residuals(Z: Array, keep: Index, m: int) -> Array:
    """Return the squared distances of all rows from the subspace fitted to some of them."""
    mean = Z[keep].mean(axis=0)
    Y = Z - mean
    s = np.einsum("ij,ij->i", Y, Y)
    K = Y[keep]
    k, r = K.shape
    m = min(m, k, r)
    if m == 0:
        return np.asarray(s)
    if k < r:
        top = (k - m, k - 1)
        values, U = linalg.eigh(K @ K.T, subset_by_index=top, check_finite=False)
        length = np.sqrt(np.maximum(values, 0.0))
        U = U[:, length > 1e-7 * length[-1]] / length[length > 1e-7 * length[-1]]
        T = Y @ (K.T @ U)
    else:
        top = (r - m, r - 1)
        T = Y @ linalg.eigh(K.T @ K, subset_by_index=top, check_finite=False)[1]
    return np.asarray(np.maximum(s - np.einsum("ij,ij->i", T, T), 0.0))


def _outlyingness(Z: Array, rng: np.random.RandomState, n_directions: int = 250) -> Array:
    """Return how far out each row lies: in its worst direction, and in its distance.

    Directions join two rows, or the spatial median and a row. A row is not judged in a
    direction that it helped to choose: with many columns its own noise alone would put it far
    out there. Single outliers, which only their own direction shows, have their distance from
    the median against them.
    """
    n = len(Z)
    Y = Z - _spatial_median(Z)
    k = min(n, n_directions)
    first = np.concatenate([rng.randint(n, size=k), rng.permutation(n)[:k]])
    second = np.concatenate([(first[:k] + rng.randint(1, max(n, 2), size=k)) % n, first[k:]])
    D = Y[first]
    D[:k] -= Y[second[:k]]
    length = np.linalg.norm(D, axis=1)
    distance = np.linalg.norm(Y, axis=1)
    useful = length > 1e-12 * distance.max(initial=0.0)
    first, second, D = first[useful], second[useful], D[useful] / length[useful, None]
    P = _deviations(D @ Y.T)
    each = np.arange(len(D))
    P[each, first] = P[each, second] = 0.0
    worst = P.max(axis=0, initial=0.0)
    typical = _median(worst)
    far = _deviations(distance[None], signed=True)[0] / 3
    return np.asarray(np.maximum(worst / typical if typical > 0 else worst, far))


def _deviations(P: Array, signed: bool = False) -> Array:
    """Return the distances from the median of each row of P in units of its median distance."""
    P = P - _median(P)[..., None]
    width = _median(np.abs(P))
    return np.asarray((P if signed else np.abs(P)) / np.where(width > 0, width, np.inf)[..., None])


def _median(P: Array) -> Array:
    half = P.shape[-1] // 2
    return np.asarray(np.partition(P, half, axis=-1)[..., half])


def _spatial_median(Z: Array, steps: int = 10) -> Array:
    """Return the point of least total distance from the rows, by a few steps of Weiszfeld."""
    c = np.median(Z, axis=0)
    for _ in range(steps):
        r = np.linalg.norm(Z - c, axis=1)
        typical = _median(r)
        if not typical > 0:
            break
        u = 1 / np.maximum(r, 1e-3 * typical)
        c = u @ Z / u.sum()
    return np.asarray(c)


def _coordinates(X: Array) -> Array:
    """Return rows with the same distances from each other, in no more columns than rows."""
    Y = X - X.mean(axis=0)
    if len(Y) >= Y.shape[1]:
        return np.asarray(Y)
    G = Y @ Y.T
    # The jitter is far below what a start needs, and makes equal rows positive definite.
    G.flat[:: len(G) + 1] += max(1e-10 * float(np.trace(G)) / len(G), np.finfo(np.float64).tiny)
    return np.asarray(linalg.cholesky(G, lower=True, check_finite=False))
