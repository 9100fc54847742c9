"""Inference on the coefficients of a linear regression: intervals, a summary, tests."""

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kmpe.arrays import Array
from kmpe.foreign import to_numpy
from kmpe.inference.summary import confidence, summary, terms_of
from kmpe.inference.wald import WaldTest, wald

__all__ = ["Coefficients"]


class Coefficients(ABC):
    """Inference for an estimator with ``coef_``, ``intercept_``, ``coef_cov_`` and ``df_``."""

    coef_: Array
    intercept_: Any
    coef_cov_: Array
    df_: float
    fit_intercept: bool
    n_features_in_: int

    def confidence_intervals(self, level: float = 0.95) -> Array:
        """Return the lower and upper ends of the confidence intervals of the coefficients.

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
        covariances = self._cov.reshape(-1, *self._cov.shape[-2:])
        pairs = zip(estimates.reshape(len(covariances), -1), covariances, strict=True)
        limits = np.array([confidence(e, cov, self.df_, level) for e, cov in pairs])
        return limits[0] if estimates.ndim == 1 else limits

    def summary(self, level: float = 0.95) -> str:
        """Return a table of the coefficients with standard errors and confidence intervals.

        Parameters
        ----------
        level : float, default=0.95
            Coverage of the intervals.
        """
        shape = (-1, len(self._names()))
        errors = np.sqrt(np.diagonal(self._cov, axis1=-2, axis2=-1))
        limits = self.confidence_intervals(level).reshape(*errors.reshape(shape).shape, 2)
        estimates = self._estimates().reshape(shape)
        terms = terms_of(self._names(), estimates, errors.reshape(shape), limits)
        return summary(terms, self.df_, [*self._facts(), ("intervals", f"{level:.0%}")])

    def wald_test(self, terms: Any) -> WaldTest:
        """Test that some coefficients are zero, so that a model without them is sufficient.

        Parameters
        ----------
        terms : sequence of str or int, or fitted estimator
            Names or indices of inputs, or the smaller model: a regression on some of the same
            named columns.

        Returns
        -------
        WaldTest
            Statistic, degrees of freedom and p-value; print it.

        Examples
        --------
        >>> from kmpe import RobustLinearRegression
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(100, 3))
        >>> model = RobustLinearRegression().fit(X, X[:, 0] + rng.normal(size=100))
        >>> print(model.wald_test(["x1", "x2"]))
        x1, x2 = 0: F = ...
        """
        check_is_fitted(self)
        if self.coef_.ndim == 2:
            raise ValueError("wald_test needs a model with one target: fit one model per target")
        names = self._names()
        chosen = [self._place(term, names) for term in self._left_out(terms)]
        if not chosen or len(set(chosen)) < len(chosen):
            raise ValueError("terms must name at least one input, and none twice")
        cov = self._cov[np.ix_(chosen, chosen)]
        b = self._estimates()[chosen]
        return wald(tuple(names[i] for i in chosen), b, cov, self.df_)

    def _left_out(self, terms: Any) -> list[Any]:
        """Return the terms to test; given a smaller model, those that it does not have."""
        if isinstance(terms, str):
            return [terms]
        if not hasattr(terms, "coef_"):
            return list(terms)
        names = getattr(self, "feature_names_in_", None)
        smaller = getattr(terms, "feature_names_in_", None)
        if names is None or smaller is None:
            raise ValueError("to compare two models, fit both to data frames with named columns")
        unknown = [name for name in smaller if name not in names]
        if unknown:
            raise ValueError(
                f"column {unknown[0]!r} of the smaller model is not in the larger one: models must "
                "be nested"
            )
        return [name for name in names if name not in smaller]

    def _place(self, term: Any, names: list[str]) -> int:
        """Return the index of a coefficient."""
        if isinstance(term, str):
            if term not in names:
                raise ValueError(f"there is no input {term!r}; there are {', '.join(names[:8])}")
            return names.index(term)
        if not 0 <= int(term) < len(names):
            raise ValueError(f"there is no input {term}; they are numbered 0 to {len(names) - 1}")
        return int(term)

    @abstractmethod
    def _facts(self) -> list[tuple[str, str]]:
        """Return names and values for the head of the summary."""

    @property
    def _cov(self) -> Array:
        """The covariance in NumPy, whatever library the model is of."""
        return to_numpy(self.coef_cov_)

    def _estimates(self) -> Array:
        coef = to_numpy(self.coef_)
        if not self.fit_intercept:
            return coef
        return np.concatenate([coef, to_numpy(self.intercept_)[..., None]], axis=-1)

    def _names(self) -> list[str]:
        """Return the names of the coefficients, in the order of ``coef_cov_``."""
        default = [f"x{i}" for i in range(self.n_features_in_)]
        names = [str(name) for name in getattr(self, "feature_names_in_", default)]
        return names + ["intercept"] * bool(self.fit_intercept)
