"""Distances and outliers of a PCA, and mean, components and variances of the regular rows.

The loss depends on orthogonal distances only and determines the subspace. Rows that are outlying
within it are found here, from the clean subset of the start (maximum trimmed likelihood, in place
of an MCD of the scores). The regular rows then determine the centre, the components and the
variances within the subspace (Hubert, Rousseeuw and Vanden Branden 2005).
"""

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kmpe.arrays import SINGULAR, Array
from kmpe.foreign import asarray
from kmpe.inference.quantiles import cutoff_of
from kmpe.problems.base import Criterion
from kmpe.problems.pca import Subspace, WeightedPCA
from kmpe.problems.pca.distances import (
    WIDE,
    Limits,
    RowDistances,
    ScoreDistance,
    Spread,
    score_limit,
    spread,
    spread_of,
    standardised,
    variance_factor,
    within_limits,
)
from kmpe.problems.pca.subspace import ScoreMoments
from kmpe.problems.pca.sums import Both, Measured
from kmpe.rows.device import of_inputs
from kmpe.rows.source import Block, Rows
from kmpe.solvers.record import Fit
from kmpe.starts.pca import Believed
from kmpe.starts.trimmed_likelihood import until_it_stands

__all__ = ["Inferred", "OutlierMap", "infer"]


@dataclass(frozen=True)
class OutlierMap:
    """A subspace with variances, and the distances of rows from it.

    Parameters
    ----------
    mean, W, variances : array
        Centre, directions, and variances of the scores.
    noise : float
        The mean variance in the directions orthogonal to it.
    limits : Limits
        The cut-off values of the distances.
    """

    mean: Array
    W: Array
    variances: Array
    noise: float
    limits: Limits

    def distances(self, X: Any, stretch: Array | float = 1.0) -> RowDistances:
        """Return the distances of rows, in memory or read by blocks.

        Orthogonal distances are multiplied by ``stretch``.
        """
        both = Both(self.mean, self.W)
        values = of_inputs(X, None, both, self.W.shape[1] + 1)
        return self.judged(values[:, :-1], stretch * np.sqrt(values[:, -1]))

    def judged(self, T: Array, orthogonal: Array) -> RowDistances:
        """Return the distances of rows, given scores T and orthogonal distances."""
        rounding = SINGULAR * float(np.linalg.norm(self.mean))
        score = standardised(T, self.variances, rounding)
        beyond = (orthogonal > self.limits.orthogonal) | (score > self.limits.score)
        return RowDistances(orthogonal, score, beyond)


@dataclass(frozen=True)
class Inferred:
    """A PCA in the coordinates of the data, and the functions for the distances of rows.

    Parameters
    ----------
    theta : Subspace
        Mean and components, with variances per degree of freedom.
    map : OutlierMap
        The distances of new rows.
    measure : Measured
        Scores, and squared distances from two subspaces: that of the map and that of the fit.
    criterion : Criterion
        The loss, whose weights depend on the second of these distances.
    shift, turn : array of shape (m,) and (m, m)
        The map from these scores T to those of ``map``: (T - shift) turn.
    """

    theta: Subspace
    map: OutlierMap
    measure: Measured
    criterion: Criterion
    shift: Array
    turn: Array

    def rows(self, values: Array) -> tuple[Array, RowDistances]:
        """Return weights and distances of rows, given the values of ``measure``."""
        T = (values[:, :-2] - self.shift) @ self.turn
        return self.criterion.weight(values[:, -1]), self.map.judged(T, np.sqrt(values[:, -2]))


def infer(
    problem: WeightedPCA,
    fit: Fit[Subspace],
    believed: Believed | None,
    n_components: int,
    stretch: Array | None = None,
) -> tuple[Inferred, Rows]:
    """Return at least ``n_components`` components, and the rows mapped by `Inferred.measure`.

    ``believed`` is the clean subset of the start. A start that is not robust has none, and then all
    rows count with the weights of the loss. Orthogonal distances of rows with missing values are
    multiplied by ``stretch``.
    """
    points, m = problem.points, problem.m
    final = problem.final(max(n_components, m))
    at = fit.at if final.m == m else None
    theta = final.solve(at or final.weighted(fit.theta, fit.criterion))
    inner = theta.leading(m)
    measure = final.measured(inner, fit.theta)
    seen = points.rows.mapped(measure)
    if stretch is not None:
        seen.X[:, -2] *= stretch**2
    counted = seen.per(points.n / points.n_whole)
    shift, turn = np.zeros(m), np.eye(m)
    if believed is None:
        within = Within(cutoff_of(seen, _squared, problem.dim))
        k, around = _spread(counted, within, m)
        theta = _per_degree_of_freedom(theta, points.n)
        inner = theta.leading(m)
    else:
        within = _within(seen.block(believed.index).H, believed)
        k, around = _spread(counted, within, m)
        counts = counted.reweighed(within)
        moments = None
        if len(theta.variances) == m:
            mass, *sums = counts.total(_WeightedMoments(fit.criterion))
            moments = ScoreMoments(*(value / mass for value in sums)) if mass > 0 else None
        if moments is None:
            moments = final.of_rows(counts.a).moments(theta, fit.theta, fit.criterion)
        factors = variance_factor(m, WIDE), variance_factor(around.dimensions)
        theta = _consistent(_per_degree_of_freedom(moments.solve(theta), counts.n), m, *factors)
        moved = moments.leading(m).solve(inner)
        shift, turn = (moved.mean - inner.mean) @ inner.W, inner.W.T @ moved.W
        inner = _consistent(_per_degree_of_freedom(moved, counts.n), m, *factors)
    limits = Limits(around.limit, score_limit(k, m))
    inner = final.lift(inner)
    rest = max(inner.total - float(inner.variances.sum()), 0.0)
    noise = rest / max(1, min(points.n_whole - 1, problem.n_directions) - m)
    measured = OutlierMap(inner.mean, inner.W, inner.variances, noise, limits)
    return Inferred(final.lift(theta), measured, measure, fit.criterion, shift, turn), seen


