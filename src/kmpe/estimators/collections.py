"""Dask collections as inputs of estimators: fits on the cluster, and lazy results.

Predictions, weights and other values of rows are lazy arrays with the chunks of the collection.
Dask is recognised by the type of the input, and imported only then.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from kmpe.arrays import Array
from kmpe.estimators.devices import (
    GivenArrays,
    check_same_library,
    given_arrays,
    is_dispatched,
    on_device,
)
from kmpe.foreign import Foreign
from kmpe.rows.cluster import engine
from kmpe.rows.dask import DaskRows, open_rows
from kmpe.rows.parts import Labels, Numbers, chunks_of, no_targets
from kmpe.rows.source import Block

__all__ = [
    "Given",
    "absent_attribute",
    "answer",
    "by_block",
    "given_rows",
    "is_dask",
    "is_elsewhere",
    "lazily",
    "without_collections",
]

_OF_ROWS = (
    "weights_",
    "outliers_",
    "outlier_scores_",
    "leverages_",
    "cook_distances_",
    "loo_residuals_",
    "orthogonal_distances_",
    "score_distances_",
)


def is_dask(X: object) -> bool:
    """Return whether X is a Dask array or data frame."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")


def is_elsewhere(X: object, method: Callable[..., Any] | None = None) -> bool:
    """Return whether X is a collection, or an array that is to be computed with in its library.

    For a method of a fitted model, inputs of another library than its own are refused.
    """
    elsewhere = is_dask(X) or is_dispatched(X)
    if method is not None and not elsewhere and not isinstance(X, Foreign):
        check_same_library(method)
    return elsewhere


class Given(NamedTuple):
    """Rows of collections: raw inputs, the unit of their weights, and labels of classes."""

    rows: DaskRows
    unit: float
    classes: npt.NDArray[Any] | None
    weighed: bool

    def are_few(self, least: int) -> bool:
        """Whether the rows are no more than a sample would be.

        From 20 000 on there are samples of fewer than half of them for every choice.
        """
        return self.rows.n_counted < max(20_000, least)

    def in_memory(self) -> tuple[npt.NDArray[Any], Array, Array | None]:
        """Return inputs, targets and sample weights of all rows, if they are few."""
        rows = self.rows.fetched()
        return rows.X, rows.T, self.unit * rows.a if self.weighed else None

    def of_rows(
        self,
        facts: Callable[[Block], npt.NDArray[Any]],
        features: Any,
        X: Any,
        y: Any,
        sample_weight: Any,
        centre: npt.NDArray[Any] | float = 0.0,
        unit: float = 1.0,
        *,
        kept: Any = None,  # noqa: ARG002 - parts are given back at the end of the fit
    ) -> Any:
        """Return a lazy array of what ``facts`` says of each row that was given.

        Targets are those of the rows less a centre, weights in a unit.
        """
        labels = None if self.classes is None else Labels(self.classes)
        targets = labels or (no_targets if y is None else Numbers())
        one = self.rows.block(slice(0, 1))
        H = one.H if features is None else features(one.H)
        one = Block(np.asarray(H, dtype=np.float64), one.T - centre, one.a)
        work = _Facts(facts, features, targets, centre, unit)
        return _mapped(work, np.asarray(facts(one)), X, y, sample_weight)

    def finish(self, estimator: BaseEstimator) -> None:
        """Leave the attributes of a fit as they are."""

    def lazy(self, values: npt.NDArray[Any], X: Any) -> Any:
        """Return values of the rows, computed in memory, as a lazy array with the chunks of X."""
        import dask.array as da
        from dask import delayed

        sizes = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(self.rows.X.sizes)
        counts = self.rows.X.sizes if np.isnan(sizes).any() else list(sizes)
        pieces = np.split(values, np.cumsum(counts)[:-1])
        whole = [
            da.from_delayed(delayed(piece), shape=(size, *piece.shape[1:]), meta=values[:0])
            for size, piece in zip(sizes, pieces, strict=True)
        ]
        return da.concatenate(whole, axis=0, allow_unknown_chunksizes=True)


@contextmanager
def given_rows(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, labels: bool = False
) -> Iterator[Given | GivenArrays]:
    """Open a collection or a device array for a fit; every task is released at the end."""
    if is_dispatched(X):
        yield given_arrays(estimator, X, y, sample_weight, labels=labels)
        return
    check_columns(estimator, X, reset=True)
    with engine() as runs:
        classes, targets = None, no_targets if y is None else Numbers()
        if labels:
            found = runs.fetch(runs.map(_unique, runs.start(chunks_of(y, "y", X))))
            classes = np.unique(np.concatenate(found))
            targets = Labels(classes)
        rows, unit = open_rows(runs, X, y, sample_weight, targets)
        yield Given(rows, unit, classes, sample_weight is not None)


