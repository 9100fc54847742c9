"""Dask collections given to estimators: fits where the rows are, and answers that wait.

What is told of rows, predictions and weights, is a lazy array over the collection that was given,
chunk by chunk. Dask is known by the type of what is given, and imported only then.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import validate_data

from kmpe.rows.cluster import engine
from kmpe.rows.dask import DaskRows, open_rows
from kmpe.rows.parts import Labels, Numbers, chunks_of, no_targets
from kmpe.rows.source import Block, Rows

__all__ = [
    "Given",
    "by_block",
    "given_rows",
    "is_dask",
    "of_rows",
    "refuse_dask",
    "without_collections",
]


def is_dask(X: object) -> bool:
    """Return whether X is a Dask array or data frame."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "to_delayed")


def refuse_dask(estimator: BaseEstimator, X: Any) -> None:
    """Refuse to fit an estimator to a collection where it cannot be."""
    if is_dask(X):
        raise ValueError(
            f"{type(estimator).__name__} is fitted to rows in memory or in files, and X is a Dask "
            "collection; once it is fitted, predictions and scores of one are lazy"
        )


class Given(NamedTuple):
    """Rows of collections: raw inputs, the unit of their weights, and labels of classes."""

    rows: DaskRows
    unit: float
    classes: npt.NDArray[Any] | None

    def near(self, per_feature: int, n_features: int) -> Rows:
        """Return the rows, in memory if they are no more than a sample of others would be.

        From 20 000 on there are samples of fewer than half of them for every choice.
        """
        few = self.rows.n_counted < max(20_000, per_feature * n_features)
        return self.rows.fetched() if few else self.rows


@contextmanager
def given_rows(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, labels: bool = False
) -> Iterator[Given]:
    """Open collections for a fit; every task is let go at the end."""
    check_columns(estimator, X, reset=True)
    with engine() as runs:
        classes, targets = None, no_targets if y is None else Numbers()
        if labels:
            found = runs.fetch(runs.map(_unique, runs.start(chunks_of(y, "y", X))))
            classes = np.unique(np.concatenate(found))
            targets = Labels(classes)
        rows, unit = open_rows(runs, X, y, sample_weight, targets)
        yield Given(rows, unit, classes)


def check_columns(estimator: BaseEstimator, X: Any, *, reset: bool) -> None:
    """Check the number of columns and their names, as scikit-learn does."""
    if X.ndim != 2:
        raise ValueError(f"Expected 2D array, got {X.ndim}D array instead: reshape X")
    meta = X._meta if hasattr(X, "columns") else np.empty((0, X.shape[1]))
    validate_data(estimator, meta, reset=reset, skip_check_array=True)


def _unique(y: Any) -> npt.NDArray[Any]:
    return np.unique(np.asarray(y))


def by_block(
    method: Callable[[Any], Any], X: Any, interval: float | None = None
) -> npt.NDArray[Any]:
    """Return what a method of a fitted estimator returns for each chunk of X, as a lazy array."""
    if interval is not None:
        raise ValueError("return_interval is for rows in memory: X is a Dask collection")
    estimator = method.__self__  # type: ignore[attr-defined]
    check_columns(estimator, X, reset=False)
    fitted = clone(estimator)
    vars(fitted).update(without_collections(estimator))
    example = method(_example(X))
    lazy: npt.NDArray[Any] = _mapped(_Method(fitted, method.__name__, example[:0]), example, X)
    return lazy


def of_rows(
    facts: Callable[[Block], npt.NDArray[Any]],
    features: Any,
    given: Given,
    X: Any,
    y: Any,
    sample_weight: Any,
    centre: npt.NDArray[Any] | float = 0.0,
) -> Any:
    """Return a lazy array of what ``facts`` says of each row that was given.

    Targets are those of the rows less a centre.
    """
    labels = None if given.classes is None else Labels(given.classes)
    targets = labels or (no_targets if y is None else Numbers())
    one = given.rows.block(slice(0, 1))
    H = one.H if features is None else features(one.H)
    one = Block(np.asarray(H, dtype=np.float64), one.T - centre, one.a)
    work = _Facts(facts, features, targets, centre)
    return _mapped(work, np.asarray(facts(one)), X, y, sample_weight)


def _mapped(work: Callable[..., Any], example: npt.NDArray[Any], X: Any, *others: Any) -> Any:
    """Return a lazy array of what ``work`` makes of the chunks of X and of others."""
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


class _Facts:
    """What is said of the rows of a chunk."""

    def __init__(
        self, facts: Callable[[Block], Any], features: Any, targets: Any, centre: Any
    ) -> None:
        self.facts, self.features, self.targets, self.centre = facts, features, targets, centre

    def __call__(self, X: Any, y: Any, a: Any) -> npt.NDArray[Any]:
        X = np.asarray(X)
        a = np.ones(len(X)) if a is None else np.asarray(a, dtype=np.float64).reshape(-1)
        H = X if self.features is None else self.features(X)
        T = self.targets(y, len(X)) - self.centre
        return np.asarray(self.facts(Block(np.asarray(H, dtype=np.float64), T, a)))


def _example(X: Any) -> Any:
    """Return one row like those of X, to see what becomes of it."""
    if hasattr(X, "columns"):
        return X._meta_nonempty.iloc[:1]
    return np.ones((1, X.shape[1]), X.dtype)


def without_collections(estimator: BaseEstimator) -> dict[str, Any]:
    """Return the state of an estimator without lazy arrays, whose graphs may hold all the data."""
    return {name: value for name, value in vars(estimator).items() if not is_dask(value)}
