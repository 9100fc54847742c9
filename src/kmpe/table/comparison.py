"""Cross-validated errors of the models."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["Score", "compare"]


@dataclass(frozen=True)
class Score:
    """The cross-validated error of a model.

    Parameters
    ----------
    name : str
        The model.
    errors : array of shape (n,)
        Absolute error of each row, or 1 where the class is wrong, from the fit without its fold.
    """

    name: str
    errors: npt.NDArray[np.float64]

    @property
    def mean(self) -> float:
        """The mean error; of classes, the share of wrong ones."""
        return float(self.errors.mean())

    @property
    def median(self) -> float:
        """The median error."""
        return float(np.median(self.errors))

    @property
    def trimmed(self) -> float:
        """The mean error without the largest tenth: outliers cannot be predicted."""
        return float(np.sort(self.errors)[: int(0.9 * len(self.errors))].mean())

    def beats(self, other: "Score") -> bool:
        """Whether its errors are smaller, row by row, beyond chance.

        Wilcoxon's signed-rank test of the differences at 5%: a few outliers decide nothing.
        """
        gain = other.errors - self.errors
        return self.median < other.median and bool(
            wilcoxon(gain, alternative="greater").pvalue < 0.05
        )


def compare(
    prepare: ColumnTransformer,
    models: Mapping[str, Pipeline],
    X: pd.DataFrame,
    y: npt.NDArray[Any],
    a: npt.NDArray[np.float64] | None,
    task: str,
    seed: int,
) -> list[Score]:
    """Return the errors of models in five folds, beside Ridge and the best constant.

    Parameters
    ----------
    prepare : ColumnTransformer
        The step that prepares the inputs; every fold learns its own.
    models : mapping
        Pipelines by name, with a step "estimator".
    X, y, a
        Inputs, targets and weights.
    task : {"regression", "classification"}
        What is predicted.
    seed : int
        Seed of folds and of the choice among many rows.
    """
    folds = 5
    if len(y) < 2 * folds:
        return []
    rng = np.random.RandomState(seed)
    # Enough to compare the errors: their standard error is 1 / √5000 = 1.4%.
    most_rows = 5000
    if len(y) > most_rows:
        rows = np.sort(rng.choice(len(y), most_rows, replace=False))
        X, y, a = X.iloc[rows], y[rows], None if a is None else a[rows]
    plain: dict[str, Any] = {"Ridge": Ridge(), "the median": DummyRegressor(strategy="median")}
    if task == "classification":
        plain = {"Ridge": RidgeClassifier(), "the commonest class": DummyClassifier()}
    every = {name: model.steps for name, model in models.items() if name != "least squares"}
    for name, estimator in plain.items():
        every[name] = [("scale", StandardScaler()), ("estimator", estimator)]
    splits = list(KFold(folds, shuffle=True, random_state=rng).split(X))
    return [
        _score(name, Pipeline([("inputs", prepare), *steps]), X, y, a, splits)
        for name, steps in every.items()
    ]


def _score(
    name: str,
    model: Pipeline,
    X: pd.DataFrame,
    y: npt.NDArray[Any],
    a: npt.NDArray[np.float64] | None,
    splits: list[Any],
) -> Score:
    errors = np.empty(len(y))
    for train, test in splits:
        weights = {} if a is None else {"estimator__sample_weight": a[train]}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # told once, of the fit to all rows
            fitted = clone(model).fit(X.iloc[train], y[train], **weights)
            predicted = fitted.predict(X.iloc[test])
        wrong = np.abs(y[test] - predicted) if y.dtype.kind == "f" else y[test] != predicted
        errors[test] = wrong
    return Score(name, errors)
