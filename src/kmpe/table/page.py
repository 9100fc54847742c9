"""The report: one page that needs no network."""

import importlib.metadata
import math
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

import pandas as pd
from jinja2 import Environment

import kmpe
from kmpe.plots.pages import style
from kmpe.table.columns import Column
from kmpe.table.pictures import Picture
from kmpe.table.written import written

__all__ = ["Cells", "Section", "column_section", "number", "render", "worst_section"]


@dataclass(frozen=True)
class Cells:
    """A table of a page.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences of str
        Cells, the first of each the name of the row.
    words : frozenset of int
        Numbers, from 1 after the first, of the columns that hold sentences.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Section:
    """A part of a page under its heading."""

    id: str
    title: str
    text: Sequence[str] = ()
    table: Cells | None = None
    pictures: Sequence[Picture] = field(default_factory=list)
    code: str = ""


def render(
    title: str,
    verdict: str,
    facts: Sequence[tuple[str, str]],
    notes: Sequence[str],
    sections: Sequence[Section],
) -> str:
    """Return the page."""
    packages = ("numpy", "scipy", "scikit-learn", "pandas")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    text = resources.files(__package__).joinpath("page.html").read_text("utf-8")
    template = Environment(autoescape=True, trim_blocks=True).from_string(text)
    return template.render(
        title=title,
        verdict=verdict,
        facts=facts,
        notes=notes,
        sections=sections,
        style=style(),
        footer=f"kmpe {kmpe.__version__}, Python {platform.python_version()}, {versions}.",
    )


def column_section(columns: Sequence[Column]) -> Section:
    """Return what the columns are, and what was done to them."""
    rows = [[c.name, c.kind, f"{c.missing:,}", c.values, c.done] for c in columns]
    head = ["Column", "Kind", "Missing", "Values", "What was done"]
    return Section("columns", "Columns", table=Cells(head, rows, frozenset({1, 3, 4})))


def worst_section(worst: pd.DataFrame) -> Section:
    """Return the worst rows with their values, and why each is one."""
    if worst.empty:
        return Section("worst", "Outliers", ["There are none."])
    words = frozenset(i + 1 for i, name in enumerate(worst.columns) if not _is_number(worst[name]))
    rows = [
        [str(row), *(number(cell) for cell in values)]
        for row, values in zip(worst.index, worst.to_numpy(dtype=object), strict=True)
    ]
    return Section(
        "worst",
        f"The {len(rows)} worst rows" if len(rows) > 1 else "The outlier",
        ["Row 1 is the first one below the names of the columns."],
        Cells(["Row", *(str(name) for name in worst.columns)], rows, words),
    )


def number(value: Any) -> str:
    """Return a cell as a reader would write it."""
    if isinstance(value, str):
        return value if len(value) <= 200 else value[:199] + "…"
    if value is None or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return written(value)
    if isinstance(value, pd.Timestamp):
        return str(value).removesuffix(" 00:00:00")
    return str(value)


def _is_number(values: pd.Series) -> bool:
    return pd.api.types.is_numeric_dtype(values)
