"""Parts of a Dask collection: consecutive chunks of inputs, targets and weights.

A part is made of the user's chunks by their order and size alone, whatever the workers, and has a
checksum: a part that is computed again must be the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.rows.checks import LARGEST
from kmpe.rows.cluster import Engine

__all__ = ["Labels", "Numbers", "Part", "Parts", "Summary", "chunks_of", "no_targets", "open_parts"]

# Rows that are looked at several times stay in the second cache, of about a megabyte.
_TILE_BYTES = 1 << 18
_ODD = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio, as Knuth's multiplicative hash has it
#: Maps the targets of a chunk (None if there are none) to T of shape (n, q).
Targets = Callable[[Any, int], Array]


class Part(NamedTuple):
    """Inputs, targets and sample weights of some rows, and a checksum of them."""

    X: npt.NDArray[Any]
    T: Array
    a: Array
    checksum: int


class Summary(NamedTuple):
    """The facts about a part that the client needs."""

    rows: int
    checksum: int
    single: bool
    least: float
    most: float
    weight: float
    counted: int
    targets: int
    largest: float


@dataclass(frozen=True)
class Parts:
    """All parts of a collection, with a summary of each.

    Parameters
    ----------
    engine : Engine
        The engine that runs the tasks.
    references : list
        References to each `Part`.
    summaries : list of Summary
        Their summaries.
    n_features : int
        The number of columns.
    sizes : list of int
        The number of rows of each batch of chunks, those without rows included.
    """

    engine: Engine
    references: list[Any]
    summaries: list[Summary]
    n_features: int
    sizes: list[int]

    @property
    def shape(self) -> tuple[int, int]:
        """The number of rows and columns."""
        return sum(summary.rows for summary in self.summaries), self.n_features

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the inputs."""
        single = all(summary.single for summary in self.summaries)
        return np.dtype(np.float32 if single else np.float64)

    @property
    def starts(self) -> npt.NDArray[np.intp]:
        """The index of the first row of each part, and last the number of rows."""
        return np.cumsum([0, *(summary.rows for summary in self.summaries)], dtype=np.intp)

    @property
    def checksums(self) -> list[int]:
        """The checksum of each part when it was first computed."""
        return [summary.checksum for summary in self.summaries]


@dataclass(frozen=True)
class Numbers:
    """Targets that are numbers, one column or several."""

    def __call__(self, y: Any, n: int) -> Array:  # noqa: ARG002 - the protocol
        T = np.asarray(y, dtype=np.float64)
        T = T[:, None] if T.ndim == 1 else T
        if not np.isfinite(T).all():
            raise ValueError("Input y contains NaN or infinity")
        return T


@dataclass(frozen=True)
class Labels:
    """One-hot targets of labels."""

    classes: npt.NDArray[Any]

    def __call__(self, y: Any, n: int) -> Array:  # noqa: ARG002 - the protocol
        codes = np.searchsorted(self.classes, np.asarray(y).reshape(-1))
        return np.asarray(np.eye(len(self.classes))[codes])


def no_targets(y: Any, n: int) -> Array:  # noqa: ARG001 - the protocol
    """Return targets without columns."""
    return np.zeros((n, 0))


def chunks_of(collection: Any, what: str, like: Any = None) -> list[Any]:
    """Return the delayed chunks of a Dask array or data frame, aligned with another one."""
    if not hasattr(collection, "to_delayed"):
        raise ValueError(
            f"{what} is {type(collection).__name__}, but X is a Dask collection: make it one as "
            "well, with chunks of the same numbers of rows"
        )
    if hasattr(collection, "chunks"):
        if collection.ndim == 2 and len(collection.chunks[1]) > 1:
            collection = collection.rechunk({1: -1})
        rows = getattr(like, "chunks", ((np.nan,),))[0]
        known = not np.isnan([*rows, *collection.chunks[0]]).any()
        if known and sum(rows) == sum(collection.chunks[0]):
            collection = collection.rechunk({0: rows})
    return list(np.ravel(collection.to_delayed()))


def open_parts(engine: Engine, X: Any, y: Any, sample_weight: Any, targets: Targets) -> Parts:
    """Return the parts of collections; empty ones are left out."""
    from dask import delayed

    columns = [chunks_of(X, "X")]
    for given, what in ((y, "y"), (sample_weight, "sample_weight")):
        chunks = [None] * len(columns[0]) if given is None else chunks_of(given, what, X)
        if len(chunks) != len(columns[0]):
            raise ValueError(f"X has {len(columns[0])} chunks, and {what} has {len(chunks)}")
        columns.append(chunks)
    load = delayed(_load, pure=False, traverse=False)
    places = _batches(X, len(columns[0]))
    batches = [[[chunks[i] for i in place] for chunks in columns] for place in places]
    references = engine.start(
        [load(*batch, targets, place[0]) for batch, place in zip(batches, places, strict=True)]
    )
    found = engine.fetch(engine.map(_summary, references))
    filled = [i for i, summary in enumerate(found) if summary.rows]
    if not filled:
        raise ValueError("X has no rows")
    return Parts(
        engine,
        [references[i] for i in filled],
        [found[i] for i in filled],
        int(X.shape[1]),
        [summary.rows for summary in found],
    )


