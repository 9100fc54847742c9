"""Distances of rows from a fitted PCA, and imputation by it."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.utils.validation import check_is_fitted, validate_data

from kmpe.arrays import Array, Mask
from kmpe.estimators.collections import answer, is_dask, is_elsewhere, lazily
from kmpe.estimators.inputs import read, refuse_elsewhere
from kmpe.estimators.projection import Projection
from kmpe.foreign import Foreign, asarray
from kmpe.inference.missing import filled, inflation
from kmpe.inference.pca import OutlierMap
from kmpe.problems.pca.distances import Limits, RowDistances, kinds
from kmpe.rows.sparse import Dense

__all__ = ["Measuring"]


class Measuring(Projection):
    """A projection with the distances of its training rows, their cut-offs, and column scales."""

    _map: OutlierMap
    scale_: Array | None
    orthogonal_distances_: Array
    score_distances_: Array
    outliers_: Mask
    cutoffs_: Limits

    @property
    def outlier_kinds_(self) -> npt.NDArray[np.str_]:
        """The type of each row, as named by Hubert, Rousseeuw and Vanden Branden (2005)."""
        check_is_fitted(self)
        rows = RowDistances(self.orthogonal_distances_, self.score_distances_, self.outliers_)
        if is_dask(rows.score):
            lazy: npt.NDArray[np.str_] = lazily(kinds, rows, self.cutoffs_)
            return lazy
        return kinds(rows, self.cutoffs_)

    def distances(self, X: Any) -> RowDistances:
        """Return the two distances of rows, and whether they are outliers.

        Parameters
        ----------
        X : array, data frame or memory map of shape (n, d)
            The rows.

        Returns
        -------
        RowDistances
            A named tuple of three arrays of shape (n,): ``orthogonal`` and ``score`` distances, and
            ``outliers``, true where either is above its limit in ``cutoffs_``.
        """
        check_is_fitted(self)
        if is_elsewhere(X, self.distances):
            found: Any = answer(self._distances, X)
            return RowDistances(found[:, 0], found[:, 1], found[:, 2] > 0)
        return self._measured(X)

    def _distances(self, X: Any) -> Array:
        """Return the distances of rows, and 1 for outliers, as columns."""
        return np.column_stack(self._measured(X))

    def _measured(self, X: Any) -> RowDistances:
        X = self._read(X, reset=False)
        if self.scale_ is not None:
            X = X / self.scale_
        holes = np.isnan(X) if isinstance(X, np.ndarray) else None
        if holes is None or not holes.any():
            return self._map.distances(X)
        return self._map.distances(filled(X, self._map), inflation(holes, self._map.W.shape[1]))

    def fill(self, X: Any) -> Array:
        """Return rows with missing values imputed by their conditional means under the model.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows, NaN where a value is missing.

        Returns
        -------
        array of shape (n, d)
        """
        check_is_fitted(self)
        if isinstance(X, Foreign):
            return asarray(X)
        X = self._unfilled(X)
        holes = np.isnan(X)
        if not holes.any():
            return np.asarray(X)
        unit = np.ones(1) if self.scale_ is None else self.scale_
        whole = np.where(holes, filled(X / unit, self._map) * unit, X)
        return np.asarray(whole, dtype=X.dtype)

    def _checked(self, X: Any) -> Any:
        if issparse(X):
            return read(self, X, reset=False, accept_sparse="csr")
        return self.fill(X)

    def _with_holes(self, X: Any) -> Any:
        whole = issparse(X) or isinstance(X, Foreign)
        return self._checked(X) if whole else self._unfilled(X)

    def _unfilled(self, X: Any) -> npt.NDArray[Any]:
        """Return rows in memory, NaN where a value is missing."""
        refuse_elsewhere(self, X)
        return np.asarray(
            validate_data(
                self,
                X,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
                reset=False,
            )
        )

    def _read(self, X: Any, **checks: Any) -> Any:
        """Return rows: an array, which may have missing values, or a reader of blocks."""
        if issparse(X):
            return Dense(read(self, X, accept_sparse="csr", **checks))
        return read(self, X, ensure_all_finite="allow-nan", **checks)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = tags.array_api_support = True
        return tags
