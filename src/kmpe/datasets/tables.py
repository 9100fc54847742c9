"""Tables as they are read, and the checks that every data set must pass."""

import csv
import hashlib
import io
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from kmpe.datasets.catalogue import Facts, Raw

__all__ = [
    "Columns",
    "DatasetError",
    "DatasetNotFoundError",
    "check_content",
    "check_file",
    "content_sha256",
    "first_line",
    "read_csv",
    "read_raw",
    "to_columns",
]

Columns = dict[str, npt.NDArray[Any]]


class DatasetError(ValueError):
    """A data set was found but is not the expected one.

    See Also
    --------
    load : Raises it.
    DatasetNotFoundError : No copy was found.

    Examples
    --------
    >>> from kmpe.datasets import DatasetError, DatasetNotFoundError
    >>> issubclass(DatasetNotFoundError, DatasetError)
    True
    """


class DatasetNotFoundError(DatasetError):
    """A data set was not found.

    See Also
    --------
    load : Raises it.
    DatasetError : A copy was found but is not the expected one.

    Examples
    --------
    >>> import tempfile
    >>> from kmpe.datasets import DatasetNotFoundError, load
    >>> with tempfile.TemporaryDirectory() as empty:
    ...     try:
    ...         load("yale", data_dir=empty, download=False)
    ...     except DatasetNotFoundError as error:
    ...         print(str(error)[:10])
    Yale faces
    """


def read_csv(path: Path, facts: Facts) -> Columns:
    """Read a file of the data folder; it must be the one whose checksum is known."""
    content = path.read_bytes()
    header, *rows = _lines(content, path)
    missing = [column for column in facts.columns if column not in header]
    if missing:
        raise DatasetError(f"{path} has no column {missing[0]!r}: get a fresh copy of {facts.file}")
    order = [header.index(column) for column in facts.columns]
    if any(len(row) != len(header) for row in rows) or len(rows) != facts.rows:
        whole = sum(len(row) == len(header) for row in rows)
        raise DatasetError(
            f"{path} has {whole} whole rows where {facts.rows} are expected: "
            f"get a fresh copy of {facts.file}"
        )
    columns = to_columns([[row[i] for i in order] for row in rows], facts, str(path))
    check_file(content, path, facts)
    return columns


def read_raw(contents: Iterable[bytes], raw: Raw, facts: Facts, where: str) -> Columns:
    """Read the original files: lines of fields set apart by commas, semicolons or blanks."""
    rows: list[list[Any]] = []
    for content in contents:
        lines = content.decode("utf-8", errors="replace").splitlines()[raw.header :]
        rows += [re.split(r"[,;\s]+", line.strip()) for line in lines if line.strip()]
    if raw.fields:
        rows = [[row[i] for i in raw.fields if i < len(row)] for row in rows]
    for row in rows:
        row[-1] = raw.labels.get(row[-1], row[-1])
    return check_content(to_columns(rows, facts, where), facts, where)


def to_columns(rows: Sequence[Sequence[Any]], facts: Facts, where: str) -> Columns:
    """Return the columns of rows of cells, words as words and the rest as numbers."""
    if len(rows) != facts.rows or any(len(row) != len(facts.columns) for row in rows):
        raise DatasetError(f"{where} does not hold the {facts.rows} rows of {facts.title}")
    columns: Columns = {}
    for name, cells in zip(facts.columns, zip(*rows, strict=True), strict=True):
        if facts.is_text(name):
            columns[name] = np.array([str(cell).strip() for cell in cells])
            continue
        try:
            columns[name] = np.array([float(cell) for cell in cells])
        except ValueError as error:
            raise DatasetError(
                f"{where}, column {name!r}: {first_line(error)}; get a fresh copy of {facts.file}"
            ) from error
    return columns


def content_sha256(columns: Columns) -> str:
    """Return the checksum of values, whatever the format that they were read from."""
    digest = hashlib.sha256()
    for name, values in columns.items():
        digest.update(f"{name} {values.shape}\n".encode())
        if values.dtype.kind == "U":
            digest.update("\n".join(values.tolist()).encode())
        else:
            digest.update(np.ascontiguousarray(values, dtype="<f8").tobytes())
    return digest.hexdigest()


def check_content(columns: Columns, facts: Facts, where: str) -> Columns:
    """Return the columns, or refuse them because a value is not the known one."""
    found = content_sha256(columns)
    if found != facts.content:
        raise DatasetError(
            f"{where} is not the known copy of {facts.title}: its values have the checksum "
            f"{found[:12]}..., not {facts.content[:12]}...; put {facts.file} into --data-dir"
        )
    return columns


def check_file(content: bytes, path: Path, facts: Facts) -> None:
    """Refuse a file of the data folder that is not the known one."""
    found = hashlib.sha256(content).hexdigest()
    if found != facts.sha256:
        raise DatasetError(
            f"{path} has the SHA-256 {found[:12]}..., not {facts.sha256[:12]}...: "
            f"get a fresh copy of {facts.file}"
        )


def _lines(content: bytes, path: Path) -> list[list[str]]:
    try:
        lines = [row for row in csv.reader(io.StringIO(content.decode("utf-8"))) if row]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(f"{path} is no CSV file ({first_line(error)})") from error
    if not lines:
        raise DatasetError(f"{path} is empty: get a fresh copy")
    return lines


def first_line(error: BaseException) -> str:
    """Return what an error says, short enough for a sentence."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
