"""What a regression says of rows that are elsewhere: sums over them, and a rule for each block.

Coefficients and their covariance come from the sample, as they do for many rows in memory. Scale
and R² are those of all rows, by sums where the rows are, and what is said of single rows is a
function of their block.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kmpe.arrays import ROUNDING, Array
from kmpe.inference.outliers import inlier_sums, outlier_limit, row_scores, scale_of_inliers
from kmpe.inference.regression import Report
from kmpe.problems.base import Criterion
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import Residuals, squared_norms
from kmpe.rows.dask import DaskRows
from kmpe.rows.source import Block

__all__ = ["RegressionRows", "of_all_rows"]


@dataclass(frozen=True)
class RegressionRows:
    """Weights and outlier scores of the rows of a block, shape (n, 2).

    Parameters
    ----------
    theta, criterion
        The solution, and the loss that it is of.
    dropped : tuple of callable
        The rules by which rows have lost their weight.
    scale, rounding : float
        The scale of the residuals, and how large they are by rounding alone.
    """

    theta: Array
    criterion: Criterion
    dropped: tuple[Any, ...]
    scale: float
    rounding: float

    def __call__(self, block: Block) -> Array:
        """Return one row for each."""
        s = squared_norms(block.T - block.H @ self.theta)
        w = self.criterion.weight(s) * (block.a > 0)
        for rule in self.dropped:
            w = w * (1 - rule(block))
        return np.column_stack([w, row_scores(s, self.scale, self.rounding)])


def of_all_rows(found: Report, problem: Ridge, theta: Array, scale: float) -> Report:
    """Return the report of a sample with scale and R² of all rows.

    ``scale`` is that of the start.
    """
    rows, dim = problem.rows, problem.dim
    assert isinstance(rows, DaskRows)
    seen = rows.mapped(Residuals(theta))
    count, squares = seen.total(_Inliers(scale, dim))
    scale = scale_of_inliers(count, squares, scale, rows.n_features, dim)
    largest = max(summary.largest for summary in rows.X.summaries)
    scale = scale if scale > ROUNDING * largest else 0.0
    limit2 = (outlier_limit(dim) * scale) ** 2
    kept, sums = seen.total(_Targets(limit2))
    mean = sums / kept if kept > 0 else np.zeros(dim)
    total, left = (float(value) for value in seen.total(_Squares(limit2, mean)))
    r2 = 1 - left / total if total > 0 else 0.0
    return replace(found, scale=scale, r2=r2 if kept > 0 else float("nan"))


@dataclass(frozen=True)
class _Inliers:
    """How many rows a scale does not call outliers, and the sum of their squares."""

    scale: float
    dim: int

    def __call__(self, seen: Block) -> tuple[Array, Array]:
        return inlier_sums(squared_norms(seen.H), seen.a, self.scale, self.dim)


@dataclass(frozen=True)
class _Targets:
    """How many rows are no outliers, and the sums of their targets."""

    limit2: float

    def __call__(self, seen: Block) -> tuple[Array, Array]:
        a = seen.a * (squared_norms(seen.H) <= self.limit2)
        return a.sum(), a @ seen.T


@dataclass(frozen=True)
class _Squares:
    """Sums of squares of targets about their mean, and of residuals, over rows no outliers."""

    limit2: float
    mean: Array

    def __call__(self, seen: Block) -> tuple[Array, Array]:
        a = seen.a * (squared_norms(seen.H) <= self.limit2)
        total, left = (a @ (seen.T - self.mean) ** 2).sum(), (a @ seen.H**2).sum()
        return np.asarray(total), np.asarray(left)
