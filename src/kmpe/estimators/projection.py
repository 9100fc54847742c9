"""What every PCA of this package shares once mean and components are known."""

import math
import numbers
import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kmpe.arrays import Array, held
from kmpe.estimators.inputs import RobustnessWarning, check_weights, is_whole
from kmpe.problems.pca import Points
from kmpe.rows.checks import LARGEST, check_range, counted_weights
from kmpe.rows.source import is_sparse

__all__ = [
    "Projection",
    "check_components",
    "check_rows",
    "column_deviations",
    "sum_of_squares",
]


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scores, reconstructions and covariance, as scikit-learn's PCA has them."""

    whiten: bool
    scale_: npt.NDArray[Any] | None = None
    components_: Array
    mean_: Array
    explained_variance_: Array
    noise_variance_: float

    def transform(self, X: Any) -> Array:
        """Return the scores Wᵀ(x - μ) of the rows.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n, n_components_)
        """
        check_is_fitted(self)
        X, mean = self._checked(X), self.mean_
        W = self.components_
        if self.scale_ is not None:
            W = W / self.scale_
        scores = X @ W.T - mean @ W.T
        if self.whiten:
            scores /= self._deviations()
        return np.asarray(scores)

    def inverse_transform(self, X: Any) -> Array:
        """Return the rows that have the scores X.

        Parameters
        ----------
        X : array of shape (n, n_components_)
            Scores.

        Returns
        -------
        array of shape (n, d)
        """
        check_is_fitted(self)
        scores = np.asarray(X)
        if self.whiten:
            scores = scores * self._deviations()
        rows = scores @ self.components_
        if self.scale_ is not None:
            rows = rows * self.scale_
        return np.asarray(rows + self.mean_)

    def score_samples(self, X: Any) -> Array:
        """Return the reconstruction error ‖x - μ - WWᵀ(x - μ)‖ of each row: small is good.

        It is a distance, not a log-likelihood as in scikit-learn's PCA: sort it the other way.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        X = self._checked(X)
        Y = (X.toarray() if is_sparse(X) else X) - self.mean_
        if self.scale_ is not None:
            Y /= self.scale_
        Y -= (Y @ self.components_.T) @ self.components_
        return np.asarray(np.linalg.norm(Y, axis=1))

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return minus the mean reconstruction error, so that a search maximises it.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows.
        y : None
            Ignored.

        Returns
        -------
        float
        """
        return -float(self.score_samples(X).mean())

    def get_covariance(self) -> Array:
        """Return the covariance of the model: the components, and equal noise elsewhere.

        Returns
        -------
        array of shape (d, d)
        """
        check_is_fitted(self)
        extra = np.maximum(self.explained_variance_ - self.noise_variance_, 0.0)
        covariance = (self.components_.T * extra) @ self.components_
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        if self.scale_ is not None:
            covariance *= np.outer(self.scale_, self.scale_)
        return np.asarray(covariance)

    def _checked(self, X: Any) -> Any:
        """Return rows to be measured, without holes."""
        return np.asarray(validate_data(self, X, dtype=[np.float64, np.float32], reset=False))

    @property
    def _n_features_out(self) -> int:
        return int(self.components_.shape[0])

    def _deviations(self) -> Array:
        least = np.finfo(self.explained_variance_.dtype).eps
        return np.asarray(np.maximum(np.sqrt(self.explained_variance_), least))

    def _set_components(
        self, mean: Array, W: Array, variances: Array, total: float, rows: Points, m: int
    ) -> None:
        """Set what scikit-learn's PCA has; past the directions in which the rows vary, any will do.

        ``variances`` and ``total`` are those along the columns of W and in all directions.
        """
        X, most = rows.X, rows.most_components
        # Such a share of the total variance is rounding.
        k = int(np.count_nonzero(variances > 1e-14 * total))
        W, variances = complete(W[:, :k], m), np.append(variances[:k], np.zeros(m))[:m]
        signs = np.sign(W[np.abs(W).argmax(axis=0), np.arange(m)])
        self.components_ = np.ascontiguousarray((W * signs).T, dtype=X.dtype)
        self.mean_ = mean.astype(X.dtype)
        self.explained_variance_ = held(variances, X.dtype)
        ratio = variances / total if total > 0 else np.zeros_like(variances)
        self.explained_variance_ratio_ = ratio.astype(X.dtype)
        self.singular_values_ = held(np.sqrt(variances * max(rows.n - 1, 0.0)), X.dtype)
        rest = max(total - float(variances.sum()), 0.0)
        self.noise_variance_ = rest / (most - m) if m < most else 0.0
        self.n_components_ = m
        self.n_samples_ = len(X)


