"""Tables and images as they are read, and the checks that they must pass."""

import csv
import hashlib
import io
import re
import zipfile
import zlib
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
    "content_sha256",
    "read_csv",
    "read_images",
    "read_raw",
    "to_columns",
]

Columns = dict[str, npt.NDArray[Any]]


class DatasetError(ValueError):
    """A data set is there but is not what it should be."""


class DatasetNotFoundError(DatasetError):
    """A data set is nowhere to be found."""


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
    _check_file(content, path, facts)
    return columns


def read_images(path: Path, facts: Facts) -> Columns:
    """Read images and labels from an .npz file, or from the .mat file of the Yale faces."""
    content = path.read_bytes()
    try:
        columns = (_matlab if path.suffix == ".mat" else _arrays)(content, facts)
    except KeyError as error:
        raise DatasetError(
            f"{path} has no array {error.args[0]!r}: get a fresh copy of {facts.file}"
        ) from error
    except (ValueError, EOFError, OSError, zipfile.BadZipFile, zlib.error) as error:
        raise DatasetError(
            f"{path} is damaged ({_first_line(error)}): get a fresh copy of {facts.file}"
        ) from error
    if columns["images"].shape != (facts.rows, *facts.shape):
        raise DatasetError(
            f"{path} holds images of shape {columns['images'].shape} where "
            f"{(facts.rows, *facts.shape)} is expected: get a fresh copy of {facts.file}"
        )
    if path.suffix == ".npz":
        _check_file(content, path, facts)
    return check_content(columns, facts, str(path))


def _arrays(content: bytes, _: Facts) -> Columns:
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        missing = [name for name in ("images", "labels") if name not in archive.files]
        if missing:
            raise KeyError(missing[0])
        return {name: archive[name] for name in ("images", "labels")}


def _matlab(content: bytes, facts: Facts) -> Columns:
    from scipy.io import loadmat

    archive = loadmat(io.BytesIO(content))  # type: ignore[arg-type]  # files are fine too
    # Each row of the .mat file is an image stored column by column.
    images = archive["fea"].reshape(-1, *facts.shape[::-1]).transpose(0, 2, 1)
    return {"images": images.astype(np.uint8), "labels": archive["gnd"].ravel() - 1}


def read_raw(contents: Iterable[bytes], raw: Raw, facts: Facts, where: str) -> Columns:
    """Read the original files: lines of fields set apart by commas, semicolons or blanks."""
    rows: list[list[Any]] = []
    for content in contents:
        lines = content.decode("utf-8", errors="replace").splitlines()[raw.header :]
        rows += [re.split(r"[,;\s]+", line.strip()) for line in lines if line.strip()]
    if raw.fields:
        rows = [[row[i] for i in raw.fields] for row in rows]
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
                f"{where}, column {name!r}: {_first_line(error)}; get a fresh copy of {facts.file}"
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


def _check_file(content: bytes, path: Path, facts: Facts) -> None:
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
        raise DatasetError(f"{path} is no CSV file ({_first_line(error)})") from error
    if not lines:
        raise DatasetError(f"{path} is empty: get a fresh copy")
    return lines


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
