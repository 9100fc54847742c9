"""Robust linear regression: MM-estimate, loss chosen by the data, sandwich covariance."""

import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from kmpe.arrays import Array
from kmpe.choice.adaptive import looked
from kmpe.estimators.coefficients import Coefficients
from kmpe.estimators.collections import absent_attribute, answer, is_elsewhere, without_collections
from kmpe.estimators.inputs import (
    RobustnessWarning,
    all_or_nothing,
    check_loss,
    check_number,
    check_targets,
    check_verbose,
    check_weights,
    check_whole_number,
    read,
    read_with_targets,
    set_parameters,
)
from kmpe.estimators.linear_fit import fit_collections, radius_of_mean, walk_of
from kmpe.foreign import asarray, to_numpy
from kmpe.inference.intervals import around, radius
from kmpe.inference.quantiles import middle_of
from kmpe.inference.regression import Report, cautions, report
from kmpe.losses import Loss
from kmpe.problems.ridge import Ridge
from kmpe.rows.arranged import arranged
from kmpe.rows.checks import check_range, counted_weights
from kmpe.rows.device import of_inputs
from kmpe.rows.files import Reader
from kmpe.rows.source import Outputs, Rows, is_sparse
from kmpe.rows.standardised import Standardised
from kmpe.rows.threads import team
from kmpe.solvers.progress import said
from kmpe.solvers.record import Fit
from kmpe.solvers.walk import Walked
from kmpe.starts.weighted import count

__all__ = ["RobustLinearRegression"]


