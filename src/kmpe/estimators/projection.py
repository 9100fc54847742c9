"""The part that all PCA estimators share: scores, reconstructions, likelihood."""

import math
import numbers
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from kmpe.arrays import SINGULAR, Array, held
from kmpe.estimators.collections import answer, is_elsewhere
from kmpe.estimators.devices import is_dispatched, is_foreign
from kmpe.estimators.inputs import check_weights, is_whole
from kmpe.foreign import Foreign, asarray, to_numpy
from kmpe.inference.likelihood import floored_noise, log_likelihood
from kmpe.problems.pca import Points
from kmpe.rows.checks import LARGEST, check_range, counted_weights
from kmpe.rows.source import is_sparse

__all__ = [
    "Projection",
    "check_components",
    "check_rows",
    "sum_of_squares",
]


class Projection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Scores, reconstructions and covariance, as in scikit-learn's PCA."""

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
        if is_elsewhere(X, self.transform):
            return answer(self.transform, X)
        X, mean = self._checked(X), self.mean_
        W = self.components_
        if self.scale_ is not None:
            W = W / self.scale_
        scores = X @ W.T - mean @ W.T
        if self.whiten:
            scores /= self._deviations()
        return asarray(scores)

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
        if is_dispatched(X):
            return answer(self.inverse_transform, X)
        scores = asarray(X)
        if self.whiten:
            scores = scores * self._deviations()
        rows = scores @ self.components_
        if self.scale_ is not None:
            rows = rows * self.scale_
        return asarray(rows + self.mean_)

    def reconstruction_errors(self, X: Any) -> Array:
        """Return the distance ‖x - μ - WWᵀ(x - μ)‖ of each row from its reconstruction.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        if is_elsewhere(X, self.reconstruction_errors):
            return answer(self.reconstruction_errors, X)
        return self._each(self._checked(X), self._reconstruction_error)

    def score_samples(self, X: Any) -> Array:
        """Return the log-likelihood of each row, as scikit-learn's PCA does.

        It is that of the Gaussian model of PCA (Tipping and Bishop 1999) with the mean, components
        and variances of the fit; for a row with missing values, that of its observed values.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows.

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        if is_elsewhere(X, self.score_samples):
            return answer(self.score_samples, X)
        return self._each(self._with_holes(X), self._log_likelihood)

    def score(self, X: Any, y: Any = None) -> float:  # noqa: ARG002 - scikit-learn's signature
        """Return the mean log-likelihood of the rows.

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
        scores = self.score_samples(X)
        return float((to_numpy(scores) if is_foreign(scores) else scores).mean())

    def get_covariance(self) -> Array:
        """Return the covariance of the model: components, and equal noise in other directions.

        Returns
        -------
        array of shape (d, d)
        """
        check_is_fitted(self)
        W, variances = to_numpy(self.components_), to_numpy(self.explained_variance_)
        covariance = (W.T * np.maximum(variances - self.noise_variance_, 0.0)) @ W
        covariance.flat[:: len(covariance) + 1] += self.noise_variance_
        if self.scale_ is not None:
            covariance *= np.outer(self.scale_, self.scale_)
        return np.asarray(covariance)

    def get_precision(self) -> Array:
        """Return the inverse of the covariance of the model.

        If the rows lie in the subspace exactly, the noise variance is that of rounding errors.

        Returns
        -------
        array of shape (d, d)
        """
        check_is_fitted(self)
        variances = to_numpy(self.explained_variance_).astype(np.float64)
        noise = floored_noise(variances, self.noise_variance_)
        W = to_numpy(self.components_).astype(np.float64)
        precision = (W.T / np.maximum(variances, noise)) @ W
        if len(W) < W.shape[1]:
            precision += (np.eye(W.shape[1]) - W.T @ W) / noise
        if self.scale_ is not None:
            precision /= np.outer(self.scale_, self.scale_)
        return np.asarray(precision)

    def _reconstruction_error(self, Y: Array) -> Array:
        W = self.components_
        return asarray(np.linalg.norm(Y - (Y @ W.T) @ W, axis=1))

    def _log_likelihood(self, Y: Array) -> Array:
        variances = self.explained_variance_.astype(np.float64)
        W = self.components_.T.astype(np.float64)
        density = log_likelihood(Y, W, variances, float(self.noise_variance_))
        if self.scale_ is None:
            return density
        units = ~np.isnan(Y) @ np.log(self.scale_.astype(np.float64))
        return asarray(density - units)

    def _each(self, X: Any, value: Callable[[Array], Array]) -> Array:
        """Return a value of each centred row, in the units of the fit, block by block."""
        if isinstance(X, Foreign):
            Y = X - self.mean_
            return value(asarray(Y if self.scale_ is None else Y / self.scale_))
        out = np.empty(X.shape[0])
        for some in gen_batches(X.shape[0], 4096):
            Y = X[some].toarray() if is_sparse(X) else X[some]
            Y = np.asarray(Y, dtype=np.float64) - self.mean_
            out[some] = value(Y if self.scale_ is None else Y / self.scale_)
        return out

    def _with_holes(self, X: Any) -> Any:
        """Return validated rows, which may have missing values if the model handles them."""
        return self._checked(X)

    def _checked(self, X: Any) -> Any:
        """Return validated rows without missing values."""
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
        """Set the attributes of scikit-learn's PCA; W is completed if it has too few columns.

        ``variances`` and ``total`` are those along the columns of W and in all directions.
        """
        X, most = rows.X, rows.most_components
        k = int(np.count_nonzero(variances > SINGULAR * total))
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
        self.n_samples_ = len(rows)


def complete(W: Array, m: int) -> Array:
    """Return m orthonormal columns that begin with those of W.

    The others are coordinate axes, orthogonalised one after the other.
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
    """Return Σ x² of an array: NaN if a value is missing, inf if squares overflow.

    One pass checks both. Rows that are read block by block are checked when they are read.
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
        # ‖x‖² must not overflow either, nor its weighted sum over the rows.
        largest = math.sqrt(X.shape[1] * most) * max(float(X.max()), -float(X.min()))
        check_range(np.array([largest]), "X, times the root of its columns,", "rescale X")
    return Points(X, a)


def check_components(
    name: str, value: Any, shape: tuple[int, ...], *, share: bool, auto: bool = False
) -> None:
    """Refuse a number of components that the shape of the data does not allow."""
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
