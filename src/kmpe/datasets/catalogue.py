"""What is known of each data set: its columns, its size, its checksums, where to get it."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

__all__ = ["Facts", "Raw", "catalogue"]


@dataclass(frozen=True)
class Raw:
    """How the files of the original source are to be read.

    Parameters
    ----------
    files : tuple of str
        Names of the files, joined in this order.
    package, folder : str
        The installable package that carries them, and the folder inside it; empty if none does.
    header : int
        Lines to skip.
    fields : tuple of int
        Positions of the catalogue's columns in a line; all fields in order when empty.
    labels : mapping
        New names of the classes.
    """

    files: tuple[str, ...]
    package: str = ""
    folder: str = ""
    header: int = 0
    fields: tuple[int, ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Facts:
    """A data set as it must be found.

    Parameters
    ----------
    name, title : str
        The name to load it by, and the one to show.
    file : str
        The file that holds it in a data folder.
    sha256 : str
        Checksum of that file.
    content : str
        Checksum of the values alone, the same whichever copy they come from.
    rows : int
        The number of rows.
    columns : tuple of str
        Columns in order, the target last. For images: the height and width.
    labels : bool
        Whether the target is a label rather than a number.
    text : tuple of str
        Inputs that are letters.
    aside : tuple of str
        Columns that are no inputs: row numbers, splits, other outputs.
    raw : Raw or None
        How to read the original files.
    uci, openml : str, int
        Where to download it: the path of the archive at UCI, the number at OpenML.
    advice : str
        How to get it by hand.
    """

    name: str
    title: str
    file: str
    sha256: str
    content: str
    rows: int
    columns: tuple[str, ...] = ()
    shape: tuple[int, ...] = ()
    labels: bool = False
    text: tuple[str, ...] = ()
    aside: tuple[str, ...] = ()
    raw: Raw | None = None
    uci: str = ""
    openml: int = 0
    advice: str = ""

    @property
    def target(self) -> str:
        """The name of the last column."""
        return self.columns[-1]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The columns that are inputs."""
        return tuple(c for c in self.columns[:-1] if c not in self.aside)

    def is_text(self, column: str) -> bool:
        """Whether a column holds words rather than numbers."""
        return column in self.text or (self.labels and column == self.target)


@cache
def catalogue() -> Mapping[str, Facts]:
    """Return the facts of every data set by name."""
    text = resources.files("kmpe.datasets").joinpath("catalogue.toml").read_text("utf-8")
    return MappingProxyType(
        {name: _facts(name, entry) for name, entry in tomllib.loads(text).items()}
    )


def _facts(name: str, entry: dict[str, Any]) -> Facts:
    raw = entry.pop("raw", None)
    return Facts(
        name=name,
        raw=None if raw is None else Raw(**_tuples(raw)),
        **_tuples(entry),
    )


def _tuples(entry: dict[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items()}