class RobustLinearRegression(Coefficients, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Robust linear regression with inference and a loss that adapts to the noise.

    Coefficients minimise ½ Σ ρ(‖yᵢ - xᵢβ - b‖²) + ½ α ‖β‖². With ``loss="adaptive"`` ρ is minus
    the log density of the noise, estimated from the residuals as a mixture of shapes: near least
    squares for Gaussian noise, near least absolute deviations for Laplace noise, steep at the edge
    for bounded noise, redescending if there are outliers. The initial estimate is an MM-estimate,
    and bad leverage points have weight 0.

    If the noise is not symmetric, the intercept depends on the loss while the slopes do not. If the
    slopes do, the noise depends on the inputs; then Tukey's loss is used, with a warning.

    Parameters
    ----------
    loss : "adaptive" or Loss, default="adaptive"
        A loss of this package, or "adaptive" for one estimated from the residuals.
    fit_intercept : bool, default=True
        Whether the model has an intercept. It has no penalty.
    alpha : float, default=0
        Strength of the penalty on the slopes. With the adaptive loss it is that of least squares,
        as in scikit-learn's Ridge, and is scaled with the weights of the loss.
    max_iter : int, default=300
        The largest number of steps.
    tol : float, default=1e-10
        Stop when the relative change of the cost is below this, and that of the parameters below
        its square root.
    verbose : int, default=0
        1 reports the progress of a fit on standard error; 0 is silent.

    Attributes
    ----------
    coef_ : array of shape (d,) or (q, d)
        Slopes; those of smallest norm if columns are linearly dependent.
    intercept_ : float or array of shape (q,)
        Intercept; 0 if there is none.
    loss_ : Loss
        The loss used, with σ as a number.
    noise_ : Noise or None
        The estimated shape of the noise with probabilities; print it. None for a given loss, for
        several targets, and with fewer than 4 rows per coefficient.
    weights_ : array of shape (n,)
        The weight ρ' of each row at the solution, 0 for a bad leverage point. For bounded noise
        rows near its edge have the largest weights.
    trust_ : array of shape (n,)
        A decreasing function of the residual, from 0 to 1: the largest weight of any residual at
        least as large as that of the row, over that of a median residual, at most 1.
    outlier_scores_ : array of shape (n,)
        Residual norm over ``scale_``.
    outliers_ : array of bool of shape (n,)
        Rows whose score exceeds the 99% point of the Gaussian (of χ, for several targets), 2.58.
    scale_ : float
        Scale of the residuals: the root mean square over the rows that are no outliers by the scale
        of the S-estimate; 0 if most rows are fitted exactly.
    coef_cov_ : array of shape (d + 1, d + 1) or (q, d + 1, d + 1)
        Sandwich covariance of the slopes and, last, the intercept if there is one. Sample weights
        count as numbers of repeats.
    df_ : float
        Degrees of freedom of the confidence intervals: number of rows minus coefficients.
    robust_r2_ : float
        R² over the rows that are not outliers.
    loo_residuals_ : array of shape (n, q)
        Leave-one-out residuals, approximated from the leverages.
    leverages_ : array of shape (n,)
        Leverages, the diagonal of the hat matrix, per repeat of a row. With more than 64
        coefficients they are estimates.
    cook_distances_ : array of shape (n,)
        Cook's distance: the change of the coefficients when the row is left out, in the metric of
        their covariance, divided by their number. Typical values are near 1 / n.
    n_iter_, history_, status_
        Number of steps, cost at the start and after each step, reason for stopping.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RobustRegressor : Any regressor, made robust.
    ELMRegressor : Nonlinear regression.
    ConformalRegressor : Prediction intervals with guaranteed coverage.
    kmpe.plots.OutlierMapDisplay : Outliers and leverage points in a plot.

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

    set_params = set_parameters
    __getstate__ = without_collections

    def __getattr__(self, name: str) -> Any:
        raise absent_attribute(self, name)

    def __init__(
        self,
        loss: Loss | str = "adaptive",
        *,
        fit_intercept: bool = True,
        alpha: float = 0.0,
        max_iter: int = 300,
        tol: float = 1e-10,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.fit_intercept = fit_intercept
        self.alpha = alpha
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the coefficients.

        Parameters
        ----------
        X : array, data frame, sparse matrix or memory map of shape (n, d)
            Inputs. A memory map, or anything else with a shape and row slices (HDF5, zarr), is
            read block by block and never copied as a whole.
        y : array of shape (n,) or (n, q)
            Targets.
        sample_weight : array of shape (n,), optional
            Sample weights. Coefficients, outliers and the choice of the loss depend only on their
            ratios; standard errors take them as numbers of repeats.
        """
        with all_or_nothing(self), said(type(self).__name__, self.verbose):
            self._check_parameters()
            if is_elsewhere(X):
                fit_collections(self, X, y, sample_weight)
            else:
                X, y = read_with_targets(self, X, y, numeric=True, reset=True)
                self._fit(X, check_targets(y), sample_weight, single=np.ndim(y) == 1)
        return self

    def _fit(self, X: Any, T: Array, sample_weight: npt.ArrayLike | None, *, single: bool) -> None:
        if not isinstance(X, Reader):
            check_range(X.data if is_sparse(X) else X, "X", "rescale X")
        counts, unit = counted_weights(check_weights(sample_weight, X), T)
        X, T, a, X0, T0, back = arranged(X, T, counts)
        # Convergence is relative to the size of θ, which must not depend on a constant in y.
        centre = middle_of(Rows(X, T, a)) if self.fit_intercept else np.zeros(T.shape[1])
        T, T0 = T - centre, T0 - centre
        with team():
            n = count(counts[counts > 0])
            standard, walked = walk_of(self, Rows(X, T, a), unit, n)
            chosen, fit = walked.chosen, walked.fit
            problem = chosen.problem.beside(standard(X0), T0)
            parts = problem, chosen.sample, fit, standard, unit
            found = report(*parts, chosen.scale, looked(chosen).density).of_rows(back)
            found = replace(found, intercept=found.intercept + centre)
        self._set_attributes(fit, found, single=single)
        # Equal rows were merged: each gets back its own weight, or 0 for a bad leverage point.
        self._of_sample = found.loo, counts * (problem.sample_weight[back] > 0), found.scores
        self._conclude(walked, found, standard, unit)

    def _conclude(
        self, walked: Walked[Ridge, Array], found: Report, standard: Standardised, unit: float
    ) -> None:
        """Set attributes about the steps, and issue the warnings."""
        chosen, fit = walked.chosen, walked.fit
        self.noise_ = looked(chosen).noise
        self.n_iter_, self.history_ = fit.n_iter, fit.costs(unit)
        if not fit.status.converged:
            warnings.warn(fit.message, ConvergenceWarning, stacklevel=4)
        said = [chosen.caution] * bool(chosen.caution)
        said += cautions(found, standard, self._names(), fit.loss)
        if said:
            warnings.warn(" ".join(said), RobustnessWarning, stacklevel=4)

    def predict(
        self, X: Any, return_interval: float | None = None, interval: str = "prediction"
    ) -> Any:
        """Return the predicted targets.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        return_interval : float, optional
            Coverage, such as 0.9, of intervals to return as well.
        interval : {"prediction", "confidence"}, default="prediction"
            Prediction intervals are for the target of a new row that is not a gross outlier (beyond
            5 ``scale_``), confidence intervals for its expected prediction.

        Returns
        -------
        array of shape (n,) or (n, q)
            Predictions; with ``return_interval`` a tuple of predictions, lower and upper ends.
        """
        check_is_fitted(self)
        if is_elsewhere(X, self.predict):
            return answer(self.predict, X, return_interval, interval)
        X = read(self, X, reset=False, accept_sparse="csr")
        predicted = self._predicted(X)
        if interval not in ("prediction", "confidence"):
            raise ValueError(f'interval={interval!r} must be "prediction" or "confidence"')
        if return_interval is None:
            return predicted
        if interval == "confidence":
            return around(predicted, radius_of_mean(self, X, return_interval))
        return around(predicted, radius(*self._of_sample, return_interval))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.array_api_support = True
        tags.target_tags.multi_output = True
        return tags

    def _facts(self) -> list[tuple[str, str]]:
        outliers = to_numpy(self.outliers_)
        return [
            ("loss", str(self.loss_)),
            *([("noise", str(self.noise_))] if self.noise_ is not None else []),
            ("scale", f"{self.scale_:.4g}"),
            ("robust R²", f"{self.robust_r2_:.4f}"),
            ("outliers", f"{np.count_nonzero(outliers)} of {len(outliers)} rows"),
        ]

    def _predicted(self, X: Any) -> Array:
        coef = np.atleast_2d(self.coef_).T
        Y = of_inputs(X, None, Outputs(coef), coef.shape[1]) + self.intercept_
        return asarray(Y if self.coef_.ndim == 2 else Y[:, 0])

    def _set_attributes(self, fit: Fit[Array], found: Report, *, single: bool) -> None:
        self.loss_, self.status_ = fit.loss, fit.message
        self.weights_, self.trust_ = found.weights, found.trust
        self.outlier_scores_, self.outliers_ = found.scores, found.outliers
        self.scale_, self.df_, self.robust_r2_ = found.scale, found.df, found.r2
        self.loo_residuals_, self.leverages_ = found.loo, found.leverages
        self.cook_distances_ = found.cook
        self._seen_cov, self._unseen = found.seen_cov, found.unseen
        self.coef_: Array = found.coef[0] if single else found.coef
        self.coef_cov_: Array = found.cov[0] if single else found.cov
        self.intercept_ = float(found.intercept[0]) if single else found.intercept

    def _check_parameters(self) -> None:
        check_loss(self.loss)
        check_number("alpha", self.alpha, zero=True)
        check_number("tol", self.tol)
        check_whole_number("max_iter", self.max_iter)
        check_verbose(self.verbose)
