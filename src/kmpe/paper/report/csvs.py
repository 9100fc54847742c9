"""Every table as a CSV file with one line for each cell."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["csv_files"]

# What the levels of a table's dictionary are.
_LEVELS = {
    "table1": ("noise", "method"),
    "table2": ("noise", "method"),
    "table3": ("data", "source"),
    "table4": ("data", "source"),
    "table5": ("data", "method"),
    "table6": ("data", "method"),
    "table7": ("data", "method", "part"),
    "table8": ("data", "method", "part"),
    "table9": ("m", "method"),
    "table10": ("m", "measure", "method"),
    "fig3": ("outliers", "images", "method", "m"),
    "fig4": ("outliers", "images", "method", "m"),
}


def csv_files(tables: Mapping[str, Any]) -> dict[str, str]:
    """Return the text of each file by its name."""
    return {f"{name}.csv": _csv(table, _LEVELS[name]) for name, table in tables.items() if table}


def _csv(table: Mapping[str, Any], levels: tuple[str, ...]) -> str:
    cells = list(_cells(table, len(levels)))
    fields = list(dict.fromkeys(field for _, cell in cells for field in cell))
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow([*levels, *fields])
    for path, cell in cells:
        lines.writerow([*path, *(cell.get(field, "") for field in fields)])
    return text.getvalue()


def _cells(table: Mapping[str, Any], depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, below in table.items():
        if depth == 1:
            yield (key,), below
        else:
            for path, cell in _cells(below, depth - 1):
                yield (key, *path), cell
