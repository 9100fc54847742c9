"""What the two machines share: the hidden layer and the fit of its output weights."""

import numbers
import warnings
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from kmpe.arrays import Array
from kmpe.choice.penalty import WIDTHS, Tuned, choose_width, tune
from kmpe.estimators.inputs import BlockReader, read
from kmpe.inference.covariance import outlier_limit, scaled_residuals
from kmpe.inference.intervals import leave_one_out
from kmpe.losses import Correntropy, Loss
from kmpe.problems.ridge import Ridge
from kmpe.rows.hidden_layer import ACTIVATIONS, Activation, HiddenLayer
from kmpe.rows.source import Block, Rows
from kmpe.rows.threads import free_memory, team
from kmpe.solvers.ridge import INITS, fit_ridge
from kmpe.solvers.stream import Stream

__all__ = ["ELM", "check_range"]

# What H may take of the memory that is free, and where X is out of core, at most.
_SHARE_OF_MEMORY = 0.25
_OUT_OF_CORE = 256 << 20
# A stream begins before anything can be chosen.
_STREAM_ALPHA = 1e-3
_STREAM_HIDDEN = 100
# Squares of larger numbers, summed over the rows, overflow.
_LARGEST = 1e150


class ELM(BaseEstimator):  # type: ignore[misc]
    """A random hidden layer, and output weights fitted robustly."""

    coef_: Array
    hidden_layer_: HiddenLayer
    #: What "adaptive" stands for where it is known beforehand; None where residuals must tell.
    _known_loss: ClassVar[Loss | None] = None
    _stream: Stream | None = None

    def __init__(
        self,
        loss: Loss | str = "adaptive",
        *,
        n_hidden: int | str = 100,
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

    @property
    def n_hidden_(self) -> int:
        """The number of hidden nodes: the chosen one."""
        return int(self.hidden_layer_.W.shape[1])

    def transform_hidden(self, X: Any) -> Array:
        """Return the features H of the hidden layer, (19) of the paper.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n, n_hidden_)
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
            if isinstance(self.n_hidden, str):
                width = choose_width(rows, loss=self._given_loss(), alpha=self._given_alpha())
                self.hidden_layer_ = self.hidden_layer_.first(width)
                rows = self._rows(X, T, a)
            if len(T) * self.n_hidden_ * X.dtype.itemsize <= self._memory_limit(X):
                rows = rows.stored(X.dtype)
            problem = Ridge.of(rows, 0.0)
            tuned = self._tune(problem)
            problem = replace(problem, alpha=tuned.alpha)
            fit = fit_ridge(
                problem,
                tuned.loss,
                init=self.init,
                theta=tuned.beta if self._given_loss() is None else None,
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

    def _given_loss(self) -> Loss | None:
        return self._known_loss if isinstance(self.loss, str) else self.loss

    def _given_alpha(self) -> float | None:
        return None if isinstance(self.alpha, str) else float(self.alpha)

    def _tune(self, problem: Ridge) -> Tuned:
        """Return α, the loss and a start, those that were not given chosen on some rows."""
        loss, alpha = self._given_loss(), self._given_alpha()
        if loss is not None and alpha is not None:
            return Tuned(alpha, None, 0.0, loss, None)
        tuned = tune(problem.rows, loss=loss, alpha=alpha)
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
            if isinstance(self.n_hidden, str):
                self.hidden_layer_ = self.hidden_layer_.first(_STREAM_HIDDEN)
            loss, alpha = self._given_loss() or Correntropy(), self._given_alpha()
            alpha = _STREAM_ALPHA if alpha is None else alpha
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
        coef = self.coef_.reshape(-1, self.n_hidden_).T
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
            check_range(H, "the hidden layer", "scale X, or choose a bounded activation")
            return H

        a = np.broadcast_to(np.float64(1.0), len(T)) if a is None else a
        return Rows(features, T, a, layer.W.shape[1])

    def _draw_layer(self, X: Any) -> np.random.RandomState:
        """Draw the hidden layer, and return what random numbers are left."""
        rng: np.random.RandomState = check_random_state(self.random_state)
        n_hidden = WIDTHS[-1] if isinstance(self.n_hidden, str) else int(self.n_hidden)
        self.hidden_layer_ = HiddenLayer.draw(X.shape[1], n_hidden, self.activation, rng, X.dtype)
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
        for name, or_auto in (("n_hidden", 'or "auto"'), ("max_iter", "")):
            value = getattr(self, name)
            if or_auto and isinstance(value, str) and value == "auto":
                continue
            if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < 1:
                raise ValueError(
                    f"{name}={value!r} must be a whole number of at least 1 {or_auto}".rstrip()
                )
        if not (isinstance(self.forgetting, numbers.Real) and 0 < float(self.forgetting) <= 1):
            raise ValueError(f"forgetting={self.forgetting!r} must be above 0 and at most 1")
        limit = self.memory_limit
        if limit is not None and not (isinstance(limit, numbers.Real) and float(limit) >= 0):
            raise ValueError(f"memory_limit={limit!r} must be None or a number of bytes")
        for name, least in (("alpha", '0 or above, or "auto"'), ("tol", "above 0")):
            value = getattr(self, name)
            if name == "alpha" and isinstance(value, str) and value == "auto":
                continue
            valid = isinstance(value, numbers.Real) and 0 <= float(value) < np.inf
            if not valid or (name == "tol" and value == 0):
                raise ValueError(f"{name}={value!r} must be a number {least}")


def _check_weights(sample_weight: npt.ArrayLike | None, X: Any) -> Array | None:
    if sample_weight is None:
        return None
    if not np.any(np.asarray(sample_weight)):
        raise ValueError("every sample_weight is zero: at least one row must count")
    a = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(a)


def check_range(values: Array, what: str, advice: str) -> None:
    """Refuse values whose squares overflow."""
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if not largest <= _LARGEST:
        raise ValueError(
            f"{what} has values as large as {largest:.3g}, too large to square: {advice}"
        )
