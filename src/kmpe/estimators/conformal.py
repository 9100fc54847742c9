"""Prediction intervals for any regressor by CV+ (Barber and others 2021)."""

import numbers
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.model_selection import KFold, check_cv
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import (
    _check_sample_weight,
    _num_samples,
    check_array,
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from kmpe.arrays import Array
from kmpe.estimators.inputs import all_or_nothing, is_read_by_block, refuse_elsewhere
from kmpe.inference.intervals import GROSS, check_coverage, cross_validated
from kmpe.inference.outliers import scaled_residuals
from kmpe.rows.files import Reader, Subset

__all__ = ["ConformalRegressor"]


class ConformalRegressor(MetaEstimatorMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Conformal prediction intervals for any regressor, not widened by outliers.

    By CV+ (Barber and others 2021) the regressor is fitted without each fold in turn, and once to
    all rows. Intervals come from the errors of these fits on the rows they were not fitted to. If
    the n rows are exchangeable, intervals of coverage 0.9 cover at least 0.8 - √(2 / n) of new rows
    whatever the regressor and the noise, and typically about 0.9; split conformal intervals cover
    at least 0.9. Gross errors, above 5 times their MAD, are left out. If there are any, intervals
    are for new rows that are not gross outliers either, and the bound does not hold.

    `RobustLinearRegression` and `ELMRegressor` have intervals of their own, which cost no further
    fits but have no guarantee.

    Parameters
    ----------
    estimator : regressor
        Any regressor with scikit-learn's API. It should itself be robust if there may be outliers.
    cv : int or splitter, default=10
        The number of folds, drawn with a fixed seed, or a scikit-learn splitter that tests no row
        twice. A single split, ``ShuffleSplit(n_splits=1, test_size=0.5)``, gives split conformal
        intervals: half of the rows are for fitting, the others for the errors.
    n_jobs : int, optional
        Number of parallel jobs, as in scikit-learn.

    Attributes
    ----------
    estimator_ : regressor
        The fit to all rows, which predicts.
    estimators_ : list of regressors
        The fits without each fold.
    residuals_ : array of shape (n,) or (n, q)
        Residual of each row from the fit without its fold; NaN for a row in no fold.
    folds_ : array of int of shape (n,)
        The fold of each row, -1 for none.
    gross_ : array of bool of shape (n,)
        Rows with gross errors, which are left out.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RobustLinearRegression, ELMRegressor : Have intervals of their own, without a guarantee.

    Examples
    --------
    >>> from kmpe import ConformalRegressor, RobustLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = X @ [1.0, 2.0] + rng.uniform(-1, 1, 300)
    >>> y[:30] += 50
    >>> model = ConformalRegressor(RobustLinearRegression()).fit(X, y)
    >>> _, low, high = model.predict(X[:1], return_interval=0.9)
    >>> (high - low).round(1)
    array([1.8])
    """

    def __init__(self, estimator: Any, *, cv: Any = 10, n_jobs: int | None = None) -> None:
        self.estimator = estimator
        self.cv = cv
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the regressor to all rows, and without each fold.

        Parameters
        ----------
        X : array, data frame, sparse matrix or memory map of shape (n, d)
            Inputs, in a form that the regressor accepts. HDF5 and zarr arrays are passed on as they
            are; regressors of this package read them block by block.
        y : array of shape (n,) or (n, q)
            Targets.
        sample_weight : array of shape (n,), optional
            Sample weights, as numbers of repeats; they are passed on to the regressor.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> None:
        refuse_elsewhere(self, X, y)
        if is_read_by_block(X):
            check_consistent_length(X, y)
        else:
            X, y = indexable(X, y)
        validate_data(self, X, y, skip_check_array=True)
        T = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        a = _check_sample_weight(sample_weight, T, dtype=np.float64, ensure_non_negative=True)
        given = None if sample_weight is None else a
        splits = list(self._splitter().split(X, y))
        self.folds_ = _folds([test for _, test in splits], len(T))
        rows = [None, *(train for train, _ in splits)]
        self.estimator_, *self.estimators_ = Parallel(n_jobs=self.n_jobs)(
            delayed(_fitted)(self.estimator, X, y, given, where) for where in rows
        )
        self.residuals_ = np.full(T.shape, np.nan)
        for model, (_, test) in zip(self.estimators_, splits, strict=True):
            predicted = np.asarray(model.predict(_some(X, test)))
            self.residuals_[test] = T[test] - predicted.reshape(T[test].shape)
        self._sample_weight = np.where(self.folds_ >= 0, a, 0.0)
        R = np.where(self.folds_[:, None] >= 0, self.residuals_.reshape(len(T), -1), 0.0)
        scores, _ = scaled_residuals(R, self._sample_weight, 0)
        self.gross_ = scores > GROSS

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Return the predicted targets.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        return_interval : float, optional
            Coverage, such as 0.9, of prediction intervals to return as well. They are infinite if
            there are too few rows: 0.9 needs at least 9.

        Returns
        -------
        array of shape (n,) or (n, q)
            Predictions; with ``return_interval`` a tuple of predictions, lower and upper ends.
        """
        check_is_fitted(self)
        predicted = np.asarray(self.estimator_.predict(X))
        if return_interval is None:
            return predicted
        check_coverage(return_interval)
        shape = (_num_samples(X), self.residuals_.reshape(len(self.residuals_), -1).shape[1])
        P = np.stack([np.reshape(model.predict(X), shape) for model in self.estimators_], axis=-1)
        kept = (self._sample_weight > 0) & ~self.gross_
        R = self.residuals_.reshape(len(kept), -1)[kept]
        folds, a = self.folds_[kept], self._sample_weight[kept]
        ends = [
            cross_validated(P[:, j], R[:, j], folds, a, return_interval) for j in range(shape[1])
        ]
        low, high = (
            np.stack(end, axis=-1).reshape(predicted.shape) for end in zip(*ends, strict=True)
        )
        return predicted, low, high

    def _splitter(self) -> Any:
        if isinstance(self.cv, numbers.Integral):
            return KFold(int(self.cv), shuffle=True, random_state=0)
        return check_cv(self.cv)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.target_tags.multi_output = inner.target_tags.multi_output
        return tags


def _fitted(estimator: Any, X: Any, y: Any, a: Array | None, where: Any) -> Any:
    """Return a copy of the regressor, fitted to some rows, or to all if ``where`` is None."""
    if where is not None:
        X, y = _some(X, where), _safe_indexing(y, where)
        a = None if a is None else a[where]
    model = clone(estimator)
    return model.fit(X, y) if a is None else model.fit(X, y, sample_weight=a)


def _some(X: Any, where: Any) -> Any:
    """Return some rows, without reading those that are not in memory."""
    return Subset(Reader(X), where) if is_read_by_block(X) else _safe_indexing(X, where)


def _folds(tests: list[Any], n: int) -> npt.NDArray[np.intp]:
    """Return the fold of each row, -1 for none."""
    folds = np.full(n, -1, dtype=np.intp)
    for k, test in enumerate(tests):
        if np.any(folds[test] >= 0):
            raise ValueError("cv tests some rows twice: give a number of folds, or KFold")
        folds[test] = k
    return folds
