"""Fits of the inner learner: how it takes weights, and out-of-fold predictions."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import check_cv
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.parallel import Parallel, delayed

from kmpe.arrays import Array, Index, Mask
from kmpe.estimators.inputs import is_whole
from kmpe.rows.checks import counted_weights, repeats

__all__ = ["Learner", "LeftOut", "content_folds", "drawn_parts", "given_folds", "weight_key"]

#: Rows, a fit without them, and what it predicts for them.
LeftOut = tuple[Index, Any, Any]

# The attributes in which meta-estimators keep their inner learner.
_INNER = ("estimator", "regressor", "classifier")
# A standard deviation of ten values is known to within a quarter, 1 / √(2 · 9).
_HALVED = 10


def weight_key(estimator: Any) -> str | None:
    """Return the name of the argument of ``fit`` for sample weights, None if there is none.

    For a pipeline it is ``step__sample_weight`` of its last step. If scikit-learn's metadata
    routing is enabled, the requests of the steps decide.
    """
    if isinstance(estimator, Pipeline):
        if get_config()["enable_metadata_routing"]:
            routed = get_routing_for_object(estimator).consumes("fit", ["sample_weight"])
            return "sample_weight" if routed else None
        name, last = estimator.steps[-1]
        key = None if isinstance(last, str) or last is None else weight_key(last)
        return None if key is None else f"{name}__{key}"
    parameters = inspect.signature(estimator.fit).parameters
    if "sample_weight" in parameters:
        return "sample_weight"
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()):
        inner = next(
            (getattr(estimator, name) for name in _INNER if hasattr(estimator, name)), None
        )
        return None if inner is None else weight_key(inner)
    return None


@dataclass(frozen=True)
class Learner:
    """A learner, its training rows, and the folds for out-of-fold predictions.

    Rows of weight 0 are removed before a fit, as a deep tree gives every row a leaf of its own,
    whatever its weight. A learner without sample weights gets the rows of at least half the weight
    (trimming).
    """

    estimator: Any
    X: Any
    y: Any
    #: The user's sample weights; None if there are none.
    given: Array | None
    folds: Index
    n_jobs: int | None

    @property
    def key(self) -> str | None:
        """The name of the learner's argument for sample weights."""
        return weight_key(self.estimator)

    def check(self) -> None:
        """Refuse weights that the learner does not take and that are not numbers of repeats."""
        if self.given is None or self.key is not None:
            return
        counts = repeats(self.given[self.given > 0])
        if counts is None or counts.sum() > 100 * len(self.given):
            raise ValueError(
                f"{type(self.estimator).__name__}.fit takes no sample_weight, and these are not in "
                "the ratio of small whole numbers, so that rows could be repeated: give a learner "
                "with sample_weight"
            )

    def used(self, w: Array) -> Array:
        """Return the weights of a fit: w itself, or 0 and 1 if the learner takes no weights."""
        return w if self.key is not None else (w >= 0.5 * w.max()).astype(np.float64)

    def fit(self, w: Array, rows: Mask | None = None) -> Any:
        """Return a copy of the learner, fitted to some of the rows with weights w."""
        w = self.used(w) * (1.0 if self.given is None else self.given)
        kept = np.flatnonzero(w > 0 if rows is None else rows & (w > 0))
        # Without weights a forest draws its samples by other random numbers than with equal ones.
        equal = self.given is None and bool(np.all(w[kept] == 1))
        weights = {} if self.key is None or equal else {self.key: w[kept]}
        if self.key is None and self.given is not None:
            kept = np.repeat(kept, counted_weights(self.given)[0][kept].astype(np.intp))
        X, y = _safe_indexing(self.X, kept), _safe_indexing(self.y, kept)
        if is_classifier(self.estimator) and len(np.unique(y)) == 1:
            return DummyClassifier().fit(X, y)  # many classifiers refuse a single class
        return clone(self.estimator).fit(X, y, **weights)

    def left_out(self, w: Array, method: str = "predict") -> list[LeftOut]:
        """Return the rows of each fold, the fit to the others with weights w, and predictions."""
        return self._tested(w, [self.folds != k for k in np.unique(self.folds)], method)

    def from_parts(self, w: Array, parts: list[Index], method: str) -> list[LeftOut]:
        """Return fits to single parts of each partition, and their predictions for all others."""
        return self._tested(w, [part == k for part in parts for k in np.unique(part)], method)

    def _tested(self, w: Array, fitted: list[Mask], method: str) -> list[LeftOut]:
        """Return fits to sets of rows, and their predictions for the others."""
        return list(
            Parallel(n_jobs=self.n_jobs)(delayed(_tested)(self, w, rows, method) for rows in fitted)
        )

    def predicted(self, w: Array, shape: tuple[int, ...]) -> Array:
        """Return the prediction of each row by the fit without its fold."""
        P = np.empty(shape)
        for test, _, values in self.left_out(w):
            P[test] = np.reshape(values, P[test].shape)
        return P

    def half_samples(self, w: Array, shape: tuple[int, ...], random_state: Any) -> Array:
        """Return predictions of each row by fits to the half of the folds that it is not in.

        They are halved at random, ten times: shape (10, *shape).
        """
        rng, n_folds = check_random_state(random_state), int(self.folds.max()) + 1
        sides = [(rng.permutation(n_folds) < n_folds / 2)[self.folds] for _ in range(_HALVED)]
        found = iter(self._tested(w, [rows for side in sides for rows in (side, ~side)], "predict"))
        P = np.empty((_HALVED, *shape))
        for each in P:
            for test, _, values in (next(found), next(found)):
                each[test] = np.reshape(values, each[test].shape)
        return P


