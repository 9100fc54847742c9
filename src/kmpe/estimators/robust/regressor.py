"""Any regressor, made robust to spoilt targets by half-quadratic reweighting."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted

from kmpe.arrays import ROUNDING, Array, Mask
from kmpe.choice.noise import infer
from kmpe.estimators.inputs import check_loss, set_parameters
from kmpe.estimators.robust.base import RobustLearner
from kmpe.estimators.robust.learner import Learner, given_folds
from kmpe.estimators.robust.rounds import accepted, bounded, descent
from kmpe.estimators.robust.spread import weighed
from kmpe.inference.intervals import around, radius
from kmpe.inference.outliers import scaled_residuals
from kmpe.losses import Loss

__all__ = ["RobustRegressor"]


class RobustRegressor(RegressorMixin, RobustLearner):  # type: ignore[misc]
    """Any regressor, made robust to spoilt targets.

    Rows are weighed by the errors of fits without them, over rounds in which σ comes down from
    wide to the noise. Rounds are compared by the mean log density of their errors, which a few
    gross ones do not decide, and the best and its equals are accepted, up to one standard error.
    The last fit weighs rows by their probability of being good, given the errors of the accepted
    rounds in units of their local spread. Where the plain fit is accepted, all rows keep their
    weight: a regressor on clean targets pays nothing but the time.

    Parameters
    ----------
    estimator : regressor
        Any regressor with scikit-learn's API, or a pipeline. Weights are passed to it as
        ``sample_weight``, to the last step of a pipeline as ``step__sample_weight``, or by metadata
        routing if that is enabled. A regressor without sample weights is fitted to the rows of at
        least half the weight (trimming).
    loss : "adaptive" or Loss, default="adaptive"
        "adaptive" weighs rows of the last fit by their probability of being good. A loss of this
        package weighs the errors of the best round; rows that happen to be predicted well count
        no more than others. Rows below a tenth of the weight are left out.
    cv : int or splitter, default=10
        The number of folds, or a scikit-learn splitter that tests each row once. Folds are
        stratified by the targets and do not depend on the order of the rows.
    max_rounds : int, default=10
        The most rounds from each of two starts (the errors of the plain fit, and the targets about
        their middle), beside the plain one. Each is a fit for each fold.
    n_jobs : int, optional
        Number of parallel jobs, as in scikit-learn.
    random_state : int, RandomState or None, default=0
        Seed of the folds. The regressor has its own.
    verbose : int, default=0
        1 prints a line for each round.

    Attributes
    ----------
    estimator_ : regressor
        The fit to the weighted rows, which predicts.
    weights_ : array of shape (n,)
        The weight of each row in it, from 0 to 1, besides ``sample_weight``.
    outliers_ : array of bool of shape (n,)
        The rows that it leaves out.
    outlier_scores_ : array of shape (n,)
        Out-of-fold errors over their MAD.
    residuals_ : array of shape (n,) or (n, q)
        Out-of-fold errors.
    scale_ : float
        Their MAD.
    loss_ : Loss
        The given loss, with a number for σ; if adaptive, that of the best round, `Tukey` or, if all
        rows keep their weight, `Squared`.
    noise_ : str
        The distribution of the errors in words; empty for several targets.
    history_ : list of dict
        For each round its loss, the mean surprise of its errors (-log density), the share of rows
        that it leaves out, and whether it was accepted.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    RobustLinearRegression : Linear, with inference.
    RobustClassifier : For classification.
    ELMRegressor : Nonlinear, robust itself.
    kmpe.boosting.Objective : A robust loss inside XGBoost or LightGBM.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from kmpe import RobustRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = 10 * X[:, 0] + rng.normal(size=300)
    >>> y[:60] += 100
    >>> model = RobustRegressor(DecisionTreeRegressor(max_depth=3)).fit(X, y)
    >>> int(model.outliers_[:60].sum()), model.predict([[0.5]]).round()
    (60, array([6.]))
    """

    def __init__(
        self,
        estimator: Any,
        loss: Loss | str = "adaptive",
        *,
        cv: Any = 10,
        max_rounds: int = 10,
        n_jobs: int | None = None,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator,
            cv=cv,
            max_rounds=max_rounds,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss

    def _fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None) -> None:
        check_loss(self.loss)
        T = check_array(y, dtype=np.float64, ensure_2d=False, input_name="y")
        given, a = self._weights(sample_weight, T)
        T2 = T.reshape(len(T), -1)
        folds = given_folds(self.cv, X, y, T2, a, self.random_state)
        learner = Learner(self.estimator, X, y, given, folds, self.n_jobs)
        learner.check()

        exact = ROUNDING * np.abs(T2).max(axis=0)

        def errors(w: Array) -> Array:
            E = T2 - learner.predicted(w, T2.shape)
            # Errors of a constant target are rounding, which rounds must not be compared by.
            return np.where((np.abs(E) <= exact).all(axis=0), 0.0, E)

        rounds = self._watched(descent(T2, a, errors, self.max_rounds), a)
        equal = accepted(rounds, a)
        E, self.loss_, w = equal[0].errors, equal[0].loss, equal[0].weights
        if not isinstance(self.loss, str):
            s = np.einsum("ij,ij->i", E, E)
            self.loss_ = self.loss.resolve(s, a, E.shape[1])
            w = bounded(self.loss_, E, a)
        elif not self.loss_.quadratic:
            w = weighed(equal, a, learner, T2, self.random_state)
        self.estimator_ = learner.fit(w)
        self.weights_ = learner.used(w)
        self.outliers_: Mask = self.weights_ == 0
        self.residuals_ = E.reshape(T.shape)
        self.outlier_scores_, self.scale_ = scaled_residuals(E, a, 0)
        self.noise_ = str(infer(E[:, 0], a)) if T2.shape[1] == 1 else ""
        self.history_ = [{**this.record(a), "believed": this in equal} for this in rounds]
        self._sample_weight = a

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Return the predicted targets.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        return_interval : float, optional
            Coverage, such as 0.9, of the intervals to return as well: quantiles of the errors of
            rows left out, over those that are no gross outliers, as in cross-conformal prediction.

        Returns
        -------
        array of shape (n,) or (n, q)
            Predictions; with ``return_interval`` a tuple of predictions, lower and upper ends.
        """
        check_is_fitted(self)
        predicted = np.asarray(self.estimator_.predict(X))
        if return_interval is None:
            return predicted
        R = self.residuals_.reshape(len(self.residuals_), -1)
        half = radius(R, self._sample_weight, self._gross(), return_interval)
        return around(predicted, half)

    def _gross(self) -> Array:
        """Return scores by which intervals leave rows out: those without weight, and no others."""
        return np.where(self.outliers_, np.inf, 0.0)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, those of the loss as ``loss__p``."""
        return set_parameters(self, **params)  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self.estimator).target_tags.multi_output
        return tags
