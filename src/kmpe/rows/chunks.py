"""Rows stored in chunks: row groups of Parquet, chunks of HDF5 and zarr, whole files.

A chunk can only be decoded as a whole. Blocks are smaller than most chunks, and several threads
read neighbouring blocks: the last chunks are cached, so that a pass decodes each chunk once.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kmpe.rows.threads import MOST_KEPT

__all__ = ["Chunk", "Chunks"]


class Chunk(NamedTuple):
    """Rows that are read together: their number, and a function that reads them."""

    rows: int
    read: Callable[[], npt.NDArray[Any]]


class Chunks:
    """The rows of some chunks, one chunk after the other.

    Parameters
    ----------
    chunks : sequence of Chunk
        The chunks; empty ones are left out.
    n_features : int
        The number of columns.
    dtype : dtype
        The type of the values.
    """

    ndim = 2

    def __init__(self, chunks: Sequence[Chunk], n_features: int, dtype: npt.DTypeLike) -> None:
        self._chunks = [chunk for chunk in chunks if chunk.rows]
        ends = np.cumsum([0, *(chunk.rows for chunk in self._chunks)])
        #: The index of the first row of each chunk, and last the number of rows.
        self.starts = np.asarray(ends, dtype=np.intp)
        self.shape = (int(ends[-1]), n_features)
        self.dtype: np.dtype[Any] = np.dtype(dtype)
        self._kept: OrderedDict[int, npt.NDArray[Any]] = OrderedDict()

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, where: slice) -> npt.NDArray[Any]:
        start, stop, _ = where.indices(len(self))
        if stop <= start:
            return np.empty((0, self.shape[1]), self.dtype)
        first = int(np.searchsorted(self.starts, start, side="right")) - 1
        last = int(np.searchsorted(self.starts, stop, side="left"))
        pieces = []
        for number in range(first, last):
            begin = self.starts[number]
            pieces.append(self._rows(number)[max(start - begin, 0) : stop - begin])
        return pieces[0] if len(pieces) == 1 else np.concatenate(pieces)

    def _rows(self, number: int) -> npt.NDArray[Any]:
        if number in self._kept:
            self._kept.move_to_end(number)
            return self._kept[number]
        rows = np.asarray(self._chunks[number].read(), dtype=self.dtype)
        self._kept[number] = rows
        # Threads may read on both sides of a boundary: two chunks are kept whatever their size.
        while len(self._kept) > 2 and sum(kept.nbytes for kept in self._kept.values()) > MOST_KEPT:
            self._kept.popitem(last=False)
        return rows
