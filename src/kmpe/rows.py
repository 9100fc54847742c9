"""Rows of a regression problem, read block by block.

Only two things are ever asked of the data: a sum over blocks of rows, and a sample of rows.
What stands behind a block, a slice of an array or features computed on the spot, is known
here and nowhere else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kmpe.scale import Array

__all__ = ["Block", "Rows"]

# A block of features and its weighted copy should stay in the second-level cache's reach.
_BLOCK_BYTES = 4 << 20


class Block(NamedTuple):
    """Some rows: features (n × L), targets (n × q), and where they stand."""

    H: Array
    T: Array
    where: slice


@dataclass(frozen=True)
class Rows:
    """Features, targets and sample weights of all rows.

    Parameters
    ----------
    features : callable
        From a slice of row numbers to the features of these rows.
    T : array of shape (n, q)
        Targets.
    a : array of shape (n,)
        Sample weights.
    n_features : int
        The number of features L.
    """

    features: Callable[[slice], Array]
    T: Array
    a: Array
    n_features: int

    @classmethod
    def of(cls, H: Array, T: Array, a: Array | None = None) -> "Rows":
        """Return the rows of a matrix that is in memory."""
        return cls(H.__getitem__, T, np.ones(len(H)) if a is None else a, H.shape[1])

    def __len__(self) -> int:
        return len(self.T)

    @property
    def n_targets(self) -> int:
        """The number of targets q."""
        return int(self.T.shape[1])

    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, a block at a time."""
        size = max(1, _BLOCK_BYTES // (8 * self.n_features))
        for start in range(0, len(self), size):
            where = slice(start, min(start + size, len(self)))
            yield Block(self.features(where), self.T[where], where)
