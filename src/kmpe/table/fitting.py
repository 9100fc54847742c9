"""From a table to fitted models: what is predicted, from what, by which model."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from kmpe import ELMClassifier, ELMRegressor, RobustLinearRegression, Squared
from kmpe.io.progress import Progress
from kmpe.plots.distances import Distances, robust_distances
from kmpe.table.columns import Column, cleaned, describe, display_names, preparation
from kmpe.table.comparison import Score, compare
from kmpe.table.errors import TableError, nearest
from kmpe.table.reading import Table, read_table
from kmpe.table.targets import row_weights, targets

__all__ = ["Fitted", "fit"]

MODELS = ("auto", "linear", "machine")


@dataclass(frozen=True)
class Fitted:
    """A table and the models fitted to it.

    Parameters
    ----------
    table : Table
        The table as it was read.
    target : str
        The column to predict.
    task : {"regression", "classification"}
        What is predicted: a number or a category.
    columns : list of Column
        What the other columns are, and what was done to them.
    inputs : DataFrame
        The inputs of all rows, cleaned.
    y : array of shape (n,)
        The targets of the rows that have one.
    rows : array of int of shape (n,)
        Numbers of those rows in the file, from 1.
    weights : array of shape (n,) or None
        Their sample weights.
    models : dict
        Fitted pipelines by name: "linear", "machine", and "least squares" for comparison.
    chosen : str
        The name of the model to use.
    prepared : array of shape (n, k)
        The inputs of the rows that have a target, as the models get them.
    names : list of str
        What the prepared columns are, in words.
    scores : list of Score
        Cross-validated errors; empty where the rows are too few.
    cautions : list of str
        What the fits could not guard against.
    call : str
        The Python expression that repeats this.

    See Also
    --------
    fit : Returns one.
    write_fit : Writes it to a folder.

    Examples
    --------
    >>> from kmpe.table import fit
    >>> fitted = fit("tests/reference/stackloss.csv", "stack.loss", model="linear")
    >>> fitted.task, fitted.chosen, fitted.names
    ('regression', 'linear', ['Air.Flow', 'Water.Temp', 'Acid.Conc.'])
    """

    table: Table
    target: str
    task: str
    columns: list[Column]
    inputs: pd.DataFrame
    y: npt.NDArray[Any]
    rows: npt.NDArray[np.intp]
    weights: npt.NDArray[np.float64] | None
    models: dict[str, Pipeline]
    chosen: str
    prepared: npt.NDArray[np.float64]
    names: list[str]
    scores: list[Score] = field(default_factory=list)
    cautions: list[str] = field(default_factory=list)
    call: str = ""

    @property
    def model(self) -> Pipeline:
        """The model to use."""
        return self.models[self.chosen]

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802 - the mathematics
        """The inputs of the rows that have a target."""
        return _of_rows(self.inputs, self.rows)

    @cached_property
    def predicted(self) -> npt.NDArray[Any]:
        """The predictions of the chosen model for those rows."""
        return np.asarray(self.model[1:].predict(self.prepared))

    @cached_property
    def distances(self) -> Distances:
        """Robust distances of their inputs."""
        return robust_distances(self.prepared)


def fit(
    source: str | Path,
    target: str,
    *,
    model: str = "auto",
    weights: str | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    quiet: bool = True,
) -> Fitted:
    """Fit robust models to a table.

    Parameters
    ----------
    source : path or "-"
        A CSV, Parquet or Excel file; "-" is standard input.
    target : str
        The column to predict. Numbers are regressed, words and two whole numbers classified.
    model : {"auto", "linear", "machine"}, default="auto"
        `RobustLinearRegression`, or `ELMRegressor` or `ELMClassifier`. "auto" fits both where it
        can, and takes the machine if its cross-validated errors are smaller beyond chance.
    weights : str, optional
        A column of sample weights.
    drop : sequence of str
        Columns to leave out.
    seed : int, default=0
        Seed of hidden layers and folds.
    quiet : bool, default=True
        Whether to show no progress.

    Returns
    -------
    Fitted

    Raises
    ------
    TableError
        When the table cannot be read or fitted.

    See Also
    --------
    write_fit : Report, model and rows, to a folder.
    predict : Predictions for another table.
    pca : The same for principal components.

    Examples
    --------
    >>> from kmpe.table import fit
    >>> fitted = fit("tests/reference/stackloss.csv", "stack.loss", model="linear")
    >>> sorted(fitted.models)
    ['least squares', 'linear']
    """
    if model not in MODELS:
        raise TableError(f"there is no model {model!r}: choose one of {', '.join(MODELS)}")
    with Progress("fitting", 10, quiet=quiet) as progress:
        table = read_table(source)
        progress.advance(2)
        frame = table.frame
        known = [str(column) for column in frame.columns]
        for name in (target, *([weights] if weights else []), *drop):
            if name not in frame.columns:
                raise TableError(f"{table.name} has no column {name!r}: {nearest(name, known)}")
        y, task, said = targets(frame[target], target, linear=model == "linear")
        rows = np.asarray(y.index)
        a = None if weights is None else row_weights(frame[weights].loc[rows], weights)
        others = frame.drop(columns=[target, *([weights] if weights else []), *drop])
        columns = describe(others)
        number_columns = [c.name for c in columns if c.kind in ("number", "date")]
        category_columns = [c.name for c in columns if c.kind == "category"]
        if not (number_columns or category_columns):
            raise TableError(f"{table.name} has no column to predict {target!r} from")
        inputs = cleaned(others, number_columns, category_columns)
        progress.advance(1)
        X = _of_rows(inputs, rows)
        prepare = preparation(X, number_columns, category_columns)
        prepared = prepare.fit_transform(X)
        recipes = _recipes(task, model, seed)
        cautions: list[str] = []
        models = {}
        for name, recipe in recipes.items():
            fitted = _fitted(recipe, prepared, y.to_numpy(), a, cautions)
            models[name] = Pipeline([("inputs", prepare), *fitted.steps])
            progress.advance(1)
        scores = compare(prepare, recipes, X, y.to_numpy(), a, task, seed)
        progress.advance(3)
        chosen = _choice(list(models), scores)
    return Fitted(
        table=Table(frame, table.name, (*table.notes, *said)),
        target=target,
        task=task,
        columns=columns,
        inputs=inputs,
        y=y.to_numpy(),
        rows=rows,
        weights=a,
        models=models,
        chosen=chosen,
        prepared=prepared,
        names=display_names(prepare, category_columns),
        scores=scores,
        cautions=list(dict.fromkeys(cautions)),
        call=_call(source, target, model, weights, drop, seed),
    )


def _of_rows(inputs: pd.DataFrame, rows: npt.NDArray[np.intp]) -> pd.DataFrame:
    """Return the inputs of some rows; those of all are not copied."""
    return inputs if len(rows) == len(inputs) else inputs.loc[rows]


def _recipes(task: str, model: str, seed: int) -> dict[str, Pipeline]:
    """Return the models to fit to prepared inputs, by name; the first is the default."""
    if task == "classification":
        last: dict[str, list[Any]] = {"machine": [("estimator", ELMClassifier(random_state=seed))]}
    else:
        last = {
            "linear": [("estimator", RobustLinearRegression())],
            "machine": [("estimator", ELMRegressor(random_state=seed))],
        }
        last = last if model == "auto" else {model: last[model]}
        if "linear" in last:
            last["least squares"] = [("estimator", RobustLinearRegression(Squared()))]
    return {name: Pipeline(steps) for name, steps in last.items()}


def _fitted(
    recipe: Pipeline,
    X: npt.NDArray[np.float64],
    y: npt.NDArray[Any],
    a: npt.NDArray[np.float64] | None,
    cautions: list[str],
) -> Pipeline:
    weights = {} if a is None else {"estimator__sample_weight": a}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            model = clone(recipe).fit(X, y, **weights)
        except ValueError as error:
            raise TableError(f"{type(recipe[-1]).__name__} cannot be fitted: {error}") from error
    estimator = type(model[-1]).__name__
    cautions += [f"{estimator}: {warning.message}" for warning in told]
    return model


def _choice(names: list[str], scores: Sequence[Score]) -> str:
    """Return the model to use: the first, or the machine if it is clearly better."""
    by_name = {score.name: score for score in scores}
    if not {"linear", "machine"} <= by_name.keys():
        return names[0]
    return "machine" if by_name["machine"].beats(by_name["linear"]) else "linear"


def _call(
    source: Any, target: str, model: str, weights: str | None, drop: Sequence[str], seed: int
) -> str:
    options = [repr(str(source)), repr(target)]
    options += [f"model={model!r}"] * (model != "auto")
    options += [f"weights={weights!r}"] * (weights is not None)
    options += [f"drop={list(drop)!r}"] * bool(drop)
    options += [f"seed={seed}"] * bool(seed)
    return f"fit({', '.join(options)})"
