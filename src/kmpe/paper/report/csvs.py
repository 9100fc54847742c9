"""A table as CSV, one line for each cell."""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

__all__ = ["csv_text"]


def csv_text(table: Mapping[str, Any], levels: Sequence[str]) -> str:
    """Return a table as CSV, ``levels`` naming the keys of its dictionary from the outside in."""
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
