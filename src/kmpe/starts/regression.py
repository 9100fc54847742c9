"""A start for linear regression that bad leverage points do not hold.

Reweighting by residuals alone cannot see rows that pull the fit towards themselves. So the start
comes from many fits to as few rows as determine one, each concentrated on the three fifths of
the rows that it fits best (least trimmed squares); the best few are carried on, and the best of
them is kept. Far out rows that agree among themselves can still outdo the truth: where there are
such rows, the inner ones judge.

Such a start may know little of the rows far out, which are not bad for being far out. From inside
out it takes in those that lie as near to it as it can tell.

Rows are drawn from their sorted order by cumulative weight: permuting the rows changes nothing,
and a row of weight 2 is two equal rows.
"""

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from kmpe.arrays import Array
from kmpe.losses import Correntropy
from kmpe.losses.scale import mad, quantile
from kmpe.problems.linear import Linear, dense
from kmpe.solvers.reweighted import anneal, reweight

Mask = npt.NDArray[np.bool_]

__all__ = ["bad_leverage", "pilot", "refit", "sample_rows", "trimmed_start"]

_SEED = 20160924
# With 30% of bad rows one subset in 9 is clean for 6 coefficients, and concentration forgives
# a bad row or two: 500 subsets leave a wide margin there, and at 10% for 40 coefficients.
_SUBSETS = 500
_SUBSET_ROWS = 600
# Half of the rows is the most robust choice, and the most easily deceived by a tight cluster,
# which fills most of that half. Three fifths withstand 40% of bad rows.
_KEPT = 0.6
_FIRST_STEPS = 2
_CARRIED_ON = 8
_MAX_STEPS = 30
# Below so many rows per coefficient half of the rows can be fitted whatever the truth is, and
# above so many coefficients no subset of rows is clean.
_LEAST_ROWS_PER_COEFFICIENT = 5
_MOST_COEFFICIENTS = 150
# From this share of far out rows on, and up to half, inner rows judge the start; a start that is
# theirs alone must have this share of the other's trimmed squares, since it knows less.
_NOTICED = 0.01
_HALF = 0.5
_CLEARLY = 0.5
# What makes a bad leverage point: residuals over their scale, and how rare its inputs are. At 2
# scales clean rows with heavy-tailed inputs lose a tenth of their efficiency.
_FAR = 2.5
_RARE = 1e-3
_MOST = 0.5
# Narrower than is efficient: at 2.11 a tenth of the hard cases drift off to the bad rows.
_PILOT_SIGMA = 1.5
_REACHES = 10
_PILOT_STEPS = 50
_PILOT_TOL = 1e-5


def sample_rows(problem: Linear, size: int) -> Linear:
    """Return the problem on ``size`` drawn rows, or on all rows when it has no more.

    Rows without weight are left out.
    """
    counted = np.flatnonzero(problem.a)
    if len(counted) <= size:
        return problem if len(counted) == len(problem) else problem.take(counted)
    rng = np.random.default_rng(_SEED)
    return problem.take(_draw(problem, rng.uniform(size=size)), np.ones(size))


def pilot(problem: Linear, *, trimmed: bool = True) -> Array:
    """Return a robust first fit of a problem of moderate size.

    The correntropic loss from the trimmed start, σ fixed at 1.5 times the scale of its
    residuals: a σ that follows the fit lets outliers back in one after the other. Where there
    is no such start, or ``trimmed`` is False, σ comes down over a fit from least squares.
    """
    theta = trimmed_start(problem) if trimmed else None
    if theta is None:
        theta = problem.solve(np.ones(len(problem)), problem.zero)
        return anneal(problem, Correntropy("mad"), theta)[1]
    return refit(problem, _reach_out(problem, theta), _PILOT_SIGMA)


def _reach_out(problem: Linear, theta: Array) -> Array:
    """Return the fit to all rows that belong to a start, found step by step from inside out."""
    s, near = problem.squared_residuals(theta), None
    for _ in range(_REACHES):
        around = _Around(problem, s, near)
        belongs = s <= around.limits(around.leverages)
        if near is not None and np.array_equal(near, belongs):
            break
        near, inner = belongs, problem.take(belongs)
        theta = inner.solve(np.ones(len(inner)), theta)
        s = problem.squared_residuals(theta)
    return theta


