"""Archives of arrays: .npz and .mat files, which may be damaged or expand without end."""

import io
import struct
import zipfile
import zlib
from pathlib import Path

import numpy as np

from kmpe.datasets.catalogue import Facts
from kmpe.datasets.tables import Columns, DatasetError, check_content, check_file, first_line

__all__ = ["read_cache", "read_images"]

# Bytes of a cell in an expanded file: a double, or a word of up to 64 characters.
_NUMBER, _WORD = 8, 4 * 64
# Names, headers and padding of an expanded file.
_OVERHEAD = 2**16


def read_images(path: Path, facts: Facts) -> Columns:
    """Read images and labels from an .npz file, or from the .mat file of the Yale faces.

    An .npz file is compared with its known checksum before it is expanded; a .mat file, of which
    there are several, is expanded as far as the images need.
    """
    content = path.read_bytes()
    if not content:
        raise DatasetError(f"{path} is empty: get a fresh copy of {facts.file}")
    if path.suffix != ".mat":
        check_file(content, path, facts)
    try:
        columns = (_matlab if path.suffix == ".mat" else _arrays)(content, facts)
    # The readers do not check for damaged files and may raise anything.
    except Exception as error:
        raise DatasetError(
            f"{path} is damaged, or another file ({first_line(error)}): "
            f"get a fresh copy of {facts.file}"
        ) from error
    return check_content(columns, facts, str(path))


def read_cache(path: Path, facts: Facts) -> Columns:
    """Read what an earlier download has left."""
    try:
        columns = _arrays(path.read_bytes(), facts)
    except Exception as error:
        raise DatasetError(f"the cache {path} is damaged ({first_line(error)})") from error
    return check_content(columns, facts, f"the cache {path}")


def _arrays(content: bytes, facts: Facts) -> Columns:
    names = ("images", "labels") if facts.shape else facts.columns
    with zipfile.ZipFile(io.BytesIO(content)) as members:
        # zipfile expands a member no further than its stated size.
        _check_size(sum(member.file_size for member in members.infolist()), facts)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        missing = [name for name in names if name not in archive.files]
        if missing:
            raise ValueError(f"it has no array {missing[0]!r}")
        return {name: archive[name] for name in names}


def _matlab(content: bytes, facts: Facts) -> Columns:
    from scipy.io import loadmat

    if content.startswith(b"MATLAB 7.3") or b"\x89HDF\r\n" in content[:1024]:
        raise ValueError("it has MATLAB's format 7.3; save it with -v7")
    _check_size(_expanded(content, _limit(facts)), facts)
    archive = loadmat(io.BytesIO(content))  # type: ignore[arg-type]  # files are fine too
    missing = [name for name in ("fea", "gnd") if name not in archive]
    if missing:
        raise ValueError(f"it has no array {missing[0]!r}")
    # Each row of the .mat file is an image stored column by column.
    images = archive["fea"].reshape(-1, *facts.shape[::-1]).transpose(0, 2, 1)
    return {"images": images.astype(np.uint8), "labels": archive["gnd"].ravel() - 1}


def _expanded(content: bytes, limit: int) -> int:
    """Return the size of a .mat file once expanded, or a size above the limit.

    Version 5 is a header of 128 bytes and elements, each with a tag: its type and its size, four
    bytes each. Type 15 is an element compressed by zlib.
    """
    tag = ">II" if content[126:128] == b"MI" else "<II"
    size, at = 0, 128
    while at + 8 <= len(content) and size <= limit:
        kind, length = struct.unpack_from(tag, content, at)
        element = content[at + 8 : at + 8 + length]
        size += len(zlib.decompressobj().decompress(element, limit + 1)) if kind == 15 else length
        at += 8 + length
    return size


def _check_size(size: int, facts: Facts) -> None:
    if size > _limit(facts):
        raise ValueError(f"it expands beyond the {_limit(facts):,} bytes that the data set needs")


def _limit(facts: Facts) -> int:
    if facts.shape:
        return facts.rows * (int(np.prod(facts.shape)) + 1) * _NUMBER + _OVERHEAD
    return facts.rows * len(facts.columns) * _WORD + _OVERHEAD
