"""Rows of a regression problem or a PCA, read block by block.

The rest of the package uses the data in three ways only: a sum over blocks of rows, one value per
row, and a sample of rows. Whether a block is a slice of an array, part of a file, or features
computed when they are needed, is known here and nowhere else.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Index
from kmpe.foreign import asarray
from kmpe.rows import threads

__all__ = [
    "BLOCK_BYTES",
    "GLANCE",
    "Block",
    "Features",
    "Outputs",
    "Rows",
    "is_sparse",
    "mixed",
    "mixture",
    "rows_per_block",
    "scaled_targets",
]

# A block of features is read from memory once and from the cache for the rest of a pass. A pass
# over 200 000 rows of 500 features takes 1.4 times as long with blocks of 1 MB, 0.98 and 1.06 times
# with 4 and 16 MB, and 1.13 times with 32 MB (`python -m benchmarks.blocks`).
BLOCK_BYTES = 8 << 20
#: Rows that are drawn to estimate medians and to find sparse columns: the standard error of a rank
#: is then at most 1 / (2 √512), 2%.
GLANCE = 512


class Features(Protocol):
    """A feature map, from inputs to features."""

    @property
    def n_features(self) -> int:
        """The number of features."""

    def __call__(self, X: Any, /) -> Any:
        """Return the features of the rows of X."""


class Block(NamedTuple):
    """A block of rows: features (n × L), dense or sparse, targets (n × q), sample weights (n)."""

    H: Any
    T: Array
    a: Array


@dataclass(frozen=True)
class Rows:
    """Inputs, targets and sample weights of all rows.

    Parameters
    ----------
    X : array, sparse matrix or Reader of shape (n, d)
        Inputs. Several threads read them at the same time.
    T : array of shape (n, q)
        Targets; q is 0 where there are none.
    a : array of shape (n,)
        Sample weights.
    features : Features, optional
        The feature map; by default the inputs are the features.
    dropped : tuple of callable
        The rules that set weights of rows to zero.
    most : int, optional
        The largest number of rows of a block; by default those that take 8 MB of features.
    """

    X: Any
    T: npt.NDArray[Any]
    a: Array
    features: Features | None = None
    dropped: tuple[Callable[[Block], Array], ...] = ()
    most: int | None = None

    @classmethod
    def inputs(cls, X: Any, features: Features | None = None) -> Self:
        """Return rows without targets, for predictions."""
        n = X.shape[0]
        return cls(X, np.zeros((n, 0)), np.broadcast_to(np.float64(1.0), n), features)

    @classmethod
    def of(cls, H: Any, T: Array, a: Array | None = None) -> Self:
        """Return the rows of a matrix of features."""
        return cls(H, T, np.broadcast_to(np.float64(1.0), len(T)) if a is None else a)

    def __len__(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features L."""
        return int(self.X.shape[1]) if self.features is None else self.features.n_features

    @property
    def n_targets(self) -> int:
        """The number of targets q."""
        return int(self.T.shape[1])

    @cached_property
    def n(self) -> float:
        """The number of rows, each counted by its weight: the sum of the weights."""
        return float(self.a.sum())

    @cached_property
    def n_counted(self) -> int:
        """The number of rows of positive weight."""
        return int(np.count_nonzero(self.a))

    @cached_property
    def order(self) -> Index:
        """The indices of the rows of positive weight, in an order that does not depend on theirs.

        They are sorted by their targets, and ties by a fixed linear combination of the features.
        """
        counted = np.flatnonzero(self.a)
        T = self.T[counted]
        key = T[:, -1] if T.shape[1] else np.zeros(len(counted))
        order = np.argsort(key, kind="stable")
        equal = np.diff(key[order]) == 0
        tied = np.flatnonzero(np.append(equal, False) | np.append(False, equal))
        if len(tied):
            some = order[tied]
            mixture = self._mixture(counted[some])
            order[tied] = some[np.lexsort((mixture, *T[some].T))]
        return np.asarray(counted[order])

    def _mixture(self, chosen: Index) -> Array:
        """Return a fixed linear combination of the features of some rows, stored or computed."""
        alone = replace(self, T=np.zeros((len(self), 0)))
        if 2 * len(chosen) > len(self):
            return np.asarray(alone.column(mixed)[chosen])
        return mixture(alone.block(chosen).H)

    def at(self, positions: Array) -> Index:
        """Return the indices of the rows at quantiles ``positions`` of the weights in `order`."""
        order = self.order
        reached = np.cumsum(self.a[order])
        at = np.searchsorted(reached, positions * reached[-1], side="right")
        return np.asarray(order[np.minimum(at, len(order) - 1)])

    def without(self, rule: Callable[[Block], Array]) -> Self:
        """Return these rows with weight 0 where ``rule`` returns 1 instead of 0."""
        return replace(self, a=self.a * (1 - self.column(rule)), dropped=(*self.dropped, rule))

    def reweighed(self, value: Callable[[Block], Array]) -> Self:
        """Return these rows with the weight of each multiplied by a value of it."""
        return replace(self, a=self.a * self.column(value))

    def per(self, unit: float) -> Self:
        """Return these rows with their weights divided by a unit."""
        return replace(self, a=self.a / unit)

    def centred(self, centre: Array, size: float = 1.0) -> Self:
        """Return these rows with targets minus a centre, over a size (`scaled_targets`)."""
        return replace(self, T=scaled_targets(self.T - centre, size))

    def block(self, where: slice | Index) -> Block:
        """Return some rows, in double precision whatever the type of X."""
        H = self.X[where]
        if self.features is not None:
            H = self.features(H)
        if not is_sparse(H):
            H = np.asarray(H, dtype=np.float64)
        # A broadcast weight is made contiguous: its sum then has the digits of equal weights.
        a = np.ascontiguousarray(self.a[where])
        return Block(H, np.asarray(self.T[where], dtype=np.float64), a)

    def blocks(self) -> Iterator[Block]:
        """Yield all rows in order, a block at a time."""
        for part in self._parts:
            yield from map(self.block, part)

    def total(self, term: Callable[[Block], tuple[Array, ...]]) -> tuple[Array, ...]:
        """Return the sums over all blocks of the arrays that ``term`` returns, in parallel.

        The digits do not depend on the number of threads. A term is a pure function of its block.
        """
        return threads.total(self._parts, lambda where: term(self.block(where)))

    def column(
        self, value: Callable[[Block], npt.NDArray[Any]], width: int | None = None
    ) -> npt.NDArray[Any]:
        """Return ``value`` of every row, of shape (n,) or, if a width is given, (n, width)."""
        out = np.empty(len(self) if width is None else (len(self), width))

        def fill(where: slice) -> None:
            out[where] = value(self.block(where))

        threads.each(self._parts, fill)
        return out

    def mapped(self, value: Callable[[Block], Array]) -> "Rows":
        """Return rows whose features are the columns that ``value`` returns, in the same blocks."""
        width = value(self.block(slice(0, 1))).shape[1]
        return Rows(self.column(value, width), self.T, self.a, most=self.per_block)

    def take(self, chosen: Index, a: Array | None = None) -> "Rows":
        """Return some of the rows with their features in memory; ``a`` are their new weights."""
        H, T, kept = self.block(chosen)
        return Rows.of(H, T, kept if a is None else a)

    def whole(self) -> Array:
        """Return the features of all rows as one dense array."""
        if self.features is None:
            H = self.X[:]
            return np.asarray(H.toarray() if is_sparse(H) else H, dtype=np.float64)
        return self.column(_features, self.n_features)

    def stored(self, dtype: npt.DTypeLike = np.float64) -> Self:
        """Return these rows with all features computed once and kept in memory, sparse ones too."""
        features = self.features
        if features is None:
            return self
        if is_sparse(self.X) and is_sparse(H := features(self.X)):
            return replace(self, X=H, features=None)
        H = np.empty((len(self), self.n_features), dtype)

        def keep(where: slice) -> None:
            H[where] = features(self.X[where])

        threads.each(self._parts, keep)
        return replace(self, X=H, features=None)

    @property
    def per_block(self) -> int:
        """The largest number of rows of a block."""
        return rows_per_block(self.n_features) if self.most is None else self.most

    @cached_property
    def _parts(self) -> list[list[slice]]:
        return threads.parts(len(self), self.per_block)