def check_columns(estimator: BaseEstimator, X: Any, *, reset: bool) -> None:
    """Check the number of columns and their names, as scikit-learn does."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape X")
    meta = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
    validate_data(estimator, meta, reset=reset, skip_check_array=True)


def _unique(y: Any) -> npt.NDArray[Any]:
    return np.unique(np.asarray(y))


def answer(
    method: Callable[..., Any], X: Any, interval: float | None = None, *options: Any
) -> npt.NDArray[Any]:
    """Return the results of a method of a fitted estimator on rows that are elsewhere."""
    if is_dispatched(X):
        given = [] if interval is None else [interval, *options]
        found: npt.NDArray[Any] = on_device(method, X, *given)
        return found
    if interval is not None:
        raise ValueError("return_interval is for rows in memory: X is a Dask collection")
    return by_block(method, X)


def by_block(method: Callable[[Any], Any], X: Any) -> npt.NDArray[Any]:
    """Return the results of a method of a fitted estimator on each chunk of X, as a lazy array."""
    estimator = method.__self__  # type: ignore[attr-defined]
    check_columns(estimator, X, reset=False)
    fitted = clone(estimator)
    vars(fitted).update(without_collections(estimator))
    example = method(_example(X))
    lazy: npt.NDArray[Any] = _mapped(_Method(fitted, method.__name__, example[:0]), example, X)
    return lazy


def lazily(kinds: Callable[..., Any], rows: tuple[Any, ...], limits: Any) -> Any:
    """Return a function of lazy columns, chunk by chunk."""
    import dask.array as da

    def of_chunks(*columns: npt.NDArray[Any]) -> Any:
        return kinds(type(rows)(*columns), limits)

    kind = of_chunks(*(np.zeros(1, column.dtype) for column in rows)).dtype
    return da.map_blocks(of_chunks, *rows, dtype=kind)


def _mapped(work: Callable[..., Any], example: npt.NDArray[Any], X: Any, *others: Any) -> Any:
    """Return a lazy array of the results of ``work`` on the chunks of X and of others."""
    import dask.array as da
    from dask import delayed

    columns = [chunks_of(X, "X")]
    for other in others:
        columns.append([None] * len(columns[0]) if other is None else chunks_of(other, "y", X))
    sizes = X.chunks[0] if hasattr(X, "chunks") else (np.nan,) * len(columns[0])
    task = delayed(work, traverse=False)
    pieces = [
        da.from_delayed(task(*chunks), shape=(size, *example.shape[1:]), meta=example[:0])
        for size, *chunks in zip(sizes, *columns, strict=True)
    ]
    return da.concatenate(pieces, axis=0, allow_unknown_chunksizes=True)


class _Method:
    """A method of a fitted estimator, of a chunk."""

    def __init__(self, fitted: Any, name: str, empty: npt.NDArray[Any]) -> None:
        self.fitted, self.name, self.empty = fitted, name, empty

    def __call__(self, X: Any) -> npt.NDArray[Any]:
        return np.asarray(getattr(self.fitted, self.name)(X)) if len(X) else self.empty


@dataclass(frozen=True)
class _Facts:
    """The row attributes of a chunk."""

    facts: Callable[[Block], Any]
    features: Any
    targets: Any
    centre: npt.NDArray[Any] | float
    unit: float

    def __call__(self, X: Any, y: Any, a: Any) -> npt.NDArray[Any]:
        X = np.asarray(X)
        a = np.ones(len(X)) if a is None else np.asarray(a, dtype=np.float64).reshape(-1)
        H = X if self.features is None else self.features(X)
        T = self.targets(y, len(X)) - self.centre
        return np.asarray(self.facts(Block(np.asarray(H, dtype=np.float64), T, a / self.unit)))


def _example(X: Any) -> Any:
    """Return one row like those of X, to infer types and shapes."""
    if hasattr(X, "columns"):
        return X._meta_nonempty.iloc[:1]
    return np.ones((1, X.shape[1]), X.dtype)


def absent_attribute(estimator: object, name: str) -> AttributeError:
    """Return the error for a missing attribute, with the reason."""
    derived = getattr(type(estimator), name, None)
    if isinstance(derived, property) and derived.fget is not None:
        try:
            derived.fget(estimator)
        except AttributeError as error:  # raised by a property
            return error
    said = f"{type(estimator).__name__!r} object has no attribute {name!r}"
    if name == "trust_":
        said += ": it needs the residuals of all rows in order, which a fit to Dask collections "
        said += "does not have; weights_ and outlier_scores_ are lazy arrays"
    elif name in _OF_ROWS and "n_features_in_" in vars(estimator):
        said += ": a model that was fitted to Dask collections does not carry row attributes into "
        said += "files and copies, as their graphs may hold all the data"
    return AttributeError(said)


def without_collections(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the state of an estimator without lazy arrays, whose graphs may hold all the data."""
    return {name: value for name, value in vars(estimator).items() if not is_dask(value)}
