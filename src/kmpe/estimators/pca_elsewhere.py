"""Fits of a PCA where the rows are: on a cluster, or on a device."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kmpe.arrays import Array
from kmpe.estimators.collections import given_rows
from kmpe.estimators.inputs import is_whole
from kmpe.estimators.pca_parameters import check_parameters
from kmpe.inference.pca import Inferred
from kmpe.problems.pca.elsewhere import PointsElsewhere
from kmpe.problems.pca.points import SquaredNorm
from kmpe.rows.device import DeviceRows
from kmpe.rows.source import Block
from kmpe.rows.threads import team

__all__ = ["fit_collections"]


def fit_collections(model: Any, X: Any, sample_weight: Any) -> None:
    """Fit a RobustPCA to a collection or a device array; row attributes stay there."""
    with team(), given_rows(model, X, None, sample_weight) as given:
        wanted = model.n_components if is_whole(model.n_components) else 1
        # With fewer rows the sample of the start would be more than a quarter of them.
        if given.are_few(5 * max(10 * X.shape[1], 20 * wanted)):
            rows, _, weights = given.in_memory()
            model._fit_rows(rows, weights)
            names = "weights_", "orthogonal_distances_", "score_distances_", "outliers_"
            for name in names:
                setattr(model, name, given.lazy(getattr(model, name), X))
            given.finish(model)
            return
        check_parameters(model, given.rows.X.shape)
        if model.scale is not None:
            raise ValueError(
                f'scale="{model.scale}" needs X in memory: divide the columns of X beforehand'
            )
        model.scale_ = None
        points = PointsElsewhere.of(given.rows)
        fitted = model._fit(points)
        facts = _PCARows(fitted.found, points.offset)
        if isinstance(fitted.seen, DeviceRows):  # the fit has measured all of them
            lazy: Any = facts.measured(fitted.seen.X)
        else:
            lazy = given.of_rows(facts, None, X, None, sample_weight)
        model._set(fitted)
        model.weights_, model.orthogonal_distances_ = lazy[:, 0], lazy[:, 1]
        model.score_distances_ = lazy[:, 2]
        beyond = model.orthogonal_distances_ > model.cutoffs_.orthogonal
        model.outliers_ = beyond | (model.score_distances_ > model.cutoffs_.score)
        given.finish(model)


@dataclass(frozen=True)
class _PCARows:
    """Weight, orthogonal and score distance of the rows of a block."""

    found: Inferred
    offset: Array

    def __call__(self, block: Block) -> Array:
        norms = SquaredNorm(self.offset)(block)
        return self.measured(self.found.measure(Block(block.H - self.offset, norms, block.a)))

    def measured(self, values: Array) -> Array:
        """Return the same from the values that a fit has measured."""
        weights, distances = self.found.rows(values)
        return np.column_stack([weights, distances.orthogonal, distances.score])
