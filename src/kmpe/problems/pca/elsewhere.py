"""Rows of a PCA that are parts of a Dask collection, or an array on a device."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from kmpe.arrays import Array, Index
from kmpe.foreign import Foreign
from kmpe.problems.pca.points import Points, Shift, SquaredNorm, middle_and_spread
from kmpe.rows.dask import DaskRows
from kmpe.rows.device import DeviceRows
from kmpe.rows.source import GLANCE

__all__ = ["PointsElsewhere"]


@dataclass(frozen=True)
class PointsElsewhere(Points):
    """Rows of a Dask collection: X are its parts, and a the references to their weights."""

    @classmethod
    def of(cls, rows: DaskRows | DeviceRows) -> "PointsElsewhere":
        """Return the points of rows without targets."""
        return cls(rows.X, rows.a)

    @cached_property
    def _raw(self) -> DaskRows | DeviceRows:
        kind = DeviceRows if isinstance(self.X, Foreign) else DaskRows
        return kind.bare(self.X, self.a)

    @cached_property
    def rows(self) -> DaskRows | DeviceRows:
        shift = Shift(self.offset) if self.offset.any() else None
        return replace(self._raw.beside(SquaredNorm(self.offset), 1), features=shift)

    @cached_property
    def n(self) -> float:
        return self._raw.n

    @cached_property
    def n_whole(self) -> int:
        return max(round(self.n), self._raw.n_counted)

    @cached_property
    def _middle(self) -> tuple[Array, float]:
        some = self.at((np.arange(GLANCE) + 0.5) / GLANCE)
        return middle_and_spread(self._raw.block(some).H)

    def some(self, index: Index) -> Points:
        X = self._raw.block(index).H
        return Points(X, np.full(len(X), self.n / max(1, len(X))))

    def whole(self) -> Array:
        return self._raw.whole()

    def at(self, positions: Array) -> Index:
        return self._raw.at(positions)

    def counted(self, a: Any) -> "PointsElsewhere":
        points = PointsElsewhere(self.X, a)
        # Cached values that do not depend on the weights are kept.
        vars(points).update(_middle=self._middle, rows=replace(self.rows, a=a))
        return points