def complete(W: Array, m: int) -> Array:
    """Return m orthonormal columns, of which W has the first.

    The others are what the coordinate axes, one after the other, have outside.
    """
    for axis in np.eye(len(W)) if W.shape[1] < m else []:
        w = axis - W @ (W.T @ axis)
        if w @ w > 1e-2 / len(W):
            w -= W @ (W.T @ w)
            W = np.column_stack([W, w / np.linalg.norm(w)])
        if W.shape[1] == m:
            break
    return W[:, :m]


def sum_of_squares(X: Any) -> float:
    """Return Σ x² of an array: NaN where a value is missing, inf where squares overflow.

    One pass over the rows tells both. What is read block by block is checked when it is read.
    """
    with np.errstate(over="ignore", under="ignore"):
        return float(np.einsum("ij,ij->", X, X)) if isinstance(X, np.ndarray) else 0.0


def check_rows(X: Any, sample_weight: npt.ArrayLike | None, squares: float = math.inf) -> Points:
    """Return the rows with their weights; refuse squares that overflow, and weights of zero.

    ``squares`` is their `sum_of_squares`, if it is known.
    """
    a = check_weights(sample_weight, X)
    a = a if sample_weight is None else counted_weights(a)[0]
    most = max(float(a.max()), 1.0)
    if isinstance(X, np.ndarray) and not most * squares <= LARGEST**2:
        # ‖x‖² must not overflow either, nor its sum over the rows, each as often as it counts.
        largest = math.sqrt(X.shape[1] * most) * max(float(X.max()), -float(X.min()))
        check_range(np.array([largest]), "X, times the root of its columns,", "rescale X")
    return Points(X, a)


def column_deviations(X: Any) -> npt.NDArray[Any]:
    """Return the median absolute deviation of each column, scaled to that of Gaussian values.

    A column of which more than half are equal has the standard deviation in its place, and a
    constant one 1.
    """
    if not isinstance(X, np.ndarray):
        raise ValueError('scale="mad" needs X in memory: scale the columns beforehand')
    deviations = 1.4826 * np.nanmedian(np.abs(X - np.nanmedian(X, axis=0)), axis=0)
    tied = deviations == 0
    if tied.any():
        deviations[tied] = np.nanstd(X[:, tied], axis=0)
        varying = np.flatnonzero(tied & (deviations > 0))
        if len(varying):
            warnings.warn(
                f"more than half of column {varying[0]} are equal: its median absolute deviation "
                "is 0, and the standard deviation, which outliers inflate, takes its place",
                RobustnessWarning,
                stacklevel=3,
            )
    return np.asarray(np.where(deviations > 0, deviations, 1.0).astype(X.dtype))


def check_components(
    name: str, value: Any, shape: tuple[int, ...], *, share: bool, auto: bool = False
) -> None:
    """Refuse a number of components that the data do not have."""
    if auto and isinstance(value, str) and value == "auto":
        return
    n, d = shape
    if value is None or (is_whole(value) and 1 <= value <= min(n, d)):
        return
    if share and not is_whole(value) and isinstance(value, numbers.Real) and 0 < float(value) < 1:
        return
    between = ', "auto", a share of the variance between 0 and 1,' if share else ""
    raise ValueError(
        f"{name}={value!r} must be a whole number from 1 to {min(n, d)}{between} or None: "
        f"X has {n} rows and {d} columns"
    )
