"""Extreme learning machines: a random hidden layer, and output weights fitted robustly.

ELM, RELM, ELM-RCC and ELM-KMPE of the paper are these estimators with another loss.
"""

import numbers
import warnings
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kmpe.adaptive import CANDIDATES
from kmpe.features import ACTIVATIONS, Activation, HiddenLayer
from kmpe.fitting import INITS, fit_ridge
from kmpe.inference import outlier_limit, scaled_residuals
from kmpe.intervals import leave_one_out, radius
from kmpe.losses import Correntropy, Loss, Squared
from kmpe.machine import free_memory, team
from kmpe.problems.ridge import Ridge
from kmpe.reading import BlockReader, read, read_with_targets
from kmpe.rows import Block, Rows
from kmpe.scale import Array
from kmpe.streaming import Stream
from kmpe.tuning import Tuned, tune

__all__ = ["ELMClassifier", "ELMRegressor"]

# What H may take of the memory that is free, and where X is out of core, at most.
_SHARE_OF_MEMORY = 0.25
_OUT_OF_CORE = 256 << 20
# A stream begins before anything can be chosen.
_STREAM_ALPHA = 1e-3
# Squares of larger numbers, summed over the rows, overflow.
_LARGEST = 1e150


class _ELM(BaseEstimator):  # type: ignore[misc]
    """What the two machines share: the hidden layer and the fit of its output weights."""

    coef_: Array
    hidden_layer_: HiddenLayer
    _candidates: ClassVar[tuple[Loss, ...]] = CANDIDATES
    _stream: Stream | None = None

    def __init__(
        self,
        loss: Loss | str = "adaptive",
        *,
        n_hidden: int = 100,
        activation: Activation = "sigmoid",
        alpha: float | str = "auto",
        init: str = "robust",
        max_iter: int = 100,
        tol: float = 1e-8,
        forgetting: float = 1.0,
        memory_limit: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.loss = loss
        self.n_hidden = n_hidden
        self.activation = activation
        self.alpha = alpha
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.forgetting = forgetting
        self.memory_limit = memory_limit
        self.random_state = random_state

    def transform_hidden(self, X: Any) -> Array:
        """Return the features H of the hidden layer, (19) of the paper.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n, n_hidden)
        """
        check_is_fitted(self)
        X = read(self, X, reset=False)
        rows = self._rows(X, np.empty((X.shape[0], 0)), None).stored(X.dtype)
        return np.asarray(rows.features(slice(None)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, T: Array, sample_weight: npt.ArrayLike | None) -> None:
        """Draw the hidden layer and fit the targets T of shape (n, q)."""
        self._check_parameters()
        a = _check_weights(sample_weight, X)
        rng = self._draw_layer(X)
        with team():
            rows = self._rows(X, T, a)
            if len(T) * self.n_hidden * X.dtype.itemsize <= self._memory_limit(X):
                rows = rows.stored(X.dtype)
            problem = Ridge.of(rows, 0.0)
            tuned = self._tune(problem)
            problem = replace(problem, alpha=tuned.alpha)
            fit = fit_ridge(
                problem,
                tuned.loss,
                init=self.init,
                theta=tuned.beta if isinstance(self.loss, str) else None,
                max_iter=self.max_iter,
                tol=self.tol,
                # Drawn after the layer, which is then the same with any solver.
                seed=int(rng.randint(2**31 - 1)),
            )
        if not fit.status.converged:
            warnings.warn(fit.message, ConvergenceWarning, stacklevel=3)
        self._keep_coef(problem.coefficients(fit.theta), X.dtype)
        self.loss_ = fit.loss
        self.alpha_ = tuned.alpha
        self.selection_ = tuned.selection
        self.weights_ = fit.weights
        self.n_iter_ = fit.n_iter
        self.history_ = np.array(fit.history)
        self.status_ = fit.message
        self._stream = None
        self._set_outliers(problem, fit.theta, tuned)

    def _tune(self, problem: Ridge) -> Tuned:
        """Return α, the loss and a start, those that were not given chosen on some rows."""
        loss = None if isinstance(self.loss, str) else self.loss
        alpha = None if isinstance(self.alpha, str) else float(self.alpha)
        if loss is not None and alpha is not None:
            return Tuned(alpha, None, 0.0, loss, None)
        tuned = tune(problem.rows, loss=loss, alpha=alpha, candidates=self._candidates)
        return tuned if loss is None else replace(tuned, loss=loss)

    def _set_outliers(self, problem: Ridge, theta: Array, tuned: Tuned) -> None:
        """Set the scores of the rows: residual norms over their scale."""
        R = np.empty(problem.rows.T.shape)

        def fill(block: Block) -> None:
            R[block.where] = block.T - block.H @ theta

        problem.rows.each(fill)
        a, df = problem.sample_weight, tuned.degrees_of_freedom
        self.outlier_scores_, self.scale_ = scaled_residuals(R, a, df)
        self.outliers_ = self.outlier_scores_ > outlier_limit(problem.dim)
        self._interval_residuals = leave_one_out(R, min(df / float(a.sum()), 0.9))
        self._sample_weight = a

    def _partial_fit(self, X: Any, T: Array, sample_weight: npt.ArrayLike | None) -> None:
        """Go on with the targets T of one more batch."""
        self._check_parameters()
        a = _check_weights(sample_weight, X)
        stream = self._stream
        if stream is None:
            self._draw_layer(X)
            loss = Correntropy() if isinstance(self.loss, str) else self.loss
            alpha = _STREAM_ALPHA if isinstance(self.alpha, str) else float(self.alpha)
            stream = Stream(loss, alpha, float(self.forgetting))
        with team():
            batch = self._rows(X, T, a).stored(np.float64)
            stream, self.weights_ = stream.after(batch, max_iter=self.max_iter, tol=self.tol)
        self._stream = stream
        self._keep_coef(stream.theta, X.dtype)
        self.loss_ = stream.resolved()

    def _output(self, X: Any) -> Array:
        check_is_fitted(self)
        X = read(self, X, reset=False)
        coef = self.coef_.reshape(-1, self.n_hidden).T
        # Zeros: the rows read Y as their targets, and memory as it comes need not be numbers.
        Y = np.zeros((X.shape[0], coef.shape[1]), np.result_type(X.dtype, coef.dtype))

        def fill(block: Block) -> None:
            Y[block.where] = block.H @ coef

        self._rows(X, Y, None).each(fill)
        return Y if self.coef_.ndim == 2 else Y[:, 0]

    def _begins(self) -> bool:
        return self._stream is None

    def _rows(self, X: Any, T: Array, a: Array | None) -> Rows:
        """Return the rows with features that are computed when they are asked for."""
        layer = self.hidden_layer_

        def features(where: Any) -> Array:
            with np.errstate(over="ignore", invalid="ignore"):
                H = layer(X[where])
            _check_range(H, "the hidden layer", "scale X, or choose a bounded activation")
            return H

        a = np.broadcast_to(np.float64(1.0), len(T)) if a is None else a
        return Rows(features, T, a, layer.W.shape[1])

    def _draw_layer(self, X: Any) -> np.random.RandomState:
        """Draw the hidden layer, and return what random numbers are left."""
        rng: np.random.RandomState = check_random_state(self.random_state)
        self.hidden_layer_ = HiddenLayer.draw(
            X.shape[1], self.n_hidden, self.activation, rng, X.dtype
        )
        return rng

    def _keep_coef(self, theta: Array, dtype: npt.DTypeLike) -> None:
        self.coef_ = np.ascontiguousarray(theta.T.astype(dtype, copy=False))

    def _memory_limit(self, X: Any) -> float:
        if self.memory_limit is not None:
            return self.memory_limit
        # What is read from a file was too large for the memory: H will be as well.
        most = _OUT_OF_CORE if isinstance(X, BlockReader) else np.inf
        return min(_SHARE_OF_MEMORY * free_memory(), most)

    def _check_parameters(self) -> None:
        if not (self.loss == "adaptive" or isinstance(self.loss, Loss)):
            raise ValueError(
                f'loss={self.loss!r} must be "adaptive" or a loss such as kmpe.KMPE(p=2)'
            )
        if not callable(self.activation) and self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"activation={self.activation!r} must be a callable or one of {known}")
        if self.init not in INITS:
            raise ValueError(f"init={self.init!r} must be one of {', '.join(INITS)}")
        for name in ("n_hidden", "max_iter"):
            value = getattr(self, name)
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}={value!r} must be a whole number of at least 1")
        if not (isinstance(self.forgetting, numbers.Real) and 0 < float(self.forgetting) <= 1):
            raise ValueError(f"forgetting={self.forgetting!r} must be above 0 and at most 1")
        limit = self.memory_limit
        if limit is not None and not (isinstance(limit, numbers.Real) and float(limit) >= 0):
            raise ValueError(f"memory_limit={limit!r} must be None or a number of bytes")
        for name, least in (("alpha", "0 or above"), ("tol", "above 0")):
            value = getattr(self, name)
            if name == "alpha" and isinstance(value, str) and value == "auto":
                continue
            valid = isinstance(value, numbers.Real) and 0 <= float(value) < np.inf
            if not valid or (name == "tol" and value == 0):
                raise ValueError(f"{name}={value!r} must be a number {least}")