def _batches(X: Any, count: int) -> list[list[int]]:
    """Return the indices of chunks of each part: about 128 MB each, but at least 32 parts.

    The overhead of a task is about a millisecond, and fewer parts would leave workers idle. A chunk
    of unknown size is a part by itself.
    """
    rows = getattr(X, "chunks", ((np.nan,),))[0]
    if np.isnan(rows).any():
        return [[i] for i in range(count)]
    sizes = [float(n) * X.shape[1] * X.dtype.itemsize for n in rows]
    most = min(128 << 20, sum(sizes) / 32)
    batches: list[list[int]] = []
    size = np.inf
    for i, more in enumerate(sizes):
        if size + more > most:
            batches.append([])
            size = 0.0
        batches[-1].append(i)
        size += more
    return batches


def _load(xs: list[Any], ys: list[Any], weights: list[Any], targets: Targets, place: int) -> Part:
    """Return the part of some chunks, validated."""
    pieces = [np.asarray(x) for x in xs]
    single = all(piece.dtype == np.float32 for piece in pieces)
    dtype = np.float32 if single else np.float64
    X = np.ascontiguousarray(np.concatenate(pieces) if len(pieces) > 1 else pieces[0], dtype=dtype)
    largest, checksum = _looked_through(X)
    if not np.isfinite(largest):
        raise ValueError(f"Input X contains NaN or infinity, in chunk {place} or soon after")
    if largest > LARGEST:
        raise ValueError("X has values too large to square: rescale X")
    T = targets(None if ys[0] is None else _joined(ys), len(X))
    a = np.ones(len(X))
    if weights[0] is not None:
        a = np.asarray(_joined(weights), dtype=np.float64).reshape(-1)
        if not np.isfinite(a).all() or (a < 0).any():
            raise ValueError("sample_weight must be numbers of at least 0")
    for rows, what in ((len(T), "y"), (len(a), "sample_weight")):
        if rows != len(X):
            raise ValueError(f"chunk {place} of X has {len(X)} rows, that of {what} {rows}")
    checksums = checksum, *(_looked_through(values)[1] for values in (T, a[:, None]))
    return Part(X, T, a, hash(checksums))


def _joined(pieces: Sequence[Any]) -> npt.NDArray[Any]:
    arrays = [np.asarray(piece) for piece in pieces]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _looked_through(values: npt.NDArray[Any]) -> tuple[float, int]:
    """Return the largest absolute value, NaN if there is one, and a checksum.

    The checksum depends on every value and on the order of rows and columns. Both are computed in
    one pass, some rows at a time that stay in the cache.
    """
    n, d = values.shape
    per_tile = max(1, _TILE_BYTES // max(1, values[:1].nbytes))
    columns = np.zeros(d, dtype=np.uint64)
    largest, total = 0.0, 0
    for start in range(0, n, per_tile):
        tile = values[start : start + per_tile]
        # Either is NaN where a value is.
        largest = np.maximum(largest, np.maximum(tile.max(initial=0.0), -tile.min(initial=0.0)))
        bits = tile.view(np.uint32 if values.dtype == np.float32 else np.uint64)
        columns += bits.sum(axis=0, dtype=np.uint64)
        total += _mixed(bits.sum(axis=1, dtype=np.uint64), start)
    return float(largest), total % 2**64 << 1 ^ _mixed(columns)


def _mixed(sums: npt.NDArray[np.uint64], start: int = 0) -> int:
    """Return a number that depends on the order of others."""
    # Odd factors are invertible modulo 2^64.
    factors = 2 * np.arange(start, start + len(sums), dtype=np.uint64) + np.uint64(_ODD)
    return int((sums * factors).sum(dtype=np.uint64))


def _summary(part: Part) -> Summary:
    positive = part.a[part.a > 0]
    return Summary(
        rows=len(part.X),
        checksum=part.checksum,
        single=part.X.dtype == np.float32,
        least=float(positive.min(initial=np.inf)),
        most=float(positive.max(initial=0.0)),
        weight=float(positive.sum()),
        counted=len(positive),
        targets=int(part.T.shape[1]),
        largest=float(np.abs(part.T).max(initial=0.0)),
    )