def _tested(learner: Learner, w: Array, rows: Mask, method: str) -> LeftOut:
    # With no weight among them all of their rows count.
    model = learner.fit(w if w[rows].any() else np.ones(len(w)), rows)
    test = np.flatnonzero(~rows)
    return test, model, getattr(model, method)(_safe_indexing(learner.X, test))


def content_folds(X: Any, keys: Array, a: Array, n_folds: int, random_state: Any) -> Index:
    """Return the fold of each row, stratified by the targets, independent of the order of rows.

    Equal rows share a fold, as if they were one row of weight 2, and rows of weight 0 have no
    effect. Rows are compared by their targets and, if these are numeric arrays, their inputs;
    otherwise by their position.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
        Inputs.
    keys : array of shape (n, q)
        Targets, as numbers.
    a : array of shape (n,)
        Sample weights.
    n_folds : int
        The number of folds.
    random_state : int, RandomState or None
        As in scikit-learn.
    """
    counts = np.flatnonzero(a > 0)
    inputs: Any = X.toarray() if issparse(X) else X  # type: ignore[attr-defined]
    numeric = isinstance(inputs, np.ndarray) and inputs.dtype.kind in "fiub"
    rest = inputs if numeric and inputs.ndim == 2 else np.arange(len(a))[:, None]
    table = np.column_stack([keys, rest])[counts]
    distinct, code = np.unique(table, axis=0, return_inverse=True)
    m = len(distinct)
    if m < 2:
        raise ValueError(
            f"n_samples = {len(counts)}: rows are judged by fits without them, which takes at "
            "least two that differ"
        )
    n_folds = min(n_folds, m)
    rng = check_random_state(random_state)
    dealt = np.concatenate([rng.permutation(n_folds) for _ in range(-(-m // n_folds))])
    # Of the last, short stratum only some folds get a row: each that is a fold at all has others.
    folds = np.zeros(len(a), dtype=np.intp)
    folds[counts] = dealt[code.ravel()]
    return folds


def given_folds(cv: Any, X: Any, y: Any, keys: Array, a: Array, random_state: Any) -> Index:
    """Return the fold of each row by a number of folds, or by a splitter that tests each once."""
    if is_whole(cv):
        if cv < 2:
            raise ValueError(f"cv={cv!r} must be at least 2, or a splitter of scikit-learn's")
        return content_folds(X, keys, a, int(cv), random_state)
    folds = np.full(len(a), -1, dtype=np.intp)
    tested = np.zeros(len(a), dtype=np.intp)
    for k, (_, test) in enumerate(check_cv(cv).split(X, y)):
        folds[test] = k
        tested[test] += 1
    if not np.all(tested == 1):
        raise ValueError(
            "cv must test every row once: give a number of folds, or a splitter such as KFold"
        )
    return folds


def drawn_parts(
    cv: Any, X: Any, folds: Index, keys: Array, a: Array, random_state: Any
) -> list[Index]:
    """Return partitions of the rows, for fits to single parts: ten into thirds.

    Where a splitter of the user's says which rows belong together, its folds are the parts.
    """
    if not is_whole(cv):
        return [folds]
    rng = check_random_state(random_state)
    seeds = rng.randint(np.iinfo(np.int32).max, size=10)
    return [content_folds(X, keys, a, 3, int(seed)) for seed in seeds]