class ELMRegressor(RegressorMixin, _ELM):  # type: ignore[misc]
    """Extreme learning machine for regression with a robust loss.

    The output weights β minimise ½ Σ ρ(‖tᵢ - hᵢβ‖²) + ½ α ‖β‖², where h is a random hidden layer
    and ρ the loss. With `KMPE` this is the paper's ELM-KMPE (Algorithm 1), with `Correntropy`
    its ELM-RCC, with `Squared` its RELM, and with `Squared` and ``alpha=0`` its ELM.

    Parameters
    ----------
    loss : "adaptive" or Loss, default="adaptive"
        A loss of this package, or the one that promises the smallest variance for the noise.
    n_hidden : int, default=100
        The number of hidden nodes.
    activation : str or callable, default="sigmoid"
        "sigmoid", "tanh", "relu", "sine", "hard_limit", "rbf" (exp(-b ‖x - w‖²)), "fourier"
        (random cosines) or a function of the array xW + b. W is drawn from U(-1, 1) and b from
        U(0, 1): scale the inputs so that differences of order 1 matter.
    alpha : "auto" or float, default="auto"
        Strength of the penalty on β, the paper's λ'. Zero gives the solution of smallest norm,
        "auto" that of smallest generalised cross-validation.
    init : {"robust", "ridge", "zero"}, default="robust"
        "robust" starts from a ridge fit and brings σ down from the largest residual to its
        value; "ridge" leaves out the second part. Both then take steps that never raise the
        cost. "zero" is Algorithm 1 as printed: start at β = 0, full steps, stop when J changes
        by less than ``tol``. The adaptive loss has a robust start of its own.
    max_iter : int, default=100
        The largest number of reweighted steps.
    tol : float, default=1e-8
        Stop when the cost changes by less than this share of itself, and the parameters by less
        than its square root.
    forgetting : float, default=1
        For `partial_fit`: what a batch still counts when the next one has come. 1 forgets
        nothing; 0.99 remembers about a hundred batches.
    memory_limit : float, optional
        The number of bytes that the hidden layer's output H may take. A larger H is computed
        anew, block by block, in every pass. By default a quarter of the memory that is free,
        and at most 256 MB where X is read from a file.
    random_state : int, RandomState or None
        Seed of the hidden layer and of the samples of rows.

    Attributes
    ----------
    coef_ : array of shape (n_hidden,) or (n_targets, n_hidden)
        Output weights.
    hidden_layer_ : HiddenLayer
        Input weights ``W``, biases ``b`` and activation.
    loss_ : Loss
        The loss with σ as a number: the chosen one.
    alpha_ : float
        The penalty: the chosen one.
    selection_ : Selection or None
        The candidates for the loss and their estimated variances; print it.
    weights_ : array of shape (n,)
        Weight of each training row at the solution; an outlier has 0.
    outlier_scores_ : array of shape (n,)
        Residual norm of each training row over ``scale_``.
    outliers_ : array of bool of shape (n,)
        Rows whose score exceeds 2.58 for one target: on clean Gaussian data, 1% of them.
    scale_ : float
        MAD of the residuals, corrected for the degrees of freedom where they are known.
    history_ : array
        Cost at the start and after each step.
    n_iter_ : int
        The number of steps.
    status_ : str
        Why the fit stopped.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> from kmpe import ELMRegressor, KMPE
    >>> from kmpe.datasets import make_sinc
    >>> X, y = make_sinc(200, random_state=0)
    >>> model = ELMRegressor(KMPE(p=4, sigma=0.8), n_hidden=90, alpha=2e-6, random_state=0)
    >>> X_test, y_test = make_sinc(200, noise=None, random_state=1)
    >>> bool(model.fit(X, y).score(X_test, y_test) > 0.99)
    True
    """

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the output weights.

        Parameters
        ----------
        X : array, data frame, sparse matrix or memory map of shape (n, d)
            Inputs. A memory map, or anything else with a shape and row slices (HDF5, zarr), is
            read block by block and never copied as a whole.
        y : array of shape (n,) or (n, q)
            Targets.
        sample_weight : array of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        X, y = read_with_targets(self, X, y, numeric=True, reset=True)
        self._fit(X, _targets(y), sample_weight)
        if y.ndim == 1:
            self.coef_ = self.coef_[0]
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Go on with one more batch of a stream.

        Each batch is weighed by the model that stands, with σ the median over the last
        batches: a batch of outliers leaves no trace. ``weights_`` are those of this batch. The
        first call, also after `fit`, begins a stream.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the batch must fit in memory.

        Returns
        -------
        self
        """
        X, y = read_with_targets(self, X, y, numeric=True, reset=self._begins())
        self._partial_fit(X, _targets(y), sample_weight)
        if y.ndim == 1:
            self.coef_ = self.coef_[0]
        return self

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Return the predicted targets.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        return_interval : float, optional
            Coverage, such as 0.9, of the intervals to return as well. They hold for new rows
            that are not gross outliers, those beyond 5 ``scale_``.

        Returns
        -------
        array of shape (n,) or (n, q)
            Predictions; with ``return_interval`` a tuple of predictions, lower and upper ends.
        """
        predicted = self._output(X)
        if return_interval is None:
            return predicted
        width = radius(
            self._interval_residuals, self._sample_weight, self.outlier_scores_, return_interval
        )
        half = width if predicted.ndim == 2 else width[0]
        return predicted, predicted - half, predicted + half

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class ELMClassifier(ClassifierMixin, _ELM):  # type: ignore[misc]
    """Extreme learning machine for classification with a robust loss.

    The machine of `ELMRegressor` on one-hot targets in {0, 1}, with one weight per sample from
    the norm of its error over all classes: a mislabelled row loses its weight as a whole.

    Parameters
    ----------
    loss, n_hidden, activation, alpha, init, max_iter, tol, forgetting, memory_limit, random_state
        As in `ELMRegressor`.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        The labels.
    coef_ : array of shape (n_classes, n_hidden)
        Output weights.
    hidden_layer_, loss_, alpha_, selection_, weights_, outlier_scores_, outliers_, scale_
        As in `ELMRegressor`. The adaptive loss is the correntropic one, at the σ that suits.
    history_, n_iter_, status_, n_features_in_, feature_names_in_
        As in `ELMRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from kmpe import ELMClassifier, KMPE
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ELMClassifier(KMPE(p=2.8, sigma=1.4), random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    classes_: npt.NDArray[Any]
    # Errors of one-hot targets are bounded, which a loss with large p would make too much of.
    _candidates = (*(Correntropy(sigma) for sigma in (4.5, 2.11, 3.0)), Squared())

    def fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Fit the output weights.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        y : array of shape (n,)
            Labels, of two classes or more.
        sample_weight : array of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        X, y = read_with_targets(self, X, y, numeric=False, reset=True)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            only = self.classes_.tolist()[0]
            raise ValueError(f"y has one class only, {only!r}: a classifier needs two or more")
        self._fit(X, np.eye(len(self.classes_))[codes], sample_weight)
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: npt.ArrayLike | None = None,
        sample_weight: npt.ArrayLike | None = None,
    ) -> Self:
        """Go on with one more batch of a stream, as `ELMRegressor.partial_fit` does.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the batch must fit in memory.
        classes : array of shape (n_classes,), optional
            All labels that will ever come. The first batch needs them, unless it has them all.

        Returns
        -------
        self
        """
        begins = self._begins()
        X, y = read_with_targets(self, X, y, numeric=False, reset=begins)
        check_classification_targets(y)
        if begins:
            self.classes_ = np.unique(y if classes is None else np.asarray(classes))
        elif classes is not None and not np.array_equal(self.classes_, np.unique(classes)):
            raise ValueError(f"classes={classes!r} are not those of the first batch")
        strange = np.setdiff1d(y, self.classes_).tolist()
        if strange:
            raise ValueError(
                f"y has the label {strange[0]!r}, which is not among the classes: "
                "name them all in the first partial_fit(X, y, classes=...)"
            )
        codes = np.searchsorted(self.classes_, y)
        self._partial_fit(X, np.eye(len(self.classes_))[codes], sample_weight)
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the scores of the classes: for two classes, that of the second over the first.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n,) or (n, n_classes)
        """
        scores = self._output(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the class of the largest score.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n,)
        """
        scores = self.decision_function(X)
        codes = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes.

        Least squares on one-hot targets estimates them directly; the scores are moved to the
        nearest point of the probability simplex.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n, n_classes)
        """
        return _nearest_probabilities(self._output(X))


def _nearest_probabilities(scores: Array) -> Array:
    """Return the Euclidean projection of each row on the probability simplex."""
    falling = -np.sort(-scores, axis=1)
    counts = np.arange(1, scores.shape[1] + 1, dtype=scores.dtype)
    excess = (np.cumsum(falling, axis=1) - 1) / counts
    last = np.count_nonzero(falling > excess, axis=1) - 1
    shift = np.take_along_axis(excess, last[:, None], axis=1)
    P = np.maximum(scores - shift, 0)
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _targets(y: npt.NDArray[Any]) -> Array:
    T = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    _check_range(T, "y", "rescale y")
    return T


def _check_weights(sample_weight: npt.ArrayLike | None, X: Any) -> Array | None:
    if sample_weight is None:
        return None
    if not np.any(np.asarray(sample_weight)):
        raise ValueError("every sample_weight is zero: at least one row must count")
    a = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(a)


def _check_range(values: Array, what: str, advice: str) -> None:
    """Refuse values whose squares overflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest <= _LARGEST:
        raise ValueError(
            f"{what} has values as large as {largest:.3g}, too large to square: {advice}"
        )
