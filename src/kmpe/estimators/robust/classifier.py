"""Any classifier, made robust to wrong labels by iterative trimming."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import ClassifierMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_is_fitted

from kmpe.arrays import Array, Index, Mask
from kmpe.estimators.robust.base import RobustLearner
from kmpe.estimators.robust.labels import believed, trimming
from kmpe.estimators.robust.learner import Learner, LeftOut, drawn_parts, given_folds

__all__ = ["RobustClassifier"]


def _inner_has(method: str) -> Any:
    """Return a test whether the inner classifier has a method."""

    def check(self: Any) -> bool:
        getattr(getattr(self, "estimator_", self.estimator), method)
        return True

    return check


class RobustClassifier(ClassifierMixin, RobustLearner):  # type: ignore[misc]
    """Any classifier, made robust to wrong labels.

    Labels are doubted by fits without their row: in each round a row is left out if another class
    has a larger probability, and what is left gives the next fits. The judge is the mean of many
    fits to a third of the rows each, which follows wrong labels less than any fit to all of them,
    or cross-validation where that agrees with more labels. All rows keep their weight unless most
    of the labels that would be left out are wrong by the judge's probabilities, or the labels are
    more likely after the rows have been left out, beyond chance.

    Parameters
    ----------
    estimator : classifier
        Any classifier with scikit-learn's API, or a pipeline; without ``predict_proba`` its
        predicted classes are used. Weights are passed to it as by `RobustRegressor`.
    cv : int or splitter, default=5
        The number of folds, or a scikit-learn splitter that tests each row once. Folds are
        stratified by class and do not depend on the order of the rows.
    max_rounds : int, default=2
        The most rounds after the plain one. Each has a fit for each fold, and thirty to a third of
        the rows. Rounds confirm what those before have found: more than two find hardly anything.
    n_jobs : int, optional
        Number of parallel jobs, as in scikit-learn.
    random_state : int, RandomState or None, default=0
        Seed of the folds. The classifier has its own.
    verbose : int, default=0
        1 prints a line for each round.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    estimator_ : classifier
        The fit to the rows that are kept, which predicts.
    weights_ : array of shape (n,)
        The weight of each row in it, 0 or 1, besides ``sample_weight``.
    outliers_ : array of bool of shape (n,)
        The rows that it leaves out, as their labels are probably wrong.
    outlier_scores_ : array of shape (n,)
        The largest probability of another class minus that of the label, from -1 to 1.
    probabilities_ : array of shape (n, n_classes)
        Out-of-fold probabilities of fits to the rows that are kept.
    loss_ : str
        The origin of the weights: "none" or "trimming".
    noise_ : float
        The share of wrong labels, by maximum likelihood.
    history_ : list of dict
        For each round the mean surprise of the labels (-log likelihood), the estimated share of
        wrong labels, the share of rows that it leaves out, and whether it was accepted.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RobustRegressor : For regression.
    ELMClassifier : A classifier that is robust itself.

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

    def _fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> None:
        labels = np.asarray(_check_y(y, estimator=self))
        check_classification_targets(labels)
        given, a = self._weights(sample_weight, labels)
        self.classes_, codes = np.unique(labels[a > 0], return_inverse=True)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y has one class only, {only!r}: a classifier needs two or more")
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        keys = codes[:, None].astype(np.float64)
        folds = given_folds(self.cv, X, labels, keys, a, self.random_state)
        learner = Learner(self.estimator, X, labels, given, folds, self.n_jobs)
        learner.check()

        soft = "predict_proba" if hasattr(self.estimator, "predict_proba") else "predict"

        def alone(w: Array) -> Array:
            return _mean(learner.left_out(w, soft), codes, self.classes_)

        def committee(w: Array) -> Array:
            parts = drawn_parts(self.cv, X, folds, keys, a, self.random_state)
            return _mean(learner.from_parts(w, parts, soft), codes, self.classes_)

        rounds = self._watched(trimming(codes, a, folds, alone, committee, self.max_rounds), a)
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
        """Return the probabilities of the classes by the inner classifier.

        It was fitted to the rows that are kept, and its probabilities hold for such rows.

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
        """Return the scores of the classes by the inner classifier.

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator).classifier_tags
        if inner is not None:  # a regressor is refused by fit
            tags.classifier_tags.multi_class = inner.multi_class
        return tags


def _mean(fits: list[LeftOut], codes: Index, classes: npt.NDArray[Any]) -> Array:
    """Return the mean probabilities by fits without the row; unseen classes have 0."""
    P = np.zeros((len(codes), len(classes)))
    for test, model, values in fits:
        if values.ndim == 2:
            P[np.ix_(test, np.searchsorted(classes, model.classes_))] += values
        else:
            P[test, np.searchsorted(classes, values)] += 1.0
    return np.asarray(P / P.sum(axis=1, keepdims=True))
