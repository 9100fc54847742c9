"""Robust principal components of a table, with a report."""

import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import RobustScaler

from kmpe import RobustPCA, io
from kmpe.io.output import write
from kmpe.io.progress import Progress
from kmpe.table.columns import Column, cleaned, describe, display_names, preparation
from kmpe.table.errors import TableError, nearest
from kmpe.table.page import Cells, Section, column_section, render, worst_section
from kmpe.table.pictures import pca_pictures
from kmpe.table.reading import read_table
from kmpe.table.verdict import share
from kmpe.table.writing import write_csv

__all__ = ["pca"]


def pca(
    source: str | Path,
    out: str | Path,
    *,
    components: int | None = None,
    drop: Sequence[str] = (),
    seed: int = 0,
    quiet: bool = True,
) -> str:
    """Fit `RobustPCA` to the columns of numbers, and write report, model and rows to a folder.

    Columns are brought to the same scale by their quartiles.

    Parameters
    ----------
    source : path or "-"
        A CSV, Parquet or Excel file; "-" is standard input.
    out : path
        The folder.
    components : int, optional
        The number of components; by default as many as explain 80% of the variance.
    drop : sequence of str
        Columns to leave out.
    seed : int, default=0
        Seed of the start.
    quiet : bool, default=True
        Whether to show no progress.

    Returns
    -------
    str
        The verdict.

    See Also
    --------
    fit : For tables with a target.
    kmpe.RobustPCA : The estimator.

    Examples
    --------
    >>> import tempfile
    >>> from kmpe.table import pca
    >>> with tempfile.TemporaryDirectory() as out:
    ...     verdict = pca("tests/reference/hbk.csv", out, components=2)
    >>> print(verdict.split(". ")[0])
    14 of 75 rows (18.7%) do not fit the others
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    with Progress("fitting", 4, quiet=quiet) as progress:
        table = read_table(source)
        progress.advance(1)
        for name in drop:
            if name not in table.frame.columns:
                known = [str(column) for column in table.frame.columns]
                raise TableError(f"{table.name} has no column {name!r}: {nearest(name, known)}")
        columns = [_of_numbers(c) for c in describe(table.frame.drop(columns=list(drop)))]
        numbers = [c.name for c in columns if c.kind in ("number", "date")]
        if len(numbers) < 2:
            raise TableError(f"{table.name} has {len(numbers)} columns of numbers: PCA needs two")
        if components is not None and components > min(len(numbers), len(table.frame)):
            most = min(len(numbers), len(table.frame))
            raise TableError(f"{components} components are too many: the table has {most} at most")
        if len(table.frame) < 3:
            raise TableError(f"{len(table.frame)} rows are too few: PCA needs three")
        inputs = cleaned(table.frame, numbers, [])
        # 80% of the variance where no number of components is given.
        estimator = RobustPCA(components or 0.8, random_state=seed)
        model = Pipeline(
            [
                (
                    "inputs",
                    preparation(inputs, numbers, []).set_params(numbers__add_indicator=False),
                ),
                ("scale", RobustScaler()),
                ("estimator", estimator),
            ]
        )
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                scores = model.fit_transform(inputs)
            except ValueError as error:
                raise TableError(f"RobustPCA cannot be fitted: {error}") from error
        progress.advance(2)
        outliers = estimator.outliers_
        rows = _rows(model, inputs, scores)
        held = float(estimator.explained_variance_ratio_.sum())
        n, k = len(outliers), int(outliers.sum())
        verdict = (
            f"{share(k, n)} not fit the others. "
            f"{estimator.n_components_} components hold {held:.0%} of the variance of the rest."
        )
        scaled = pd.DataFrame(model[:-1].transform(inputs), index=inputs.index)
        sections = [
            Section("pictures", "Plots", pictures=list(pca_pictures(estimator, scaled, scores))),
            _loadings(model),
            worst_section(_worst(rows, table.frame)),
            column_section(columns),
            _again(source, components, drop, seed, out),
        ]
        notes = [*table.notes, *dict.fromkeys(str(warning.message) for warning in told)]
        page = render(f"Components of {Path(table.name).name}", verdict, [], notes, sections)
        io.save(model, out / "model.skops")
        write_csv(rows, out / "rows.csv")
        write(out / "report.html", page)
        progress.advance(1)
    return verdict


def _of_numbers(column: Column) -> Column:
    """Return how a PCA uses a column: numbers only, and missing values are not marked."""
    if column.kind == "category":
        return replace(column, kind="left out", done="words")
    return replace(column, done=column.done.replace("the median, and are marked", "the median"))


def _rows(model: Pipeline, inputs: pd.DataFrame, scores: np.ndarray) -> pd.DataFrame:
    estimator = model[-1]
    rows = pd.DataFrame(
        scores, inputs.index, [f"component {i + 1}" for i in range(scores.shape[1])]
    )
    rows["distance"] = estimator.reconstruction_errors(model[:-1].transform(inputs))
    rows["outlier"] = estimator.outliers_
    return rows


def _worst(rows: pd.DataFrame, frame: pd.DataFrame, count: int = 20) -> pd.DataFrame:
    outliers = rows[rows["outlier"]].sort_values("distance", ascending=False, kind="stable")
    worst = outliers.head(count)[["distance"]]
    return pd.concat([worst, frame.loc[worst.index]], axis=1)


def _loadings(model: Pipeline) -> Section:
    estimator = model[-1]
    names = display_names(model.named_steps["inputs"], [])
    head = ["Column", *(f"Component {i + 1}" for i in range(estimator.n_components_))]
    rows = [
        [name, *(f"{value:.3f}" for value in column)]
        for name, column in zip(names, estimator.components_.T, strict=True)
    ]
    text = ["The weight of each (scaled) column in each component."]
    return Section("loadings", "Components", text, Cells(head, rows))


def _again(
    source: str | Path, components: int | None, drop: Sequence[str], seed: int, out: Path
) -> Section:
    options = [repr(str(source)), f"Path({str(out)!r})"]
    options += [f"components={components}"] * (components is not None)
    options += [f"drop={list(drop)!r}"] * bool(drop)
    options += [f"seed={seed}"] * bool(seed)
    lines = [
        "from pathlib import Path",
        "",
        "from kmpe import io",
        "from kmpe.table import pca",
        "",
        f"pca({', '.join(options)})",
        f"model = io.load({str(out / 'model.skops')!r})",
    ]
    text = ["rows.csv contains scores, distance and outlier flag of every row."]
    return Section("again", "The same in Python", text, code="\n".join(lines))
