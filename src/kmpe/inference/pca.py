"""What a PCA says of its rows: two distances, outliers, and mean and variances without them.

The loss knows rows by their orthogonal distance alone, and so gives a subspace. Here the rows far
out inside it are found, by the rows of the start's trimmed likelihood (in place of an MCD of the
scores), and the others give the centre in the subspace, the directions of the components in it and
the variances along them (Hubert, Rousseeuw and Vanden Branden 2005).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kmpe.arrays import SINGULAR, Array, Mask
from kmpe.losses.scale import cutoff
from kmpe.problems.pca import Subspace, WeightedPCA
from kmpe.problems.pca.distances import (
    WIDE,
    Limits,
    RowDistances,
    score_distances,
    score_limit,
    spread,
    standardised,
    variance_factor,
    within_limits,
)
from kmpe.problems.pca.subspace import ScoreMoments
from kmpe.problems.pca.sums import Both
from kmpe.rows.source import Rows
from kmpe.solvers.record import Fit
from kmpe.starts.pca import Believed
from kmpe.starts.trimmed_likelihood import until_it_stands

__all__ = ["Inferred", "OutlierMap", "infer"]


@dataclass(frozen=True)
class OutlierMap:
    """A subspace with the variances inside it, from which rows are measured.

    Parameters
    ----------
    mean, W, variances : array
        Centre, directions, and variances of the scores.
    noise : float
        The mean variance in the directions outside it.
    limits : Limits
        The largest distances of rows that are no outliers.
    """

    mean: Array
    W: Array
    variances: Array
    noise: float
    limits: Limits

    def distances(self, X: Any, stretch: Array | float = 1.0) -> RowDistances:
        """Return the distances of rows in memory or read by block.

        Orthogonal ones are multiplied by ``stretch``.
        """
        both = Both(self.mean, self.W)
        values = Rows.inputs(X).column(both, self.W.shape[1] + 1)
        return self.judged(values[:, :-1], stretch * np.sqrt(values[:, -1]))

    def judged(self, T: Array, orthogonal: Array) -> RowDistances:
        """Return the distances of rows with scores T."""
        rounding = SINGULAR * float(np.linalg.norm(self.mean))
        score = standardised(T, self.variances, rounding)
        beyond = (orthogonal > self.limits.orthogonal) | (score > self.limits.score)
        return RowDistances(orthogonal, score, beyond)


@dataclass(frozen=True)
class Inferred:
    """A PCA in the coordinates of the data, and what it says of the rows.

    Parameters
    ----------
    theta : Subspace
        Mean and components, with variances for one degree of freedom.
    weights : array of shape (n,)
        What each row counted.
    rows : RowDistances
        The distances of the rows.
    map : OutlierMap
        What new rows are measured by.
    """

    theta: Subspace
    weights: Array
    rows: RowDistances
    map: OutlierMap


def infer(
    problem: WeightedPCA,
    fit: Fit[Subspace],
    believed: Believed | None,
    n_components: int,
    stretch: Array | None = None,
) -> Inferred:
    """Return at least ``n_components`` components, and what they say of the rows.

    A start that is not robust has no believed rows: all rows then count as the loss has them.
    Orthogonal distances of rows with holes are multiplied by ``stretch``.
    """
    points, m = problem.points, problem.m
    final = problem.final(max(n_components, m))
    at = fit.at if final.m == m else None
    theta = final.solve(at or final.weighted(fit.theta, fit.criterion))
    inner = theta.leading(m)
    T, s, fitted = final.measured(inner, fit.theta)
    weights = fit.criterion.weight(fitted)
    if stretch is not None:
        s = stretch**2 * s
    orthogonal = np.sqrt(s)
    a = points.a * (points.n_whole / points.n)
    counted = points.a > 0
    if believed is None:
        inside = counted & (s <= cutoff(s, points.a, problem.dim) ** 2)
        around = spread(orthogonal, inside, m, a)
        theta = _per_degree_of_freedom(theta, points.n)
        inner = theta.leading(m)
    else:
        near, within = _within(T, orthogonal, believed)
        inside = counted & near & within
        around = spread(orthogonal, inside, m, a)
        counts = a * within
        if len(theta.variances) == m and (counts @ weights) > 0:
            moments = ScoreMoments.of(T, s, counts * weights)
        else:
            moments = final.of_rows(counts).moments(theta, fit.theta, fit.criterion)
        n = float(a @ within)
        factors = variance_factor(m, WIDE), variance_factor(around.dimensions)
        theta = _consistent(_per_degree_of_freedom(moments.solve(theta), n), m, *factors)
        moved = moments.leading(m).solve(inner)
        T = (T - (moved.mean - inner.mean) @ inner.W) @ (inner.W.T @ moved.W)
        inner = _consistent(_per_degree_of_freedom(moved, n), m, *factors)
    limits = Limits(around.limit, score_limit(float(a @ inside), m))
    inner = final.lift(inner)
    rest = max(inner.total - float(inner.variances.sum()), 0.0)
    noise = rest / max(1, min(points.n_whole - 1, problem.n_directions) - m)
    measured = OutlierMap(inner.mean, inner.W, inner.variances, noise, limits)
    return Inferred(final.lift(theta), weights, measured.judged(T, orthogonal), measured)


def _within(T: Array, orthogonal: Array, believed: Believed) -> tuple[Mask, Mask]:
    """Return which rows are within either limit, by those of the start that are within both.

    That of score distances is the wide one.
    """
    some, m = believed.index, T.shape[1]
    inside = until_it_stands(
        lambda inside, _: within_limits(T[some], orthogonal[some], inside, first=False),
        believed.inside,
    )
    near = orthogonal <= spread(orthogonal[some], inside, m).limit
    score = score_distances(T, T[some][inside]) / math.sqrt(variance_factor(m))
    return near, score <= score_limit(float(np.count_nonzero(inside)), m, WIDE)


def _per_degree_of_freedom(theta: Subspace, n: float) -> Subspace:
    per_row = n / (n - 1) if n > 1 else 1.0
    return replace(theta, variances=theta.variances * per_row, total=theta.total * per_row)


def _consistent(theta: Subspace, m: int, of_scores: float, of_others: float) -> Subspace:
    """Return a subspace with the variances that Gaussian rows have without trimming.

    Scores of m dimensions are cut off by the score distance, the others by the orthogonal one.
    """
    factors = np.where(np.arange(len(theta.variances)) < m, of_scores, of_others)
    inside = float(theta.variances[:m].sum())
    total = of_scores * inside + of_others * max(theta.total - inside, 0.0)
    return replace(theta, variances=theta.variances * factors, total=total)
