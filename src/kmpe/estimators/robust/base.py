"""The base class of RobustRegressor and RobustClassifier: arguments, weights, routing."""

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _check_sample_weight, validate_data

from kmpe.arrays import Array
from kmpe.estimators.inputs import all_or_nothing, check_whole_number, refuse_elsewhere
from kmpe.rows.checks import check_weight_range, counted_weights

__all__ = ["RobustLearner"]


class Described(Protocol):
    """A round that can describe its result in words."""

    def describe(self, a: Array) -> str: ...


R = TypeVar("R", bound=Described)


class RobustLearner(MetaEstimatorMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """A learner that is fitted in rounds, each of which weights the rows by the one before."""

    def __init__(
        self,
        estimator: Any,
        *,
        cv: Any = 5,
        max_rounds: int = 2,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.max_rounds = max_rounds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the learner, round by round.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs, in a form that the learner accepts.
        y : array of shape (n,) or (n, q)
            Targets, or labels of two classes or more.
        sample_weight : array of shape (n,), optional
            Sample weights, as numbers of repeats; the learner gets them times the row weights.

        Returns
        -------
        self
        """
        self._check_estimator()
        refuse_elsewhere(self, X, y)
        check_whole_number("max_rounds", self.max_rounds)
        with all_or_nothing(self):
            X, y = indexable(X, y)
            validate_data(self, X, y, skip_check_array=True)
            self._fit(X, y, sample_weight)
        return self

    def _check_estimator(self) -> None:
        """Refuse what is no learner, or a learner of the other kind."""
        name, inner = type(self).__name__, self.estimator
        if isinstance(inner, type) or not hasattr(inner, "fit"):
            what = f"{inner.__name__}()" if isinstance(inner, type) else "an object with fit"
            raise ValueError(f"{name}: estimator={inner!r} is no learner; give {what}")
        if is_classifier(self) and is_regressor(inner):
            raise ValueError(f"{name}: {inner!r} is a regressor; use RobustRegressor")
        if is_regressor(self) and is_classifier(inner):
            raise ValueError(f"{name}: {inner!r} is a classifier; use RobustClassifier")

    @abstractmethod
    def _fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> None:
        """Fit the learner to validated rows, and set the attributes."""

    def _weights(
        self, sample_weight: npt.ArrayLike | None, T: npt.NDArray[Any]
    ) -> tuple[Array | None, Array]:
        """Return sample weights for the learner (None if none are given), and as repeats."""
        a = _check_sample_weight(sample_weight, T, dtype=np.float64, ensure_non_negative=True)
        a = check_weight_range(a)
        return (None if sample_weight is None else a), counted_weights(a)[0]

    def _watched(self, rounds: Iterable[R], a: Array) -> list[R]:
        """Return all rounds, printing a line for each if ``verbose`` is set."""
        done = []
        for this in rounds:
            done.append(this)
            if self.verbose:
                print(f"{type(self).__name__}, round {len(done)}: {this.describe(a)}")
        return done

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: the learner gets the weights of ``fit``."""
        router = MetadataRouter(owner=self)
        return router.add_self_request(self).add(
            estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.non_deterministic = inner.non_deterministic
        return tags
