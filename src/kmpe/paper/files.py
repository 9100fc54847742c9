"""Files that are there as a whole or not at all."""

import os
import tempfile
from pathlib import Path

__all__ = ["OutputError", "prepare_folder", "write"]


class OutputError(OSError):
    """The output folder cannot be used."""


def prepare_folder(folder: Path) -> Path:
    """Make the folder, and make sure that files can be written there."""
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
    """Write a file under another name and then rename it, so that no reader sees half of it."""
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", dir=path.parent, suffix=".tmp", delete=False
        ) as file:
            file.write(text)
        os.chmod(file.name, 0o644)  # temporary files are readable by their owner only
        os.replace(file.name, path)
    except OSError as error:
        raise OutputError(
            f"cannot write {path} ({error.strerror}): choose another folder with --out"
        ) from error
