"""Predictions of a saved model for the rows of another table."""

import warnings
from pathlib import Path

import pandas as pd
from sklearn.pipeline import Pipeline

from kmpe import io
from kmpe.table.columns import cleaned
from kmpe.table.errors import TableError, nearest
from kmpe.table.reading import read_table
from kmpe.table.rows import predictions

__all__ = ["predict"]


def predict(model_file: str | Path, source: str | Path) -> tuple[pd.DataFrame, list[str]]:
    """Return the predictions for a table, and notes about its columns.

    Parameters
    ----------
    model_file : path
        A ``model.skops`` of ``kmpe fit`` or ``kmpe pca``.
    source : path or "-"
        A CSV, Parquet or Excel file with the columns of the table that was fitted.

    Returns
    -------
    table : DataFrame
        Prediction and, of a regression, the ends of its 90% interval, for each row; the scores
        of a PCA.
    notes : list of str
        Columns that were not needed, cells that were empty, categories never seen before.

    See Also
    --------
    fit, write_fit : Make the model file.

    Examples
    --------
    >>> import tempfile
    >>> from kmpe.table import fit, predict, write_fit
    >>> source = "tests/reference/stackloss.csv"
    >>> with tempfile.TemporaryDirectory() as out:
    ...     _ = write_fit(fit(source, "stack.loss", model="linear"), out)
    ...     table, notes = predict(f"{out}/model.skops", source)
    >>> list(table.columns)
    ['prediction', 'low', 'high']
    """
    model = _loaded(model_file)
    names = _columns(model)
    table = read_table(source)
    wanted = [*names["numbers"], *names["categories"]]
    missing = [name for name in wanted if name not in table.frame.columns]
    if missing:
        some = ", ".join(map(repr, missing[:5])) + ", ..." * (len(missing) > 5)
        advice = nearest(missing[0], [str(c) for c in table.frame.columns if c not in wanted])
        raise TableError(f"{table.name} lacks the column {some}: {advice}")
    extra = [str(name) for name in table.frame.columns if name not in wanted]
    notes = [f"not needed: {', '.join(extra)}"] if extra else []
    inputs = cleaned(table.frame, names["numbers"], names["categories"])
    notes += _strange(model, table.frame, inputs, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # unseen categories are told above, by name
        if not hasattr(model[-1], "predict"):
            scores = model.transform(inputs)
            components = [f"component {i + 1}" for i in range(scores.shape[1])]
            return pd.DataFrame(scores, inputs.index, components), notes
        if hasattr(model[-1], "classes_"):
            return pd.DataFrame({"prediction": model.predict(inputs)}, index=inputs.index), notes
        predicted, low, high = predictions(model, inputs)
    found = {"prediction": predicted, "low": low, "high": high}
    return pd.DataFrame(found, index=inputs.index), notes


def _loaded(path: str | Path) -> Pipeline:
    try:
        model = io.load(path)
    except OSError as error:
        raise TableError(f"{path} cannot be read: {error.strerror}") from error
    except io.ModelFileError as error:
        raise TableError(str(error)) from error
    if not (isinstance(model, Pipeline) and "inputs" in model.named_steps):
        raise TableError(f"{path} contains a model for arrays: load it with kmpe.io.load in Python")
    return model


def _columns(model: Pipeline) -> dict[str, list[str]]:
    """Return the names of the columns that a model was fitted to, by kind."""
    found: dict[str, list[str]] = {"numbers": [], "categories": []}
    for name, _, columns in model.named_steps["inputs"].transformers:
        found[name] = [str(column) for column in columns]
    return found


def _strange(
    model: Pipeline, frame: pd.DataFrame, inputs: pd.DataFrame, names: dict[str, list[str]]
) -> list[str]:
    """Return a sentence on each column with cells that no row of the fit had."""
    notes = []
    for name in names["numbers"]:
        gaps = int(inputs[name].isna().sum())
        words = int((inputs[name].isna() & ~frame[name].isna()).sum())
        if words:
            notes.append(f"{name}: {words} cells are not numbers and were replaced by the median")
        elif gaps:
            notes.append(f"{name}: {gaps} cells are empty and were replaced by the median")
    if names["categories"]:
        encoder = model.named_steps["inputs"].named_transformers_["categories"]
        for name, known in zip(names["categories"], encoder.categories_, strict=True):
            unseen = [w for w in inputs[name].unique() if w not in set(known)]
            if unseen:
                rare = encoder.infrequent_categories_[names["categories"].index(name)]
                like = "a rare one" if rare is not None else "the commonest one"
                some = ", ".join(map(repr, unseen[:3])) + ", ..." * (len(unseen) > 3)
                notes.append(f"{name}: unknown category: {some}; predicted as {like}")
    return notes
