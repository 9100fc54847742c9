"""Rows of a regression problem, read block by block.

Only two things are ever asked of the data: a sum over blocks of rows, and a sample of rows.
What stands behind a block, a slice of an array or features computed on the spot, is known
here and nowhere else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.rows import passes

__all__ = ["Block", "Rows"]

# A block of features is read from memory once and from the cache for the rest of a pass. On
# 200 000 rows of 500 features a pass takes 50 ms with blocks of 8 MB, 64 ms with 4 MB and 105 ms
# with 1 MB, where the interpreter is in the way of the second thread.
_BLOCK_BYTES = 8 << 20


class Block(NamedTuple):
    """Some rows: features (n × L), targets (n × q), sample weights (n), and where they stand."""

    H: Array
    T: Array
    a: Array
    where: slice


@dataclass(frozen=True)
class Rows:
    """Features, targets and sample weights of all rows.

    Parameters
    ----------
    features : callable
        From a slice or an array of row numbers to the features of these rows. Several threads
        call it at the same time.
    T : array of shape (n, q)
        Targets.
    a : array of shape (n,)
        Sample weights.
    n_features : int
        The number of features L.
    """

    features: Callable[[Any], npt.NDArray[Any]]
    T: npt.NDArray[Any]
    a: Array
    n_features: int

    @classmethod
    def of(cls, H: npt.NDArray[Any], T: Array, a: Array | None = None) -> Self:
        """Return the rows of a matrix that is in memory."""
        a = np.broadcast_to(np.float64(1.0), len(H)) if a is None else a
        return cls(H.__getitem__, T, a, H.shape[1])

    def __len__(self) -> int:
        return len(self.T)

    @property
    def n_targets(self) -> int:
        """The number of targets q."""
        return int(self.T.shape[1])

    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, a block at a time."""
        for part in self._parts():
            yield from map(self._block, part)

    def each(self, work: Callable[[Block], object]) -> None:
        """Call ``work`` on every block, several at a time."""
        passes.each(self._parts(), lambda where: work(self._block(where)))

    def total(self, term: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Return the sums of what ``term`` returns over all blocks, several at a time.

        The digits do not depend on how many.
        """
        return passes.total(self._parts(), lambda where: term(self._block(where)))

    def sample(self, size: int, rng: np.random.Generator) -> Self:
        """Draw about ``size`` rows, which stand for all of them, into memory.

        Rows of equal weight, those without weight aside, are drawn without repetition. Otherwise
        a row is drawn as often as its weight asks for, and has that number as its weight.
        """
        most = self.a.max()
        if bool(np.all((self.a == most) | (self.a == 0))):
            counted = np.flatnonzero(self.a)
            chosen = counted[np.sort(rng.choice(len(counted), size, replace=False))]
            repeats = np.ones(size)
        else:
            drawn = rng.choice(len(self), size, p=self.a / self.a.sum())
            chosen, counts = np.unique(drawn, return_counts=True)
            repeats = counts.astype(np.float64)
        H = np.asarray(self.features(chosen), dtype=np.float64)
        T = np.asarray(self.T[chosen], dtype=np.float64)
        return self.of(H, T, repeats * (float(self.a.sum()) / size))

    def stored(self, dtype: npt.DTypeLike) -> Self:
        """Return these rows with all features computed once and kept in memory."""
        H = np.empty((len(self), self.n_features), dtype)

        def keep(where: slice) -> None:
            H[where] = self.features(where)

        passes.each(self._parts(), keep)
        return replace(self, features=H.__getitem__)

    def _parts(self) -> list[list[slice]]:
        return passes.slices(len(self), max(1, _BLOCK_BYTES // (8 * self.n_features)))

    def _block(self, where: slice) -> Block:
        # Sums are taken in double precision whatever the features are kept in.
        H = np.asarray(self.features(where), dtype=np.float64)
        T = np.asarray(self.T[where], dtype=np.float64)
        return Block(H, T, self.a[where], where)
