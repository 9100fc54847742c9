"""Trimmed likelihood of probabilistic PCA: which rows an m-dimensional subspace belongs to.

Residuals alone cannot say it. A subspace that passes through a cluster of outliers has none there,
and giving up a weak direction for it may even lower the sum of squares. The likelihood of the
Gaussian model of PCA (Tipping and Bishop 1999), whose covariance is WΛWᵀ inside the subspace and σ²
in the other q directions, charges for it: minus twice its logarithm is, for each row,

    Σ tⱼ² / λⱼ + ‖e‖² / σ² + Σ log λⱼ + q log σ²

with scores t and residual e. It is maximised over the model and the h rows that it is of (maximum
trimmed likelihood, Hadi and Luceño 1997) by concentration steps: fit the model to h rows, keep the
h rows that are nearest to it. No step lowers the likelihood. With m = d it is the MCD and its
C-step (Rousseeuw and Van Driessen 1999). The steps begin at the h rows that lie furthest in.

Of several starts the one of the largest likelihood is no good choice: a tight cluster of 40% wins
it. So there is one, as in ROBPCA, and the rows that are no outliers come back in afterwards.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from kmpe.arrays import ROUNDING, Array, Index, Mask
from kmpe.problems.pca.distances import within_limits
from kmpe.problems.pca.sums import Both

__all__ = ["believable_rows", "concentrate", "n_trimmed", "until_it_stands"]

# The least number of which the reciprocal does not overflow.
_TINY = float(np.finfo(np.float64).tiny)


def n_trimmed(n: int, m: int) -> int:
    """Return how many of n rows the trimmed likelihood is of.

    Half of them, for a breakdown point of 50%; but five for each dimension, without which a fit
    says little of the others (Rousseeuw and Van Zomeren 1990), as far as three quarters of the rows
    go.
    """
    enough = min(3 * n // 4, 5 * (m + 1))
    return min(n, max((n + m + 2) // 2, enough))


def believable_rows(Z: Array, rank: Index, m: int) -> Mask:
    """Return the rows that are no outliers to their own fit of m dimensions.

    Parameters
    ----------
    Z : array of shape (n, r)
        The rows.
    rank : array of int of shape (n,)
        Their numbers, from the innermost to the outermost.
    m : int
        The dimension of the subspace.
    """
    h = n_trimmed(len(Z), m)
    inside = np.zeros(len(Z), dtype=np.bool_)
    inside[concentrate(Z, np.sort(rank[:h]), m, h)] = True

    def judge(inside: Mask, first: bool) -> Mask:
        mean, W, _, _ = _fit(Z[inside], m)
        both = Both(mean, W).of(Z)
        return within_limits(both[:, :-1], np.sqrt(both[:, -1]), inside, first=first)

    return until_it_stands(judge, inside)


def until_it_stands(
    judge: Callable[[Mask, bool], Mask], inside: Mask, most_steps: int = 50
) -> Mask:
    """Return the rows that a fit to themselves lets pass; the last ones should they go in circles.

    ``judge`` returns the rows that pass a fit to given rows. It is told of the first of them, the
    trimmed ones.
    """
    before: set[bytes] = set()
    for step in range(most_steps):
        passed = judge(inside, step == 0)
        # A fit that half of the rows do not pass is none.
        if 2 * np.count_nonzero(passed) < len(passed) or np.array_equal(passed, inside):
            break
        inside = passed
        if inside.tobytes() in before:
            break
        before.add(inside.tobytes())
    return inside


def concentrate(Z: Array, start: Index, m: int, h: int, most_steps: int = 50) -> Index:
    """Return the h rows at which concentration steps from the rows ``start`` end."""
    keep = start
    for _ in range(most_steps):
        mean, W, variances, noise = _fit(Z[keep], m)
        both = Both(mean, W).of(Z)
        distance = both[:, :-1] ** 2 @ (1 / variances) + both[:, -1] / noise
        nearest = np.sort(np.argsort(distance, kind="stable")[:h])
        if np.array_equal(nearest, keep):
            break
        keep = nearest
    return keep


def _fit(K: Array, m: int) -> tuple[Array, Array, Array, float]:
    """Return mean, directions, their variances and the noise variance of some rows."""
    mean = K.mean(axis=0)
    K = K - mean
    k, r = K.shape
    total = float(np.einsum("ij,ij->", K, K))
    m = min(m, k, r)
    if k < r:
        values, U = _leading(K @ K.T, m)
        W = linalg.qr(K.T @ U, mode="economic", check_finite=False)[0]
    else:
        values, W = _leading(K.T @ K, m)
    # Where the rows of the fit are one point, distances rank the others.
    least = max(ROUNDING * total / max(1, min(k, r)), _TINY * k) if total > 0 else 1.0
    noise = (total - float(values.sum())) / max(1, min(k - 1, r) - m)
    return mean, np.asarray(W), np.maximum(values, least) / k, max(noise, least) / k


def _leading(G: Array, m: int) -> tuple[Array, Array]:
    """Return the m largest eigenvalues and their eigenvectors."""
    if m == 0:
        return np.zeros(0), np.zeros((len(G), 0))
    some = (len(G) - m, len(G) - 1)
    values, U = linalg.eigh(G, subset_by_index=some, check_finite=False)
    return values, U
