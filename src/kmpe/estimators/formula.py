"""The columns that an R formula asks for, by formulaic."""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kmpe.estimators.inputs import all_or_nothing

__all__ = ["Formula"]


class Formula(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Make the columns that the right side of an R formula asks for, from a data frame.

    The first step of a pipeline: factors become contrasts with their first level, and ``*``, ``:``,
    ``log(x)``, ``poly(x, 2)`` or ``bs(x, df=4)`` mean what they mean in R. New rows get the levels,
    knots and means of the rows that were fitted. Needs formulaic (``pip install 'kmpe[formula]'``).

    Parameters
    ----------
    formula : str
        The right side, such as ``"x * g + log(z)"``. The intercept is the model's own; with
        ``"0 + ..."`` give the model ``fit_intercept=False``.

    Attributes
    ----------
    spec_ : formulaic.ModelSpec
        What formulaic keeps of the rows that were fitted.
    feature_names_in_, n_features_in_
        The columns of the data frame.

    See Also
    --------
    RobustLinearRegression : What comes after it in a pipeline.

    Examples
    --------
    >>> import pandas as pd
    >>> from kmpe import Formula
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "g": ["a", "b", "b"]})
    >>> Formula("x * g").fit_transform(table).columns.tolist()
    ['x', 'g[T.b]', 'x:g[T.b]']
    """

    def __init__(self, formula: str) -> None:
        self.formula = formula

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Learn levels, knots and means.

        Parameters
        ----------
        X : data frame
            The rows.
        y : None
            Ignored.

        Returns
        -------
        self
        """
        formulaic = _formulaic()
        with all_or_nothing(self):
            try:
                formula = formulaic.Formula(self.formula)
            except formulaic.errors.FormulaicError as error:
                said = str(error).partition("\n")[0]
                raise ValueError(f"formula={self.formula!r} cannot be read: {said}") from error
            if hasattr(formula, "lhs"):
                raise ValueError(
                    f"formula={self.formula!r} has a left side: give the right side here, and the "
                    "target to fit as y"
                )
            self.spec_ = _columns(formula, X, self.formula).model_spec
            self.feature_names_in_ = np.asarray(X.columns, dtype=object)
            self.n_features_in_ = len(self.feature_names_in_)
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns as a data frame.

        Parameters
        ----------
        X : data frame
            The rows.

        Returns
        -------
        data frame
        """
        check_is_fitted(self)
        columns = _columns(self.spec_, X, self.formula)[list(self.get_feature_names_out())]
        return type(X)(columns.astype(np.float64))

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002
        """Return the names of the columns, as in R."""
        check_is_fitted(self)
        names = [name for name in self.spec_.column_names if name != "Intercept"]
        return np.asarray(names, dtype=object)


def _columns(formula: Any, X: Any, text: str) -> Any:
    """Return the matrix of a formula; what it cannot make is an error, never a missing value."""
    if not hasattr(X, "columns"):
        raise TypeError(f"a formula needs a data frame, not {type(X).__name__}: columns have names")
    errors = _formulaic().errors
    with warnings.catch_warnings():
        # Of unknown levels formulaic warns, and makes them the first one.
        warnings.simplefilter("error", errors.DataMismatchWarning)
        try:
            # Without a context a formula sees the columns of X and no variable of the caller.
            return formula.get_model_matrix(X, context={}, na_action="raise")
        except (errors.FormulaicError, errors.DataMismatchWarning, ValueError) as error:
            raise ValueError(
                f"formula {text!r} cannot be applied to these rows: {error} Fill or drop missing "
                "values first, and give the columns and levels that were fitted."
            ) from error


def _formulaic() -> Any:
    try:
        import formulaic
        import formulaic.errors
    except ImportError as error:
        raise ImportError(
            "formulas need formulaic: pip install 'kmpe[formula]'", name="formulaic"
        ) from error
    return formulaic