@dataclass(frozen=True)
class Within:
    """The condition that a row is within the limits of orthogonal and score distances.

    Parameters
    ----------
    near : float
        The largest orthogonal distance.
    score : ScoreDistance, optional
        The score distance; None for no limit.
    far : float
        The largest score distance.
    """

    near: float
    score: ScoreDistance | None = None
    far: float = math.inf

    def __call__(self, seen: Block) -> Array:
        """Return 1 for rows within the limit of score distances, and 0 for others."""
        if self.score is None:
            return np.ones_like(seen.a)
        return asarray(self.score(seen.H[:, :-2]) <= self.far, dtype=np.float64)

    def weights(self, seen: Block) -> Array:
        """Return the weights of rows within both limits, and 0 for others."""
        return asarray(seen.a * self(seen) * (np.sqrt(seen.H[:, -2]) <= self.near))


@dataclass(frozen=True)
class _Sums:
    """The number of rows within both limits, and their Σ x, x = d^(2/3)."""

    within: Within

    def __call__(self, seen: Block) -> tuple[Array, Array]:
        a = self.within.weights(seen)
        return a.sum(), a @ np.cbrt(seen.H[:, -2])


@dataclass(frozen=True)
class _Squares:
    """Σ (x - mean)² of the rows within both limits."""

    within: Within
    mean: float

    def __call__(self, seen: Block) -> tuple[Array]:
        return (self.within.weights(seen) @ (np.cbrt(seen.H[:, -2]) - self.mean) ** 2,)


@dataclass(frozen=True)
class _WeightedMoments:
    """Σ aw, and Σ aw (t, ttᵀ, ‖e‖²) with scores t and orthogonal distance e of each row."""

    criterion: Criterion

    def __call__(self, seen: Block) -> tuple[Array, Array, Array, Array]:
        T, s = seen.H[:, :-2], seen.H[:, -2]
        aw = seen.a * self.criterion.weight(seen.H[:, -1])
        return aw.sum(), aw @ T, (aw[:, None] * T).T @ T, aw @ s


def _squared(seen: Block) -> Array:
    """Return the squared orthogonal distances of measured rows."""
    return asarray(seen.H[:, -2])


def _spread(seen: Rows, within: Within, m: int) -> tuple[float, Spread]:
    """Return the number of rows within both limits, and the spread of their distances."""
    k, total = (float(value) for value in seen.total(_Sums(within)))
    mean = total / k if k > 0 else 0.0
    return k, spread_of(k, mean, float(seen.total(_Squares(within, mean))[0]), m)


def _within(some: Array, believed: Believed) -> Within:
    """Return the limits, from the rows of the clean subset that are within both.

    That of score distances has the level ``WIDE``.
    """
    T, orthogonal = some[:, :-2], np.sqrt(some[:, -2])
    m = T.shape[1]
    inside = until_it_stands(
        lambda inside, _: within_limits(T, orthogonal, inside, first=False),
        believed.inside,
    )
    k = float(np.count_nonzero(inside))
    far = score_limit(k, m, WIDE) * math.sqrt(variance_factor(m))
    return Within(spread(orthogonal, inside, m).limit, ScoreDistance.of(T[inside]), far)


def _per_degree_of_freedom(theta: Subspace, n: float) -> Subspace:
    per_row = n / (n - 1) if n > 1 else 1.0
    return replace(theta, variances=theta.variances * per_row, total=theta.total * per_row)


def _consistent(theta: Subspace, m: int, of_scores: float, of_others: float) -> Subspace:
    """Return a subspace with variances that are consistent for Gaussian rows.

    The m scores are truncated by the score distance, the others by the orthogonal distance.
    """
    factors = np.where(np.arange(len(theta.variances)) < m, of_scores, of_others)
    inside = float(theta.variances[:m].sum())
    total = of_scores * inside + of_others * max(theta.total - inside, 0.0)
    return replace(theta, variances=theta.variances * factors, total=total)
