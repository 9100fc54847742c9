"""Imputation of missing values by a robust PCA."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from kmpe.arrays import Array
from kmpe.estimators.inputs import all_or_nothing, refuse_elsewhere
from kmpe.estimators.pca import RobustPCA

__all__ = ["RobustImputer"]


class RobustImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Impute missing values by their conditional means under a robust PCA.

    `RobustPCA` is fitted to the training rows including those with missing values; outliers do not
    influence the imputed values. New rows are imputed by the same fit.

    Parameters
    ----------
    n_components : int, float, "auto" or None, default="auto"
        The number of components, as in `RobustPCA`.
    scale : {"mad", "qn"}, optional
        Whether columns are divided by a robust scale first, as in `RobustPCA`.

    Attributes
    ----------
    pca_ : RobustPCA
        The fit.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RobustPCA : Handles missing values itself.
    sklearn.impute.IterativeImputer : Column by column, not robust.

    Examples
    --------
    >>> import numpy as np
    >>> from kmpe import RobustImputer
    >>> X = np.outer(np.arange(20.0), [1.0, 2.0, 3.0])
    >>> X[5, 1] = np.nan
    >>> RobustImputer().fit_transform(X)[5].round(3)
    array([ 5., 10., 15.])
    """

    def __init__(
        self, n_components: int | float | str | None = "auto", *, scale: str | None = None
    ) -> None:
        self.n_components = n_components
        self.scale = scale

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Fit the PCA.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows, NaN where a value is missing.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            refuse_elsewhere(self, X)
            X = validate_data(
                self,
                X,
                dtype=[np.float64, np.float32],
                ensure_all_finite="allow-nan",
                ensure_min_samples=2,
            )
            self.pca_ = RobustPCA(self.n_components, scale=self.scale).fit(X)
        return self

    def transform(self, X: Any) -> Array:
        """Return the rows with missing values imputed.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows, NaN where a value is missing.

        Returns
        -------
        array of shape (n, d)
        """
        check_is_fitted(self)
        refuse_elsewhere(self, X)
        X = validate_data(
            self, X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", reset=False
        )
        return np.asarray(self.pca_.fill(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