@dataclass(frozen=True)
class Outputs:
    """The predictions hβ of the rows of a block."""

    coef: Array

    def __call__(self, block: Block) -> Array:
        """Return the predictions, one row for each row of the block."""
        return asarray(block.H @ self.coef)


def scaled_targets(T: Array, size: float) -> Array:
    """Return targets divided by a size; with size 1 they stay as they are.

    They are clipped at ±1e8 sizes: a target beyond that has weight 0 in any bounded loss, and in
    double precision its square would leave no digits for the others.
    """
    return T if size == 1 else np.clip(T / size, -1e8, 1e8)


def mixture(H: Any) -> Array:
    """Return a fixed linear combination of the columns, which tells nearly all unequal rows apart.

    Its coefficients √2, √3, √4, ... are the same for all data.
    """
    v = np.sqrt(np.arange(2.0, H.shape[1] + 2.0))
    # Not by BLAS: there the order of additions depends on the position of a row.
    return asarray(H @ v if is_sparse(H) else np.einsum("ij,j->i", H, v))


def rows_per_block(n_features: int) -> int:
    """Return the largest number of rows of a block."""
    return max(1, BLOCK_BYTES // (8 * max(1, n_features)))


def is_sparse(H: Any) -> bool:
    """Whether a matrix is sparse."""
    return hasattr(H, "tocsr")


def _features(block: Block) -> Array:
    return np.asarray(block.H.toarray() if is_sparse(block.H) else block.H)


def mixed(block: Block) -> Array:
    """Return the `mixture` of each row of a block."""
    return mixture(block.H)
