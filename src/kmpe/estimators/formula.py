"""R formulas, evaluated by formulaic."""

import ast
import builtins
import copy
import re
import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from kmpe.estimators.inputs import all_or_nothing

__all__ = ["Formula"]


class Formula(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Compute the columns of the right-hand side of an R formula from a data frame.

    The first step of a pipeline. Factors become contrasts with their first level, and ``*``, ``:``,
    ``log(x)``, ``poly(x, 2)`` and ``bs(x, df=4)`` have their meaning in R. Levels, knots and means
    are learnt from the training rows. Needs formulaic (``pip install 'kmpe[formula]'``).

    A formula may contain columns, numbers, arithmetic, comparisons, and the functions of formulaic
    and NumPy (``np.sqrt(x)``). Anything else is refused, so that a formula from a file cannot run
    code.

    Parameters
    ----------
    formula : str
        The right-hand side, such as ``"x * g + log(z)"``. It makes no intercept, as the model has
        one; with ``"0 + ..."`` set ``fit_intercept=False`` in the model.

    Attributes
    ----------
    levels_ : dict
        The levels of each factor, the first of which is the reference.
    transforms_ : dict
        The state of transformations learnt from the training rows: knots, means, bounds.
    feature_names_in_, n_features_in_
        The columns of the data frame.

    See Also
    --------
    RobustLinearRegression : A model to follow it in a pipeline.

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
        with all_or_nothing(self):
            spec = _columns(self.formula, X).model_spec
            self.levels_ = {
                factor: [_plain(level) for level in state["categories"]]
                for factor, (_, state) in spec.encoder_state.items()
                if "categories" in state
            }
            # formulaic visits transformations in the arbitrary order of a set.
            self.transforms_ = _plain(dict(sorted(spec.transform_state.items())))
            self._numbers = [name for name in spec.encoder_state if name not in self.levels_]
            self._names_out = [str(name) for name in spec.column_names if name != "Intercept"]
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
        columns = _columns(self.formula, X, **self._state())
        missing = [name for name in self._names_out if name not in columns]
        if missing:
            raise ValueError(
                f"formula {self.formula!r} makes no {missing[0]!r} of these rows: columns must be "
                "of the types of the training data, numbers or levels"
            )
        return type(X)(columns[self._names_out].astype(np.float64))

    def get_feature_names_out(self, input_features: Any = None) -> Any:  # noqa: ARG002
        """Return the names of the columns, as in R."""
        check_is_fitted(self)
        return np.asarray(self._names_out, dtype=object)

    def _state(self) -> dict[str, Any]:
        """Return the fitted state in formulaic's types, which cannot be saved."""
        kinds = _formulaic().parser.types.Factor.Kind
        return {
            "transform_state": copy.deepcopy(self.transforms_),
            "encoder_state": {name: (kinds.NUMERICAL, {}) for name in self._numbers}
            | {
                name: (kinds.CATEGORICAL, {"categories": list(levels)})
                for name, levels in self.levels_.items()
            },
        }


def _parsed(text: str, columns: set[str]) -> Any:
    """Return formulaic's terms of a right-hand side, after checking that it runs no code."""
    formulaic = _formulaic()
    try:
        formula = formulaic.Formula(text)
    except (formulaic.errors.FormulaicError, SyntaxError) as error:
        said = str(error).partition("\n")[0]
        raise ValueError(f"formula={text!r} cannot be read: {said}") from error
    if not isinstance(formula, formulaic.SimpleFormula):
        raise ValueError(
            f"formula={text!r} has a left-hand side or several parts: give the right-hand side "
            "only, and the target to fit as y"
        )
    for term in formula:
        for factor in term.factors:
            if factor.eval_method.value == "python" and not _harmless(factor.expr, columns):
                raise ValueError(
                    f"formula={text!r} may not use {factor.expr!r}: columns, numbers, arithmetic, "
                    "comparisons and the functions of formulaic and NumPy are allowed. Make "
                    "other columns in the data frame first."
                )
    return formula


def _harmless(expression: str, columns: set[str]) -> bool:
    """Return whether evaluating an expression calls nothing but functions of columns."""
    allowed = (
        *(ast.Expression, ast.Load, ast.Constant, ast.List, ast.Tuple, ast.keyword),
        *(ast.BinOp, ast.operator, ast.UnaryOp, ast.unaryop, ast.Compare, ast.cmpop),
    )
    try:
        # Names in backquotes are columns.
        nodes = list(ast.walk(ast.parse(re.sub("`[^`]*`", "0", expression), mode="eval")))
    except SyntaxError:
        return False
    return all(isinstance(node, allowed) or _is_harmless(node, columns) for node in nodes)


def _is_harmless(node: ast.AST, columns: set[str]) -> bool:
    """Return whether a name, an attribute or a call refers to a column or an allowed function."""
    match node:
        case ast.Name(id=name):  # formulaic evaluates with Python's builtins
            known = name in columns or name in _formulaic().transforms.TRANSFORMS
            return known or not hasattr(builtins, name)
        case ast.Attribute(value=ast.Name(id="np"), attr=name):
            return isinstance(getattr(np, name, None), np.ufunc)
        case ast.Attribute(value=ast.Name(id="contr"), attr=name):
            return not name.startswith("_")
        case ast.Call(func=ast.Name() | ast.Attribute()):
            return True
    return False


def _plain(value: Any) -> Any:
    """Return numbers and text as built-in types, which can be saved."""
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _columns(text: str, X: Any, **state: Any) -> Any:
    """Return the matrix of a formula; what it cannot compute is an error, never a missing value."""
    if not hasattr(X, "columns"):
        raise TypeError(f"a formula needs a data frame, not {type(X).__name__}: columns have names")
    spec = _formulaic().ModelSpec(formula=_parsed(text, set(map(str, X.columns))), **state)
    errors = _formulaic().errors
    with warnings.catch_warnings():
        # For unknown levels formulaic warns and uses the first level: here it is an error.
        warnings.simplefilter("error", errors.DataMismatchWarning)
        try:
            # Without a context a formula has access to the columns of X and to nothing else.
            return spec.get_model_matrix(X, context={}, na_action="raise")
        except (errors.FormulaicError, errors.DataMismatchWarning, ValueError) as error:
            raise ValueError(
                f"formula {text!r} cannot be applied to these rows: {error} Fill or drop missing "
                "values first, and use the columns and levels of the training data."
            ) from error


def _formulaic() -> Any:
    try:
        import formulaic
        import formulaic.errors
        import formulaic.parser.types
        import formulaic.transforms
    except ImportError as error:
        raise ImportError(
            "formulas need formulaic: pip install 'kmpe[formula]'", name="formulaic"
        ) from error
    return formulaic
