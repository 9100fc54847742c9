"""Tables from CSV, Parquet and Excel files, recognised by their content.

A file that cannot be read whole is refused: a table that lost a row or a column without a word
would be fitted all the same.
"""

import csv
import io
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from kmpe.table.errors import TableError

__all__ = ["Table", "read_table"]

# What cells say that hold nothing, beside what Arrow takes for nothing: n/a, NaN, null, ...
_NOTHING = ("?", ".", "-", "None", "none", "NONE", "missing", "#N/A", "#NULL!", "#DIV/0!")
_DELIMITERS = (",", ";", "\t", "|")
# A cell must lie within a block. Larger ones are texts, not measurements.
_BLOCK = 1 << 24


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Parameters
    ----------
    frame : DataFrame
        Its rows; the index counts them from 1.
    name : str
        Where it came from.
    notes : tuple of str
        What had to be decided on the way.

    See Also
    --------
    read_table : Returns one.

    Examples
    --------
    >>> from kmpe.table import read_table
    >>> table = read_table("tests/reference/phones.csv")
    >>> table.frame.columns.to_list(), table.notes
    (['year', 'calls'], ())
    """

    frame: pd.DataFrame
    name: str
    notes: tuple[str, ...] = ()


def read_table(source: str | Path) -> Table:
    """Read a table.

    Parameters
    ----------
    source : path or "-"
        A CSV, Parquet or Excel (.xlsx) file; "-" is standard input.

    Returns
    -------
    Table

    Raises
    ------
    TableError
        When it cannot be read; the message names the line where one is to blame.

    See Also
    --------
    fit : Reads and fits.

    Examples
    --------
    >>> from kmpe.table import read_table
    >>> read_table("tests/reference/phones.csv").frame.shape
    (24, 2)
    """
    name = "standard input" if str(source) == "-" else str(source)
    try:
        content = sys.stdin.buffer.read() if str(source) == "-" else Path(source).read_bytes()
    except OSError as error:
        raise TableError(f"{name} cannot be read: {error.strerror}") from error
    if not content.strip():
        raise TableError(f"{name} is empty")
    notes: list[str] = []
    if content[:4] == b"PAR1":
        frame = _parquet(content, name)
    elif content[:4] == b"PK\x03\x04":
        frame = _excel(content, name, notes)
    elif content[:8] == b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1":
        raise TableError(f"{name} is an old Excel file: save it as .xlsx or CSV")
    else:
        frame = _csv(_utf8(content, name, notes), name, notes)
    frame.columns = pd.Index(_names([str(c) for c in frame.columns], name))
    if frame.empty:
        raise TableError(f"{name} has a first line with names, and no rows")
    frame.index = pd.RangeIndex(1, len(frame) + 1, name="row")
    return Table(frame, name, tuple(notes))


def _names(names: Sequence[str], where: str) -> list[str]:
    named = [name.strip() or f"column {i + 1}" for i, name in enumerate(names)]
    twice = sorted({name for name in named if named.count(name) > 1})
    if twice:
        raise TableError(f"{where} has the column {twice[0]!r} more than once: rename one of them")
    return named


def _parquet(content: bytes, name: str) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        frame: pd.DataFrame = pq.read_table(pa.BufferReader(content)).to_pandas()
        return frame.reset_index(drop=True)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise TableError(f"{name} is a damaged Parquet file ({_first_line(error)})") from error


def _excel(content: bytes, name: str, notes: list[str]) -> pd.DataFrame:
    try:
        book = pd.ExcelFile(io.BytesIO(content), engine="calamine")
        sheet = book.sheet_names[0]
        if len(book.sheet_names) > 1:
            notes.append(f"Of {len(book.sheet_names)} sheets the first was read, {sheet!r}.")
        head = pd.read_excel(book, sheet_name=0, header=None, nrows=1)
        if head.empty:
            raise TableError(f"the sheet {sheet!r} of {name} is empty")
        frame = pd.read_excel(book, sheet_name=0, na_values=list(_NOTHING))
    except TableError:
        raise
    except Exception as error:  # whatever a damaged file makes the reader raise
        raise TableError(f"{name} is no Excel file ({_first_line(error)})") from error
    # pandas gives a name that is there twice another ending; the first line tells.
    frame.columns = pd.Index(["" if pd.isna(cell) else str(cell) for cell in head.iloc[0]])
    return frame


# -- CSV ---------------------------------------------------------------------------------------


def _utf8(content: bytes, name: str, notes: list[str]) -> bytes:
    """Return a text file as UTF-8 without a byte order mark."""
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            return content.decode("utf-16").encode()
        except UnicodeDecodeError as error:
            raise TableError(
                f"{name} is damaged: it begins as UTF-16 but cannot be decoded"
            ) from error
    head = content[: 1 << 16]
    controls = sum(byte < 9 or 13 < byte < 32 for byte in head)
    if b"\0" in content or controls > len(head) / 100:
        raise TableError(f"{name} is a binary file, but neither Parquet nor .xlsx: save it as CSV")
    content = content.removeprefix(b"\xef\xbb\xbf")
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        notes.append("The file is not UTF-8; it was read as Windows-1252 (Western European).")
        return content.decode("cp1252", errors="replace").encode()
    return content


def _csv(content: bytes, name: str, notes: list[str]) -> pd.DataFrame:
    import pyarrow as pa
    import pyarrow.csv as arrow

    delimiter = _delimiter(content, name)
    if delimiter != ",":
        notes.append(f"Cells are separated by {'tabs' if delimiter == chr(9) else delimiter!r}.")
    names = _header(content, delimiter, name)
    types: dict[str, Any] = {}
    while True:
        try:
            found = arrow.read_csv(
                pa.BufferReader(content),
                arrow.ReadOptions(column_names=names, skip_rows_after_names=1, block_size=_BLOCK),
                arrow.ParseOptions(delimiter=delimiter, newlines_in_values=b'"' in content),
                arrow.ConvertOptions(
                    null_values=[*arrow.ConvertOptions().null_values, *_NOTHING],
                    strings_can_be_null=True,
                    column_types=types,
                ),
            )
            frame: pd.DataFrame = found.to_pandas(date_as_object=False)
            return frame
        except pa.ArrowInvalid as error:
            column = re.search(r"column #(\d+)|column '(.*)'", str(error))
            if "conversion error" not in str(error) or column is None:
                raise TableError(_complaint(content, delimiter, name, error)) from error
            # Later rows hold what the first ones did not: whole numbers, then any, then words.
            place = column.group(2) if column.group(2) is not None else names[int(column.group(1))]
            before = types.get(place)
            types[place] = pa.float64() if before is None else pa.string()
            if before == pa.string():
                raise TableError(f"{name} cannot be read: {_first_line(error)}") from error


def _delimiter(content: bytes, name: str) -> str:
    """Return the delimiter by which the most of the first lines have the same number of cells."""
    lines = content[: 1 << 20].decode("utf-8", errors="ignore").splitlines()[:100]
    best, most = ",", (0.0, 1)
    for delimiter in _DELIMITERS:
        try:
            counts = [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
        except csv.Error as error:
            raise TableError(
                f"{name} has a cell of more than {csv.field_size_limit()} characters, or a "
                f"quotation mark that is not closed ({error})"
            ) from error
        width = max(set(counts), key=lambda count: (counts.count(count), count))
        share = counts.count(width) / len(counts) if width > 1 else 0.0
        if (share, width) > most:
            best, most = delimiter, (share, width)
    if most[0] == 0.0:
        raise TableError(
            f"{name} has only one column: cells must be separated by a comma, semicolon, tab or |"
        )
    return best


def _header(content: bytes, delimiter: str, name: str) -> list[str]:
    text = io.StringIO(content[: 1 << 20].decode("utf-8", errors="ignore"), newline="")
    header = next(row for row in csv.reader(text, delimiter=delimiter) if row)
    if all(_is_number(cell) for cell in header):
        raise TableError(
            f"{name} has no names: its first line contains numbers; add a line with names"
        )
    return _names(header, name)


def _complaint(content: bytes, delimiter: str, name: str, error: Exception) -> str:
    """Return what is wrong with a file that cannot be split into cells, with the line."""
    text = io.StringIO(content.decode("utf-8"), newline="")
    reader = csv.reader(text, delimiter=delimiter)
    width = 0
    try:
        for row in reader:
            width = width or len(row)
            if row and len(row) != width:
                cells = "cell" if len(row) == 1 else "cells"
                return (
                    f"{name}, line {reader.line_num}: {len(row)} {cells} where the first line "
                    f"has {width}"
                )
    except csv.Error as problem:
        return f"{name}, line {reader.line_num}: {problem}"
    return f"{name} cannot be read: {_first_line(error)}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