class _Around:
    """How far from a fit the rows around it may lie, judged from the rows near it.

    Of a row far out these know little: its squared residual may be 1 + h times their own limit,
    h its leverage among them. Unless most of the rows with rare inputs lie further: then those
    that do not are near by chance.

    Parameters
    ----------
    problem : Linear
        The rows.
    s : array of shape (n,)
        Their squared residuals.
    near : array of bool of shape (n,), optional
        The rows near the fit; without it, those within the limit.
    """

    def __init__(self, problem: Linear, s: Array, near: Mask | None = None) -> None:
        self.limit = _FAR**2 * problem.dim * mad(s, problem.a, problem.dim) ** 2
        self.near = problem.take(s <= self.limit if near is None else near).without_penalty()
        self.leverages = self.near.leverages_of(problem.H)
        rare = self.is_rare(self.leverages)
        self.tolerant = True
        if rare.any():
            within = s[rare] <= self.limits(self.leverages[rare])
            self.tolerant = bool(np.average(within, weights=problem.a[rare]) >= _MOST)

    def limits(self, leverages: Array) -> Array:
        """Return the largest squared residuals of rows that belong to the fit."""
        return self.limit * (1 + leverages * self.tolerant)

    def is_rare(self, leverages: Array) -> Mask:
        """Return which rows have inputs further out than one Gaussian row in a thousand has."""
        k, n = self.near.H.shape[1], float(self.near.a.sum())
        return np.asarray(leverages * n > chdtri(k, _RARE))


def refit(problem: Linear, theta: Array, factor: float = Correntropy.efficient) -> Array:
    """Return the fit with the correntropic loss, σ at ``factor`` times the scale of a start."""
    s = problem.squared_residuals(theta)
    if not s.any():
        return theta
    n, k = float(problem.a.sum()), problem.H.shape[1]
    scale = mad(s, problem.a, problem.dim) * math.sqrt(n / max(n - k, 1.0))
    loss = Correntropy(factor * scale)
    return reweight(problem, loss, theta, max_iter=_PILOT_STEPS, tol=_PILOT_TOL).theta


def bad_leverage(problem: Linear, sample: Linear, theta: Array) -> Mask:
    """Return which rows are bad leverage points of a pilot fit to a sample of them.

    They lie further from the fit than rows that belong to it, and have rare inputs. A loss that
    never quite lets go, as those that suit heavy tails, would follow them.
    """
    around = _Around(sample, sample.squared_residuals(theta))
    s = problem.squared_residuals(theta)
    far = s > around.limit
    if far.any():
        leverages = around.near.leverages_of(problem.H[far])
        far[far] = (s[far] > around.limits(leverages)) & around.is_rare(leverages)
    return far


def trimmed_start(problem: Linear) -> Array | None:
    """Return the best fit by concentration on most of the rows, None where it cannot be had."""
    k = problem.H.shape[1]
    n = float(problem.a.sum())
    if k > _MOST_COEFFICIENTS or n < _LEAST_ROWS_PER_COEFFICIENT * k:
        return None
    rough = sample_rows(problem, max(_SUBSET_ROWS, 4 * k))
    H, T = dense(rough.H), rough.T
    theta = _best_trimmed(rough, H)
    inner = _inner(H, rough.a)
    share = float(rough.a @ inner / rough.a.sum())
    if not _HALF <= share <= 1 - _NOTICED:
        return theta
    # Far out rows that agree among themselves can outdo the truth. Inner rows are the judges.
    rival = _best_trimmed(rough.take(inner), H[inner])
    both = np.stack([theta, rival])
    _, trimmed = _concentrate(H[inner], T[inner], rough.a[inner], both, 0)
    return rival if trimmed[1] < _CLEARLY * trimmed[0] else theta


def _best_trimmed(problem: Linear, H: Array) -> Array:
    """Return the best of many fits to few rows, each concentrated on most of the rows."""
    rng = np.random.default_rng(_SEED)
    chosen = _draw(problem, rng.uniform(size=(_SUBSETS, H.shape[1])))
    across = H[chosen].transpose(0, 2, 1)
    theta = _solve_all(across @ H[chosen], across @ problem.T[chosen])
    whole = problem.solve(np.ones(len(problem)), problem.zero)
    theta = np.concatenate([theta, whole[None]])
    theta, trimmed = _concentrate(H, problem.T, problem.a, theta, _FIRST_STEPS)
    best = theta[np.argsort(trimmed, kind="stable")[:_CARRIED_ON]]
    best, trimmed = _concentrate(H, problem.T, problem.a, best, _MAX_STEPS)
    return np.asarray(best[np.argmin(trimmed)])


