"""Files that are written completely or not at all."""

import os
import tempfile
from pathlib import Path

__all__ = ["OutputError", "prepare_folder", "write"]


class OutputError(OSError):
    """The output folder cannot be used."""


def prepare_folder(folder: Path) -> Path:
    """Create the folder, and check that files can be written there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        raise OutputError(
            f"cannot write to the output folder {folder} ({error.strerror}): "
            "choose another one with --out"
        ) from error


def write(path: Path, text: str) -> None:
    """Write a file under another name, then rename it: no reader sees an incomplete file."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise OutputError(
            f"cannot write {path} ({error.strerror}): choose another folder with --out"
        ) from error
