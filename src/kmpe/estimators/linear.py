"""Robust linear regression that finds its loss, names its outliers and knows its errors."""

import numbers
import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from kmpe.arrays import Array
from kmpe.choice.regression import Regression, regress
from kmpe.inference.covariance import (
    Term,
    confidence,
    outlier_limit,
    robust_r2,
    sandwich,
    scaled_residuals,
    summary,
)
from kmpe.inference.intervals import around, leave_one_out, radius
from kmpe.losses import Loss
from kmpe.problems.linear import is_sparse
from kmpe.problems.standardised import Standard
from kmpe.rows.threads import team

__all__ = ["RobustLinearRegression"]

# Squares of larger numbers, summed over the rows, overflow.
_LARGEST = 1e150


class RobustLinearRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Linear regression that suits its loss to the noise, with inference.

    Coefficients minimise ½ Σ ρ(‖yᵢ - xᵢβ - b‖²) + ½ α ‖β‖². With ``loss="adaptive"`` ρ is chosen
    for the smallest estimated variance of β: near least squares on Gaussian noise, near least
    absolute deviations on Laplace noise, a loss with large p where the noise is bounded, one
    that lets go of outliers where there are any. The start survives 30% of bad leverage points.

    Where the noise is not symmetric, the slopes are the same for every loss but the intercept is
    not: it is where the chosen loss sees the centre of the noise.

    Parameters
    ----------
    loss : "adaptive" or Loss, default="adaptive"
        A loss of this package, or the choice among many of them.
    fit_intercept : bool, default=True
        Whether the model has an intercept. It has no penalty.
    alpha : float, default=0
        Strength of the penalty on the slopes. Beside the adaptive loss it is that of least
        squares, as in scikit-learn's Ridge; a loss of which rows count for less gets less of it.
    max_iter : int, default=300
        The largest number of reweighted steps.
    tol : float, default=1e-10
        Stop when the cost changes by less than this share of itself, and the parameters by less
        than its square root.

    Attributes
    ----------
    coef_ : array of shape (d,) or (q, d)
        Slopes.
    intercept_ : float or array of shape (q,)
        Intercept; 0 without one.
    loss_ : Loss
        The loss with σ as a number: the chosen one, and of up to 200 rows a `Blend` of several.
    selection_ : Selection or None
        The candidates and their estimated variances; print it.
    weights_ : array of shape (n,)
        Weight of each row at the solution.
    outlier_scores_ : array of shape (n,)
        Residual norm over ``scale_``.
    outliers_ : array of bool of shape (n,)
        Rows whose score exceeds the 99% point of the Gaussian (of χ, for several targets): 2.58
        for one target. On clean Gaussian data it marks 1% of the rows.
    scale_ : float
        MAD of the residuals, corrected for the number of parameters.
    coef_cov_ : array of shape (d + 1, d + 1) or (q, d + 1, d + 1)
        Sandwich covariance of slopes and, last, intercept (left out without one).
    df_ : float
        Degrees of freedom of the confidence intervals: rows less coefficients.
    robust_r2_ : float
        R² over the rows that are not outliers.
    loo_residuals_ : array of shape (n, q)
        Residual of each row from the fit without it, by the row's leverage, which with more than
        64 coefficients is an estimate.
    n_iter_, history_, status_
        Number of steps, cost at the start and after each step, why it stopped.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X @ [1.0, 2.0] + rng.uniform(-1, 1, 200)
    >>> X[:50], y[:50] = [10.0, 0.0], -30.0  # a quarter of bad leverage points
    >>> model = RobustLinearRegression().fit(X, y)
    >>> model.coef_.round(1)
    array([1., 2.])
    >>> int(model.outliers_[:50].sum())
    50
    """

    def __init__(
        self,
        loss: Loss | str = "adaptive",
        *,
        fit_intercept: bool = True,
        alpha: float = 0.0,
        max_iter: int = 300,
        tol: float = 1e-10,
    ) -> None:
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        y : array of shape (n,) or (n, q)
            Targets.
        sample_weight : array of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float64, multi_output=True, y_numeric=True
        )
        T = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        for values, what in ((X.data if is_sparse(X) else X, "X"), (T, "y")):
            if np.max(np.abs(values), initial=0.0) > _LARGEST:
                raise ValueError(f"{what} has values too large to square: rescale {what}")
        if sample_weight is not None and not np.any(np.asarray(sample_weight)):
            raise ValueError("every sample_weight is zero: at least one row must count")
        a = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        loss = None if isinstance(self.loss, str) else self.loss
        with team():
            standard = Standard.of(X, T, a, float(self.alpha), intercept=self.fit_intercept)
            found = regress(standard.problem, loss, max_iter=self.max_iter, tol=self.tol)
            self._set_attributes(found, a, standard.back, single=np.ndim(y) == 1)
        if not found.fit.status.converged:
            warnings.warn(found.fit.message, ConvergenceWarning, stacklevel=2)
        return self

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Return the predicted targets.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        return_interval : float, optional
            Coverage, such as 0.9, of the intervals to return as well. They hold for new rows
            that are not gross outliers, those beyond 5 ``scale_``.

        Returns
        -------
        array of shape (n,) or (n, q)
            Predictions; with ``return_interval`` a tuple of predictions, lower and upper ends.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        predicted = np.asarray(X @ self.coef_.T) + self.intercept_
        if return_interval is None:
            return predicted
        half = radius(
            self.loo_residuals_, self._sample_weight, self.outlier_scores_, return_interval
        )
        return around(predicted, half)

    def confidence_intervals(self, level: float = 0.95) -> Array:
        """Return lower and upper ends of the coefficients' confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Coverage.

        Returns
        -------
        array of shape (k, 2) or (q, k, 2)
            In the order of ``coef_cov_``: slopes and, last, the intercept.
        """
        check_is_fitted(self)
        if not 0 < level < 1:
            raise ValueError(f"level={level!r} must lie between 0 and 1, such as 0.95")
        estimates = self._estimates()
        if estimates.ndim == 1:
            return confidence(estimates, self.coef_cov_, self.df_, level)
        return np.array(
            [
                confidence(e, cov, self.df_, level)
                for e, cov in zip(estimates, self.coef_cov_, strict=True)
            ]
        )

    def summary(self, level: float = 0.95) -> str:
        """Return a table of the coefficients with standard errors and confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the intervals.

        Returns
        -------
        str
        """
        limits = np.atleast_3d(self.confidence_intervals(level).T).T
        estimates = np.atleast_2d(self._estimates())
        errors = np.sqrt(np.diagonal(self.coef_cov_, axis1=-2, axis2=-1))
        errors = errors.reshape(estimates.shape)
        names = list(
            getattr(self, "feature_names_in_", [f"x{i}" for i in range(self.n_features_in_)])
        ) + ["intercept"] * bool(self.fit_intercept)
        prefix = [f"y{j} " if len(estimates) > 1 else "" for j in range(len(estimates))]
        terms = [
            Term(prefix[j] + str(names[i]), estimates[j, i], errors[j, i], *limits[j, i].tolist())
            for j in range(len(estimates))
            for i in range(len(names))
        ]
        share = f"{np.count_nonzero(self.outliers_)} of {len(self.outliers_)} rows"
        facts = [
            ("loss", str(self.loss_)),
            ("scale", f"{self.scale_:.4g}"),
            ("robust R²", f"{self.robust_r2_:.4f}"),
            ("outliers", share),
            ("intervals", f"{level:.0%}"),
        ]
        return summary(terms, self.df_, facts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags

    def _estimates(self) -> Array:
        if not self.fit_intercept:
            return np.asarray(self.coef_)
        return np.concatenate([self.coef_, np.asarray(self.intercept_)[..., None]], axis=-1)

    def _set_attributes(self, found: Regression, a: Array, back: Array, *, single: bool) -> None:
        fit, problem, d = found.fit, found.problem, self.n_features_in_
        R, leverages = problem.residuals(fit.theta), problem.leverages
        self.loss_, self.selection_ = fit.loss, found.selection
        self.weights_, self.n_iter_ = fit.weights, fit.n_iter
        self.history_, self.status_ = np.array(fit.history), fit.message
        k = problem.H.shape[1]
        self.outlier_scores_, self.scale_ = scaled_residuals(R, a, k)
        self.outliers_ = self.outlier_scores_ > outlier_limit(problem.dim)
        self.df_ = max(float(a.sum()) - k, 1.0)
        self.robust_r2_ = robust_r2(problem.T, R, a * ~self.outliers_)
        self.loo_residuals_ = leave_one_out(R, leverages)
        self._sample_weight = a
        theta = back @ fit.theta
        cov = back @ sandwich(problem, fit.loss, fit.theta, leverages) @ back.T
        coef = np.ascontiguousarray(theta[:d].T)
        intercept = theta[d] if k > d else np.zeros(problem.dim)
        self.coef_: Array = coef[0] if single else coef
        self.coef_cov_: Array = cov[0] if single else cov
        self.intercept_ = float(intercept[0]) if single else intercept

    def _check_parameters(self) -> None:
        if not (self.loss == "adaptive" or isinstance(self.loss, Loss)):
            raise ValueError(
                f'loss={self.loss!r} must be "adaptive" or a loss such as kmpe.KMPE(p=2)'
            )
        for name, zero in (("alpha", True), ("tol", False)):
            value = getattr(self, name)
            real = isinstance(value, numbers.Real) and 0 <= float(value) < np.inf
            if not real or (not zero and value == 0):
                least = "0 or above" if zero else "above 0"
                raise ValueError(f"{name}={value!r} must be a number {least}")
        value = self.max_iter
        if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"max_iter={value!r} must be a whole number of at least 1")
