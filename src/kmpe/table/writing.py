"""The files of a fit: the report, the model and the results for each row."""

from pathlib import Path

import pandas as pd

from kmpe import io
from kmpe.io.output import write
from kmpe.table.fitting import Fitted
from kmpe.table.page import Cells, Section, column_section, number, render, worst_section
from kmpe.table.pictures import fit_pictures
from kmpe.table.rows import COVERAGE, outlier_table, worst_rows
from kmpe.table.verdict import coefficient_rows, verdict
from kmpe.table.written import written

__all__ = ["write_csv", "write_fit"]

_WORDS = {
    "linear": "robust linear regression",
    "machine": "extreme learning machine",
    "Ridge": "Ridge, least squares with a penalty",
}


def write_fit(fitted: Fitted, out: str | Path) -> str:
    """Write ``report.html``, ``model.skops`` and ``rows.csv`` to a folder; return the verdict.

    Parameters
    ----------
    fitted : Fitted
        What `fit` returns.
    out : path
        The folder; it is made if it is not there.

    Returns
    -------
    str
        The verdict: what the fit says of the table, in a few sentences.

    See Also
    --------
    fit : Makes what is written.
    predict : Reads the model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from kmpe.table import fit, write_fit
    >>> fitted = fit("tests/reference/stackloss.csv", "stack.loss", model="linear")
    >>> with tempfile.TemporaryDirectory() as out:
    ...     said = write_fit(fitted, out)
    ...     names = sorted(file.name for file in Path(out).iterdir())
    >>> names
    ['model.skops', 'report.html', 'rows.csv']
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    table = outlier_table(fitted)
    said = verdict(fitted)
    sections = [
        *_coefficients(fitted),
        Section("pictures", "Plots", pictures=list(fit_pictures(fitted))),
        worst_section(worst_rows(fitted, table)),
        *_comparison(fitted),
        column_section(fitted.columns),
        _again(fitted, out),
    ]
    page = render(
        f"{fitted.target}, from {Path(fitted.table.name).name}",
        said,
        _facts(fitted),
        [*fitted.table.notes, *fitted.cautions],
        sections,
    )
    io.save(fitted.model, out / "model.skops")
    write_csv(table, out / "rows.csv")
    write(out / "report.html", page)
    return said


def write_csv(table: pd.DataFrame, path: str | Path) -> None:
    r"""Write a table quickly, and numbers with all their digits.

    Parameters
    ----------
    table : DataFrame
        The table; its index is the first column.
    path : path
        The file.

    See Also
    --------
    write_fit : Writes the rows of a fit this way.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import pandas as pd
    >>> from kmpe.table import write_csv
    >>> with tempfile.TemporaryDirectory() as out:
    ...     write_csv(pd.DataFrame({"x": [0.1]}), Path(out) / "rows.csv")
    ...     (Path(out) / "rows.csv").read_text()
    '"index","x"\n0,0.1\n'
    """
    import pyarrow as pa
    import pyarrow.csv as arrow

    arrow.write_csv(pa.Table.from_pandas(table.reset_index(), preserve_index=False), path)


def _facts(fitted: Fitted) -> list[tuple[str, str]]:
    estimator = fitted.model[-1]
    facts = [
        ("Rows", f"{len(fitted.y):,} of {len(fitted.inputs):,}"),
        ("Inputs", f"{sum(c.is_input for c in fitted.columns)}, as {len(fitted.names)} columns"),
        ("Model", _WORDS[fitted.chosen]),
        ("Loss", str(estimator.loss_)),
    ]
    if getattr(estimator, "noise_", None) is not None:
        facts.append(("Noise", str(estimator.noise_)))
    if fitted.task == "regression":
        facts.append(("Scale of the errors", written(estimator.scale_)))
    if hasattr(estimator, "robust_r2_"):
        facts.append(("R² without outliers", f"{estimator.robust_r2_:.4f}"))
    return facts


def _coefficients(fitted: Fitted) -> list[Section]:
    found = coefficient_rows(fitted)
    if not found:
        return []
    rows = [
        [row["name"], *(cell for part in ("robust", "plain") for cell in _interval(*row[part]))]
        for row in found
    ]
    text = ["The change of the prediction if an input increases by 1, with 95% intervals."]
    if fitted.chosen != "linear":
        text.append("The chosen model is the machine; these belong to the linear model.")
    head = ["Input", "Robust", "95% interval", "Least squares", "95% interval"]
    return [Section("coefficients", "Coefficients", text, Cells(head, rows))]


def _interval(value: float, low: float, high: float) -> tuple[str, str]:
    if not low <= high:
        return number(float(value)), "unknown"
    return number(float(value)), f"{written(low)} to {written(high)}"


def _comparison(fitted: Fitted) -> list[Section]:
    if not fitted.scores:
        return []
    if fitted.task == "regression":
        head = ["Model", "Median error", "Mean error without the largest tenth"]
        rows = [
            [_WORDS.get(s.name, s.name), written(s.median), written(s.trimmed)]
            for s in fitted.scores
        ]
    else:
        head = ["Model", "Wrong"]
        rows = [[_WORDS.get(s.name, s.name), f"{s.mean:.1%}"] for s in fitted.scores]
    text = [
        "Errors on left-out rows, by five-fold cross-validation"
        + (" of 5,000 rows." if len(fitted.y) > 5000 else ".")
    ]
    return [Section("errors", "Prediction errors", text, Cells(head, rows))]


def _again(fitted: Fitted, out: Path) -> Section:
    lines = [
        "from kmpe import io",
        "from kmpe.table import fit",
        "",
        f"fitted = {fitted.call}",
        f"model = io.load({str(out / 'model.skops')!r})  # the same, from the file",
    ]
    if fitted.chosen == "linear":
        lines.append("print(fitted.model[-1].summary())")
    text = [
        f"rows.csv contains prediction, {COVERAGE:.0%} interval, outlier score and "
        "reason for every row."
        if fitted.task == "regression"
        else "rows.csv contains prediction, outlier score and reason for every row."
    ]
    return Section("again", "The same in Python", text, code="\n".join(lines))
