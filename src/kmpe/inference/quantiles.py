"""Quantiles and medians of a value of all rows, in memory or distributed."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from kmpe.arrays import Array
from kmpe.foreign import asarray
from kmpe.losses.scale import middle, quantile, tied_cutoff
from kmpe.rows.elsewhere import RowsElsewhere
from kmpe.rows.source import Block, Rows

__all__ = ["Target", "cutoff_of", "mad_of", "middle_of", "quantile_of"]

Value = Callable[[Block], Array]


@dataclass(frozen=True)
class Target:
    """One target of each row."""

    j: int

    def __call__(self, block: Block) -> Array:
        """Return one number for each row of a block."""
        return asarray(block.T[:, self.j])


def middle_of(rows: Rows) -> Array:
    """Return the median of each target, as `kmpe.losses.scale.middle` does."""
    if isinstance(rows, RowsElsewhere):
        return np.array([rows.middle(Target(j)) for j in range(rows.n_targets)])
    return np.array([middle(rows.T[:, j], rows.a) for j in range(rows.n_targets)])


def quantile_of(rows: Rows, value: Value, q: float) -> float:
    """Return the weighted q-quantile of a value of the rows."""
    if isinstance(rows, RowsElsewhere):
        return rows.quantile(value, q)
    return quantile(rows.column(value), q, rows.a)


def mad_of(rows: Rows, squared: Value, dim: int) -> float:
    """Return the median residual norm as `kmpe.losses.scale.mad` does, from squared norms."""
    median = quantile_of(rows, squared, 0.5) / float(chdtri(dim, 0.5))
    if median > 0:
        return math.sqrt(median)
    mean = float(rows.total(_Sum(squared))[0]) / rows.n / dim
    return math.sqrt(mean) if mean > 0 else 1.0


def cutoff_of(rows: Rows, squared: Value, dim: int, z: float = 3.0) -> float:
    """Return the cut-off of residual norms, as `kmpe.losses.scale.cutoff` does.

    Quantiles of cube roots are cube roots of quantiles.
    """
    low, middle = (math.cbrt(quantile_of(rows, squared, q)) for q in (0.25, 0.5))
    width = (middle - low) / 0.6745
    if width > 0:
        return float((middle + z * width) ** 1.5)
    return tied_cutoff(mad_of(rows, squared, dim), dim, z)


@dataclass(frozen=True)
class _Sum:
    """The weighted sum of a value."""

    value: Value

    def __call__(self, block: Block) -> tuple[Array]:
        return (asarray(block.a @ self.value(block)),)
