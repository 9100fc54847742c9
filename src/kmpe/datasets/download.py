"""Downloads: archives of the UCI repository, and OpenML through scikit-learn; and their cache."""

import io
import os
import socket
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from kmpe.datasets.catalogue import Facts
from kmpe.datasets.tables import (
    Columns,
    DatasetNotFoundError,
    check_content,
    read_raw,
    to_columns,
)

__all__ = ["cache_file", "fetch"]

_UCI = "https://archive.ics.uci.edu/static/public/"
_SECONDS = 20.0


def cache_file(facts: Facts) -> Path:
    """Return where a downloaded set is kept: ``KMPE_CACHE``, or the user's cache folder."""
    home = os.environ.get("KMPE_CACHE")
    if not home:
        home = str(Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "kmpe"))
    return Path(home, f"{facts.name}.npz")


def fetch(facts: Facts) -> tuple[Columns, str] | None:
    """Download a set, check it and keep it; None if nobody offers it."""
    if not (facts.uci or facts.openml):
        return None
    try:
        with _patience(_SECONDS):
            columns = _from_uci(facts) if facts.uci else _from_openml(facts)
    except (OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        reason = getattr(error, "reason", None) or error
        raise DatasetNotFoundError(
            f"{facts.title} could not be downloaded ({reason}): {facts.advice}"
        ) from error
    _keep(columns, cache_file(facts))
    return columns, f"UCI, {facts.uci}" if facts.uci else f"OpenML, data set {facts.openml}"


def _from_uci(facts: Facts) -> Columns:
    url = _UCI + facts.uci
    with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # https, host fixed above
        archive = zipfile.ZipFile(io.BytesIO(answer.read()))
    raw = facts.raw
    if raw is None:
        raise DatasetNotFoundError(f"the format of {url} is not known: {facts.advice}")
    members = {Path(member).name: member for member in archive.namelist()}
    if raw.files[0].endswith(".xls"):
        from kmpe.datasets.spreadsheet import read_spreadsheet

        sheet = next((m for m in archive.namelist() if m.endswith(".xls")), None)
        return read_spreadsheet(archive.read(sheet or raw.files[0]), facts, url)
    missing = [file for file in raw.files if file not in members]
    if missing:
        raise DatasetNotFoundError(f"{url} does not hold {missing[0]}: {facts.advice}")
    return read_raw([archive.read(members[file]) for file in raw.files], raw, facts, url)


def _from_openml(facts: Facts) -> Columns:
    from sklearn.datasets import fetch_openml

    where = f"OpenML's data set {facts.openml}"
    home = cache_file(facts).parent
    if facts.shape:
        X, y = fetch_openml(
            data_id=facts.openml, data_home=home, as_frame=False, return_X_y=True, n_retries=1
        )
        images = np.asarray(X[: facts.rows], dtype=np.uint8).reshape(-1, *facts.shape)
        columns: Columns = {"images": images, "labels": np.asarray(y[: facts.rows], dtype=np.uint8)}
        return check_content(columns, facts, where)
    # As a frame: arrays would hold the positions of the categories instead of their values.
    frame: Any = fetch_openml(
        data_id=facts.openml, data_home=home, as_frame=True, n_retries=1
    ).frame
    rows = [[str(cell) for cell in row] for row in frame[list(facts.columns)].to_numpy()]
    return check_content(to_columns(rows, facts, where), facts, where)


def _keep(columns: Columns, path: Path) -> None:
    """Write the cache, whole or not at all; a cache that cannot be written is done without."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".tmp", delete=False) as file:
            np.savez_compressed(file, **columns)  # type: ignore[arg-type]
        os.replace(file.name, path)
    except OSError:
        return


@contextmanager
def _patience(seconds: float) -> Iterator[None]:
    """Let every connection give up after some seconds: scikit-learn sets no limit of its own."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        yield
    finally:
        socket.setdefaulttimeout(before)
