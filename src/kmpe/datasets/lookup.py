"""Find a data set: in a folder, in an installed package, in the cache, on the network."""

import gzip
import importlib.util
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.datasets.archives import read_cache, read_images
from kmpe.datasets.catalogue import Facts, Raw, catalogue
from kmpe.datasets.download import cache_file, fetch
from kmpe.datasets.tables import (
    Columns,
    DatasetError,
    DatasetNotFoundError,
    first_line,
    read_csv,
    read_raw,
)

__all__ = ["Dataset", "load"]


@dataclass(frozen=True)
class Dataset:
    """A data set in memory.

    Attributes
    ----------
    name, title : str
        The name that it was loaded by, and the one to show.
    X : array of shape (n, d)
        Inputs. Letters are codes 0, 1, ... in alphabetical order; images are rows of pixels.
    y : array of shape (n,)
        The target, a number or a label.
    feature_names, target_name : tuple of str, str
        Names of the columns of X, and of y.
    aside : mapping
        Columns that are no inputs, such as a row number, by name.
    image_shape : tuple of int
        Height and width where the rows of X are images, otherwise empty.
    source : str
        Where it was found.

    See Also
    --------
    load : Returns one.

    Examples
    --------
    >>> from kmpe.datasets import load
    >>> data = load("servo", download=False)
    >>> data.title, data.X.shape, data.target_name
    ('Servo', (167, 4), 'rise_time')
    """

    name: str
    title: str
    X: Array
    y: npt.NDArray[Any]
    feature_names: tuple[str, ...]
    target_name: str
    aside: Mapping[str, npt.NDArray[Any]]
    image_shape: tuple[int, ...]
    source: str


def load(name: str, *, data_dir: str | Path | None = None, download: bool = True) -> Dataset:
    """Load one of the paper's data sets, checked.

    It is looked for in ``data_dir`` or the folder that the environment variable ``KMPE_DATA``
    names, then in installed packages that carry it, then in the cache of earlier downloads,
    and last at UCI or OpenML. A copy whose checksum is not the known one is refused.

    Parameters
    ----------
    name : str
        "servo", "concrete", "winequality_red", "housing", "airfoil", "slump", "yacht", "glass",
        "wine", "ecoli", "user_knowledge", "wdbc", "leaf", "vehicle", "seeds", "yale" or "mnist".
    data_dir : path, optional
        A folder with the files of the data sets.
    download : bool, default=True
        Whether it may be downloaded.

    Returns
    -------
    Dataset

    Raises
    ------
    DatasetNotFoundError
        If the data set is not found; the message says how to get it.
    DatasetError
        If a copy was found that is not the expected one.

    See Also
    --------
    make_sinc : The synthetic data of the paper.

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.X.shape, sorted(set(wine.y))
    ((178, 13), [np.str_('1'), np.str_('2'), np.str_('3')])
    """
    if name not in catalogue():
        raise DatasetNotFoundError(f"{name!r} is not a data set: use {', '.join(catalogue())}")
    facts = catalogue()[name]
    found = _in_folder(facts, data_dir) or _in_package(facts)
    columns, source = found or _kept_or_fetched(facts, download)
    return _images(facts, columns, source) if facts.shape else _table(facts, columns, source)


def _in_folder(facts: Facts, data_dir: str | Path | None) -> tuple[Columns, str] | None:
    place = data_dir or os.environ.get("KMPE_DATA")
    if not place:
        return None
    folder = Path(place)
    if not folder.is_dir():
        raise DatasetError(f"the data folder {folder} does not exist: name one that does")
    path = folder / facts.file
    if facts.name == "yale" and not path.exists():
        path = folder / "Yale_64x64.mat"
    if not path.exists():
        return None
    try:
        return (read_images if facts.shape else read_csv)(path, facts), str(path)
    except OSError as error:
        raise DatasetError(f"{path} cannot be read: {error.strerror}") from error


def _in_package(facts: Facts) -> tuple[Columns, str] | None:
    raw = facts.raw
    spec = importlib.util.find_spec(raw.package) if raw is not None and raw.package else None
    if raw is None or spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(spec.submodule_search_locations[0], raw.folder)
    contents = [_packaged(folder, file) for file in raw.files]
    if any(content is None for content in contents):
        return None
    where = f"the package {raw.package}"
    return _parse(facts, raw, [content for content in contents if content], where), where


def _packaged(folder: Path, file: str) -> bytes | None:
    """Return a file of a package, which may carry it with another ending, or packed."""
    for name in (file, f"{file}.txt", f"{file}.gz"):
        path = folder / name
        if path.exists():
            try:
                content = path.read_bytes()
                return gzip.decompress(content) if path.suffix == ".gz" else content
            except (OSError, EOFError, zlib.error) as error:
                raise DatasetError(
                    f"{path} is damaged ({first_line(error)}): install its package again"
                ) from error
    return None


def _parse(facts: Facts, raw: Raw, contents: list[bytes], where: str) -> Columns:
    if raw.files[0].endswith(".xls"):
        from kmpe.datasets.spreadsheet import read_spreadsheet

        return read_spreadsheet(contents[0], facts, where)
    return read_raw(contents, raw, facts, where)


def _kept_or_fetched(facts: Facts, download: bool) -> tuple[Columns, str]:
    """Return a set from the cache, or from the network if the cache has none or a damaged one."""
    path, damage = cache_file(facts), ""
    if path.exists():
        try:
            return read_cache(path, facts), f"the cache, {path}"
        except DatasetError as error:
            damage = f"{error}, and "
    try:
        found = fetch(facts) if download else None
    except DatasetNotFoundError as error:
        raise DatasetNotFoundError(f"{damage}{error}") from error
    if found is None:
        raise DatasetNotFoundError(f"{damage}{facts.title} is not here: {facts.advice}")
    return found


def _table(facts: Facts, columns: Columns, source: str) -> Dataset:
    X = np.column_stack([_codes(columns[name]) for name in facts.inputs])
    aside = {name: columns[name] for name in facts.aside}
    return Dataset(
        facts.name,
        facts.title,
        X,
        columns[facts.target],
        facts.inputs,
        facts.target,
        MappingProxyType(aside),
        (),
        source,
    )


def _images(facts: Facts, columns: Columns, source: str) -> Dataset:
    X = columns["images"].reshape(facts.rows, -1).astype(np.float64)
    pixels = tuple(f"pixel{i}" for i in range(X.shape[1]))
    return Dataset(
        facts.name,
        facts.title,
        X,
        columns["labels"],
        pixels,
        "label",
        MappingProxyType({}),
        facts.shape,
        source,
    )


def _codes(values: npt.NDArray[Any]) -> Array:
    if values.dtype.kind != "U":
        return values.astype(np.float64)
    return np.unique(values, return_inverse=True)[1].astype(np.float64)
