"""Any classifier on labels of which some are wrong."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.utils import get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_is_fitted,
    validate_data,
)

from kmpe.arrays import Array, Mask
from kmpe.estimators.inputs import all_or_nothing, check_whole_number, refuse_elsewhere
from kmpe.estimators.robust.labels import LabelRound, believed, trimming
from kmpe.estimators.robust.learner import Learner, given_folds
from kmpe.rows.checks import check_weight_range, counted_weights

__all__ = ["RobustClassifier"]


def _inner_has(method: str) -> Any:
    """Return the test whether the classifier inside has a method."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class RobustClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier, made robust to wrong labels.

    Labels are doubted by fits without their row: in each round a row is left out if another class
    has a larger probability, and what is left gives the next, better, fits. Rounds are compared by
    the likelihood of the labels, a share of which may be wrong. Where no round makes them more
    likely than the plain fit does, beyond chance, all rows keep their weight.

    Parameters
    ----------
    estimator : classifier
        Any classifier of scikit-learn's kind with ``predict_proba``, or a pipeline; of one that
        has none the predicted classes are used. Weights are handed to it as `RobustRegressor` does.
    cv : int or splitter, default=5
        The number of folds, or a splitter of scikit-learn's that tests each row once. Folds are
        drawn within the classes, and do not depend on the order of the rows.
    max_rounds : int, default=5
        The most rounds after the plain one. Each is a fit for each fold.
    n_jobs : int, optional
        Fits at the same time, as in scikit-learn.
    random_state : int, RandomState or None, default=0
        Draws the folds. The classifier has its own.
    verbose : int, default=0
        1 prints a line for each round.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    estimator_ : classifier
        The fit to the rows that are believed, which predicts.
    weights_ : array of shape (n,)
        What each row counts in it, 0 or 1, beside ``sample_weight``.
    outliers_ : array of bool of shape (n,)
        The rows that it leaves out: their labels are doubted.
    outlier_scores_ : array of shape (n,)
        How much more probable another class is to fits without the row, from -1 to 1.
    probabilities_ : array of shape (n, n_classes)
        What these fits say.
    loss_ : str
        What made the weights: "none" or "trimming".
    noise_ : float
        The share of labels that look wrong, by maximum likelihood.
    history_ : list of dict
        For each round the mean surprise of the labels (-log likelihood), the share that looks
        wrong, the share of the rows that it leaves out, and whether it was believed.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RobustRegressor : For numbers.
    ELMClassifier : A robust classifier of its own.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from kmpe import RobustClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> y[:60] = 1 - y[:60]
    >>> model = RobustClassifier(LogisticRegression()).fit(X, y)
    >>> float(model.outliers_[:60].mean().round(1)), float(model.outliers_[60:].mean().round(1))
    (1.0, 0.0)
    """

    def __init__(
        self,
        estimator: Any,
        *,
        cv: Any = 5,
        max_rounds: int = 5,
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
        """Fit the classifier, round by round.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs, as the classifier takes them.
        y : array of shape (n,)
            Labels, of two classes or more.
        sample_weight : array of shape (n,), optional
            How often each row counts; the classifier gets it as well.

        Returns
        -------
        self
        """
        check_whole_number("max_rounds", self.max_rounds)
        with all_or_nothing(self):
            self._fit(X, y, sample_weight)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> None:
        refuse_elsewhere(self, X, y)
        X, y = indexable(X, y)
        validate_data(self, X, y, skip_check_array=True)
        labels = np.asarray(_check_y(y, estimator=self))
        check_classification_targets(labels)
        a = _check_sample_weight(sample_weight, labels, dtype=np.float64, ensure_non_negative=True)
        a = check_weight_range(a)
        given, (a, _) = (None if sample_weight is None else a), counted_weights(a)
        self.classes_, codes = np.unique(labels[a > 0], return_inverse=True)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y has one class only, {only!r}: a classifier needs two or more")
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        keys = codes[:, None].astype(np.float64)
        folds = given_folds(self.cv, X, labels, keys, a, self.random_state)
        learner = Learner(self.estimator, X, labels, given, folds, self.n_jobs)
        learner.check()

        def probabilities(w: Array) -> Array:
            return _left_out(learner, w, self.classes_)

        rounds: list[LabelRound] = []
        for this in trimming(codes, a, folds, probabilities, self.max_rounds):
            rounds.append(this)
            if self.verbose:
                print(f"{type(self).__name__}, round {len(rounds)}: {this.describe(a)}")
        best = believed(rounds, a)
        self.estimator_ = learner.fit(best.weights)
        self.weights_ = best.weights
        self.outliers_: Mask = self.weights_ == 0
        self.probabilities_ = best.probabilities
        self.outlier_scores_ = best.margins
        self.loss_ = "none" if best is rounds[0] else "trimming"
        self.noise_ = best.share
        self.history_ = [{**this.record(a), "believed": this is best} for this in rounds]

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted labels.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n,)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict(X))

    @available_if(_inner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes, as the classifier has them.

        It has seen the rows that are believed, and is as sure of its classes as these are.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    @available_if(_inner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes, as the classifier has them.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.decision_function(X))

    def get_metadata_routing(self) -> MetadataRouter:
        """Return who gets which metadata: the classifier gets the weights of ``fit``."""
        router = MetadataRouter(owner=self)
        return router.add_self_request(self).add(
            estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        tags.non_deterministic = inner.non_deterministic
        return tags


def _left_out(learner: Learner, w: Array, classes: npt.NDArray[Any]) -> Array:
    """Return the probabilities of all classes by fits without the row; unseen classes have none."""
    P = np.zeros((len(w), len(classes)))
    soft = hasattr(learner.estimator, "predict_proba")
    for test, model, values in learner.left_out(w, "predict_proba" if soft else "predict"):
        if soft:
            P[np.ix_(test, np.searchsorted(classes, model.classes_))] = values
        else:
            P[test, np.searchsorted(classes, values)] = 1.0
    return P
