"""The two data sets whose source is a spreadsheet: Concrete and User Knowledge Modeling."""

from typing import Any

from kmpe.datasets.catalogue import Facts
from kmpe.datasets.tables import (
    Columns,
    DatasetError,
    DatasetNotFoundError,
    check_content,
    to_columns,
)

__all__ = ["read_spreadsheet"]


def read_spreadsheet(content: bytes, facts: Facts, where: str) -> Columns:
    """Read the original .xls file of a data set."""
    try:
        import xlrd
    except ImportError as error:
        raise DatasetNotFoundError(
            f"{where} holds {facts.title} as a spreadsheet: pip install 'kmpe[paper]' to read it"
        ) from error
    try:
        rows = _rows(xlrd.open_workbook(file_contents=content), facts)
    except Exception as error:  # whatever a damaged file makes xlrd raise
        raise DatasetError(f"{where} holds no spreadsheet of {facts.title} ({error})") from error
    return check_content(to_columns(rows, facts, where), facts, where)


def _rows(book: Any, facts: Facts) -> list[list[Any]]:
    if facts.name == "concrete":
        sheet = book.sheet_by_index(0)
        return [sheet.row_values(i) for i in range(1, sheet.nrows)]
    rows: list[list[Any]] = []
    width = len(facts.columns) - 1
    for split, name in (("train", "Training_Data"), ("test", "Test_Data")):
        sheet = book.sheet_by_name(name)
        for i in range(1, sheet.nrows):
            *inputs, label = sheet.row_values(i)[:width]
            # The two sheets write the same label as "very_low" and "Very Low".
            rows.append([split, *inputs, str(label).strip().lower().replace(" ", "_")])
    return rows
