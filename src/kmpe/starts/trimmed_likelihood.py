"""Maximum trimmed likelihood (Hadi and Luceño 1997) of probabilistic PCA.

Residuals alone do not determine the clean subset: a subspace through a cluster of outliers has no
residuals there, and replacing a weak direction by it may even lower the sum of squares. The
likelihood of the Gaussian model of PCA (Tipping and Bishop 1999), whose covariance is WΛWᵀ within
the subspace and σ² in the other q directions, penalises this: minus twice its logarithm is, for
each row,

    Σ tⱼ² / λⱼ + ‖e‖² / σ² + Σ log λⱼ + q log σ²

with scores t and residual e. It is maximised over the model and subsets of h rows by concentration
steps: fit the model to h rows, keep the h rows nearest to it. No step lowers the likelihood. With
m = d it is the MCD with its C-steps (Rousseeuw and Van Driessen 1999). The steps start at the h
rows of least outlyingness.

Choosing the best of several starts would fail, as a tight cluster of 40% has the largest
likelihood. So there is one start, as in ROBPCA, and the rows that are no outliers are added
afterwards.
"""

from collections.abc import Callable

import numpy as np
from scipy import linalg

from kmpe.arrays import ROUNDING, Array, Mask
from kmpe.problems.pca.distances import within_limits
from kmpe.problems.pca.sums import Both

__all__ = ["believable_rows", "concentrate", "n_trimmed", "nearest", "until_it_stands"]

# The least number of which the reciprocal does not overflow.
_TINY = float(np.finfo(np.float64).tiny)


def n_trimmed(n: int, m: int) -> int:
    """Return the number h of rows in the trimmed likelihood.

    It is half of n, for a breakdown point of 50%, but at least five per dimension (Rousseeuw and
    Van Zomeren 1990) as long as these are at most three quarters of the rows.
    """
    enough = min(3 * n // 4, 5 * (m + 1))
    return min(n, max((n + m + 2) // 2, enough))


def nearest(distance: Array, h: int) -> Mask:
    """Return the h rows of least distance, and those that tie with the last of them.

    Equal but for rounding: rows of few values, such as booleans, have few distances.
    """
    last = float(np.partition(distance, h - 1)[h - 1])
    return np.asarray(distance <= last + ROUNDING * abs(last))


def believable_rows(Z: Array, out: Array, m: int) -> Mask:
    """Return the clean subset: rows that are no outliers to their own fit of m dimensions.

    Parameters
    ----------
    Z : array of shape (n, r)
        The rows.
    out : array of shape (n,)
        Their outlyingness.
    m : int
        The dimension of the subspace.
    """
    h = n_trimmed(len(Z), m)
    inside = concentrate(Z, nearest(out, h), m, h)

    def judge(inside: Mask, first: bool) -> Mask:
        mean, W, _, _ = _fit(Z[inside], m)
        both = Both(mean, W).of(Z)
        return within_limits(both[:, :-1], np.sqrt(both[:, -1]), inside, first=first)

    return until_it_stands(judge, inside)


def until_it_stands(
    judge: Callable[[Mask, bool], Mask], inside: Mask, most_steps: int = 50
) -> Mask:
    """Return the fixed point of rows that are no outliers to a fit to themselves.

    ``judge`` maps given rows to those that are no outliers to a fit to them; its second argument is
    whether this is the first fit, to the trimmed rows. If the iteration cycles, the last set is
    returned.
    """
    before: set[bytes] = set()
    for step in range(most_steps):
        passed = judge(inside, step == 0)
        # A fit to which half of the rows are outliers is rejected.
        if 2 * np.count_nonzero(passed) < len(passed) or np.array_equal(passed, inside):
            break
        inside = passed
        if inside.tobytes() in before:
            break
        before.add(inside.tobytes())
    return inside


def concentrate(Z: Array, start: Mask, m: int, h: int, most_steps: int = 50) -> Mask:
    """Return the h rows at which concentration steps from the rows ``start`` converge."""
    keep = start
    for _ in range(most_steps):
        mean, W, variances, noise = _fit(Z[keep], m)
        both = Both(mean, W).of(Z)
        before = keep
        keep = nearest(both[:, :-1] ** 2 @ (1 / variances) + both[:, -1] / noise, h)
        if np.array_equal(keep, before):
            break
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
    # If the rows of the fit coincide, the others are ranked by their distance.
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