def _inner(H: Array, a: Array) -> npt.NDArray[np.bool_]:
    """Return which rows have no input further out than one Gaussian row in a thousand has."""
    centre = np.array([quantile(column, 0.5, a) for column in H.T])
    distance2 = (H - centre) ** 2
    scale2 = np.array([mad(column, a, 1) ** 2 for column in distance2.T])
    varied = np.flatnonzero(scale2)
    limit = chdtri(1, _RARE / max(len(varied), 1))
    return np.asarray(np.all(distance2[:, varied] <= limit * scale2[varied], axis=1))


def _concentrate(H: Array, T: Array, a: Array, theta: Array, steps: int) -> tuple[Array, Array]:
    """Refit each of many fits to the rows nearest to it, ``steps`` times.

    Returns the fits and the mean squared residual over those rows. All the cross products of
    all fits are one matrix product, of the fits' row weights and the rows' own products.
    """
    n, k = H.shape
    share = min(1.0, _KEPT + (1 - _KEPT) * k / float(a.sum()))
    upper = np.triu_indices(k)
    products = H[:, upper[0]] * H[:, upper[1]]
    targets = (H[:, :, None] * T[:, None, :]).reshape(n, -1)
    for _ in range(steps):
        inside = _nearest(_squared_residuals(H, T, theta), a, share)
        gram = np.empty((len(theta), k, k))
        gram[:, upper[0], upper[1]] = gram[:, upper[1], upper[0]] = inside @ products
        moved = _solve_all(gram, (inside @ targets).reshape(len(theta), k, -1))
        still = np.allclose(moved, theta, rtol=1e-6, atol=0)
        theta = moved
        if still:
            break
    s = _squared_residuals(H, T, theta)
    inside = _nearest(s, a, share)
    return theta, np.einsum("sn,sn->s", inside, s) / inside.sum(axis=1)


def _squared_residuals(H: Array, T: Array, theta: Array) -> Array:
    """Return ‖tᵢ - hᵢβ‖² for every fit (rows of the result) and every row."""
    s = np.zeros((len(theta), len(H)))
    for j in range(T.shape[1]):
        s += (T[:, j] - theta[:, :, j] @ H.T) ** 2
    return s


def _nearest(s: Array, a: Array, share: float) -> Array:
    """Return the weights of the rows nearest to each fit, 0 for the others."""
    if (a == a[0]).all():
        last = min(len(a), math.ceil(share * len(a))) - 1
        limit = np.partition(s, last, axis=1)[:, last]
    else:
        limit = np.array([quantile(row, share, a) for row in s])
    return np.where(s <= limit[:, None], a, 0.0)


def _solve_all(gram: Array, right: Array) -> Array:
    """Return the solutions of many small positive systems, made regular by a little ridge."""
    size = np.sqrt(np.einsum("sjj->sj", gram))
    size[size == 0] = 1.0
    scaled = gram / (size[:, :, None] * size[:, None, :])
    # 1e-10: a subset that holds a row twice is singular, and any finite answer will do for it.
    scaled[:, np.arange(gram.shape[1]), np.arange(gram.shape[1])] += 1e-10
    return np.asarray(np.linalg.solve(scaled, right / size[:, :, None]) / size[:, :, None])


def _draw(problem: Linear, u: Array) -> Any:
    """Return row numbers from numbers u in [0, 1), by cumulative weight in sorted order."""
    counted = np.flatnonzero(problem.a)
    T = problem.T[counted]
    order = np.argsort(T[:, -1], kind="stable")
    if not np.diff(T[order, -1]).all():
        # Equal targets are told apart by a fixed mixture of the inputs.
        mixture = problem.H @ np.sqrt(np.arange(2.0, problem.H.shape[1] + 2.0))
        order = np.lexsort((mixture[counted], *T.T))
    rows = counted[order]
    reach = np.cumsum(problem.a[rows])
    return rows[np.minimum(np.searchsorted(reach, u * reach[-1], side="right"), len(rows) - 1)]
