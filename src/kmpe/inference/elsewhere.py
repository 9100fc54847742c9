"""Inference on rows that are distributed: sums over them, and a function for each block.

Coefficients and their covariance come from the sample, as for many rows in memory. Scale and R² are
those of all rows, by sums on the workers, and row attributes are a function of a block.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kmpe.arrays import ROUNDING, Array, squared
from kmpe.foreign import asarray
from kmpe.inference.intervals import cook_by_mean, leave_one_out
from kmpe.inference.outliers import inlier_sums, outlier_limit, row_scores, scale_of_inliers
from kmpe.inference.regression import Report
from kmpe.problems.base import Criterion
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import Residuals, squared_norms
from kmpe.rows.elsewhere import RowsElsewhere
from kmpe.rows.source import Block, scaled_targets

__all__ = ["Freedom", "MachineRows", "RegressionRows", "SquaredResidual", "of_all_rows"]


@dataclass(frozen=True)
class RegressionRows:
    """The row attributes of a regression for a block, shape (n, 4 + q).

    Weights, outlier scores, leverages, Cook's distances and leave-one-out residuals.

    Parameters
    ----------
    theta, criterion
        The solution and its loss.
    dropped : tuple of callable
        The rules that set weights of rows to zero.
    scale, rounding : float
        The scale of the residuals, and the size of their rounding errors.
    root : array
        As in `Report`.
    psi2 : float
        The mean of ψ² over all rows.
    blind : bool
        Whether the noise cannot be estimated.
    """

    theta: Array
    criterion: Criterion
    dropped: tuple[Any, ...]
    scale: float
    rounding: float
    root: Array
    psi2: float
    blind: bool

    def __call__(self, block: Block) -> Array:
        """Return one row for each."""
        R = block.T - block.H @ self.theta
        s, h = squared_norms(R), squared_norms(block.H @ self.root)
        w = self.criterion.weight(s) * (block.a > 0)
        for rule in self.dropped:
            w = w * (1 - rule(block))
        cook = cook_by_mean(w**2 * s, self.psi2, h, len(self.theta))
        loo = np.full_like(R, np.inf) if self.blind else leave_one_out(R, h)
        scores = row_scores(s, self.scale, self.rounding)
        return np.column_stack([w, scores, h, cook, loo])


@dataclass(frozen=True)
class MachineRows:
    """The row attributes of an ELM for a block, shape (n, 1 + q): weights and residuals.

    Residuals are leave-one-out residuals if there is a ``root``.

    Parameters
    ----------
    theta, criterion
        The solution and its loss.
    size : float
        The divisor of the targets.
    root : array, optional
        V, with VVᵀ the inverse of the weighted Gram matrix.
    weigh : callable, optional
        The weights of the rows of a block, if they are not by the loss.
    """

    theta: Array
    criterion: Criterion
    size: float = 1.0
    root: Array | None = None
    weigh: Callable[[Block], Array] | None = None

    def __call__(self, block: Block) -> Array:
        """Return one row for each; targets are centred, in the user's unit."""
        R, h = self._residuals(block)
        w = self.criterion.weight(squared_norms(R)) if self.weigh is None else self.weigh(block)
        return np.column_stack([w, self.size * leave_one_out(R, h)])

    def residuals(self, block: Block) -> Array:
        """Return the residuals alone."""
        return asarray(self.size * leave_one_out(*self._residuals(block)))

    def _residuals(self, block: Block) -> tuple[Array, Array | float]:
        """Return residuals of scaled targets, and leverages."""
        outputs = block.H @ self.theta
        near = scaled_targets(block.T, self.size) - outputs
        return block.T / self.size - outputs, self.leverages(block, near)

    def leverages(self, block: Block, R: Array) -> Array | float:
        """Return the leverage of each row."""
        if self.root is None:
            return 0.0
        w = block.a * self.criterion.weight(squared_norms(R))
        if self.weigh is not None:
            w = w * self.weigh(block)
        return asarray(np.minimum(w * squared_norms(block.H @ self.root), 0.99))


@dataclass(frozen=True)
class SquaredResidual:
    """The squared residual norms of an ELM, for scaled targets."""

    rows: MachineRows

    def __call__(self, block: Block) -> Array:
        """Return one number for each row."""
        return squared_norms(self.rows.residuals(_sized(block, self.rows.size)))


@dataclass(frozen=True)
class Freedom:
    """The sum of the leverages of an ELM, for scaled targets."""

    rows: MachineRows

    def __call__(self, block: Block) -> tuple[Array]:
        R = block.T - block.H @ self.rows.theta
        return (asarray(np.sum(self.rows.leverages(block, R))),)


def _sized(block: Block, size: float) -> Block:
    return block._replace(T=size * block.T)


def of_all_rows(
    found: Report, problem: Ridge, theta: Array, criterion: Criterion, scale: float
) -> tuple[Report, float]:
    """Return the report of a sample with scale and R² of all rows, and their mean of ψ².

    ``scale`` is that of the start.
    """
    rows, dim = problem.rows, problem.dim
    assert isinstance(rows, RowsElsewhere)
    seen = rows.mapped(Residuals(theta))
    count, squares = seen.total(_Inliers(scale, dim))
    scale = scale_of_inliers(count, squares, scale, rows.n_features, dim)
    scale = scale if scale > ROUNDING * rows.largest_target else 0.0
    limit2 = squared(outlier_limit(dim) * scale)
    kept, sums, psi2 = seen.total(_Targets(limit2, criterion))
    mean = sums / kept if kept > 0 else np.zeros(dim)
    total, left = (float(value) for value in seen.total(_Squares(limit2, mean)))
    r2 = 1 - left / total if total > 0 else 0.0
    found = replace(found, scale=scale, r2=r2 if kept > 0 else float("nan"))
    return found, float(psi2) / rows.n


@dataclass(frozen=True)
class _Inliers:
    """The number of rows that are no outliers by a scale, and their sum of squares."""

    scale: float
    dim: int

    def __call__(self, seen: Block) -> tuple[Array, Array]:
        return inlier_sums(squared_norms(seen.H), seen.a, self.scale, self.dim)


@dataclass(frozen=True)
class _Targets:
    """The number of rows that are no outliers, sums of their targets, and Σ a ψ² of all rows."""

    limit2: float
    criterion: Criterion

    def __call__(self, seen: Block) -> tuple[Array, Array, Array]:
        s = squared_norms(seen.H)
        a = seen.a * (s <= self.limit2)
        return a.sum(), a @ seen.T, seen.a @ (self.criterion.weight(s) ** 2 * s)


@dataclass(frozen=True)
class _Squares:
    """Sums of squares of centred targets and of residuals, over rows that are no outliers."""

    limit2: float
    mean: Array

    def __call__(self, seen: Block) -> tuple[Array, Array]:
        a = seen.a * (squared_norms(seen.H) <= self.limit2)
        total, left = (a @ (seen.T - self.mean) ** 2).sum(), (a @ seen.H**2).sum()
        return asarray(total), asarray(left)
