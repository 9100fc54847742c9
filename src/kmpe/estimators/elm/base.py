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
from sklearn.utils.validation import check_is_fitted

from kmpe.arrays import Array, Index, held
from kmpe.choice.penalty import WIDTHS, Tuned, Tuning, choose_width
from kmpe.choice.scale import GivenLoss
from kmpe.estimators.inputs import (
    RobustnessWarning,
    check_loss,
    check_number,
    check_weights,
    check_whole_number,
    read,
    set_parameters,
)
from kmpe.inference.intervals import leave_one_out
from kmpe.inference.outliers import outlier_limit, scaled_residuals
from kmpe.losses import Correntropy, Loss
from kmpe.problems.ridge import Ridge
from kmpe.rows.arranged import arranged
from kmpe.rows.checks import counted_weights
from kmpe.rows.files import Reader
from kmpe.rows.hidden_layer import ACTIVATIONS, Activation, HiddenLayer
from kmpe.rows.source import Outputs, Rows
from kmpe.rows.threads import MOST_KEPT, free_memory, team
from kmpe.solvers.minimise import solve
from kmpe.solvers.record import Fit
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.stream import Stream
from kmpe.solvers.walk import Chosen, walk
from kmpe.starts.ridge import INITS, RidgeStart

__all__ = ["ELM"]

_DEAD = (
    "Every hidden node is 0 on every row, so that 0 is predicted: scale X so that differences of "
    "order 1 matter, or choose another activation."
)


class ELM(BaseEstimator):  # type: ignore[misc]
    """A random hidden layer, and output weights fitted robustly."""

    coef_: Array
    hidden_layer_: HiddenLayer
    #: What "adaptive" stands for where it is known beforehand; None where residuals must tell.
    _known_loss: ClassVar[Loss | None] = None
    _stream: Stream | None = None
    set_params = set_parameters

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
        return self.hidden_layer_.n_features

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
        X = read(self, X, reset=False, accept_sparse="csr")
        return np.asarray(Rows.inputs(X, self.hidden_layer_).stored(X.dtype).X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _fit(self, X: Any, T: Array, sample_weight: npt.ArrayLike | None) -> None:
        """Draw the hidden layer and fit the targets T of shape (n, q)."""
        self._check_parameters()
        a, unit = counted_weights(check_weights(sample_weight, X), T)
        layer, alpha = self._draw_layer(X), self._given_alpha()
        X, T, a, X0, T0, back = arranged(X, T, a)
        tuning = Tuning(self._given_loss(), None if alpha is None else alpha / unit, self.init)
        with team():
            rows = Rows(X, T, a, layer)
            if isinstance(self.n_hidden, str):
                layer = layer.first(choose_width(rows, loss=tuning.loss, alpha=tuning.alpha))
                rows = replace(rows, features=layer)
            if len(T) * layer.n_features * X.dtype.itemsize <= self._memory_limit(X):
                rows = rows.stored(X.dtype)
            walked = walk(Ridge.of(rows), tuning.start, tuning.choose, self._solve)
            problem, fit = walked.chosen.problem, walked.fit
            beta = problem.coefficients(fit.theta)
            idle = T0 - Rows.inputs(X0, layer).column(Outputs(beta), T.shape[1])
            R = np.concatenate([problem.residuals(fit.theta), idle])
            a = np.append(problem.sample_weight, np.zeros(len(T0)))
        if not fit.status.converged:
            warnings.warn(fit.message, ConvergenceWarning, stacklevel=3)
        if T.any() and not fit.theta.any() and not problem.with_penalties(0.0).gram().any():
            warnings.warn(_DEAD, RobustnessWarning, stacklevel=3)
        tuned: Tuned = walked.chosen.details
        self.hidden_layer_ = layer
        self._keep_coef(beta, X.dtype)
        self.loss_ = fit.loss
        self.alpha_ = tuned.alpha * unit
        self.noise_ = tuned.noise
        self.weights_ = fit.criterion.weight(np.einsum("ij,ij->i", R, R))[back]
        self.n_iter_ = fit.n_iter
        self.history_ = unit * np.array(fit.history)
        self.status_ = fit.message
        self._stream = None
        self._set_outliers(R, a, tuned.degrees_of_freedom, back)

    def _solve(self, chosen: Chosen[Ridge, Array]) -> Fit[Array]:
        if self.init == "zero" and self._given_loss() is not None:
            return self._solve_as_printed(chosen)
        return solve(chosen, max_iter=self.max_iter, tol=self.tol)

    def _solve_as_printed(self, chosen: Chosen[Ridge, Array]) -> Fit[Array]:
        """Algorithm 1 to the letter."""
        return reweight(
            chosen.problem,
            chosen.loss,
            chosen.theta,
            max_iter=self.max_iter,
            tol=self.tol,
            as_printed=True,
        )

    def _fit_opening(self, problem: Ridge) -> Fit[Array]:
        """Return the fit to the first batches of a stream, α in its problem."""
        loss = self._given_loss() or Correntropy()
        return walk(problem, RidgeStart(loss, "robust"), GivenLoss(loss), self._solve).fit

    def _given_loss(self) -> Loss | None:
        return self._known_loss if isinstance(self.loss, str) else self.loss

    def _given_alpha(self) -> float | None:
        return None if isinstance(self.alpha, str) else float(self.alpha)

    def _set_outliers(self, R: Array, a: Array, df: float, back: Index | slice) -> None:
        """Set the scores of the rows: residual norms over their scale."""
        scores, self.scale_ = scaled_residuals(R, a, df)
        self.outlier_scores_ = scores[back]
        self.outliers_ = self.outlier_scores_ > outlier_limit(R.shape[1])
        self._interval_residuals = leave_one_out(R, min(df / float(a.sum()), 0.9))[back]
        # Equal rows share the weight of the one that was fitted.
        shared = 1 if isinstance(back, slice) else np.bincount(back)[back]
        self._sample_weight = a[back] / shared

    def _partial_fit(self, X: Any, T: Array, sample_weight: npt.ArrayLike | None) -> None:
        """Go on with the targets T of one more batch."""
        self._check_parameters()
        a = check_weights(sample_weight, X)
        stream, layer = self._stream, getattr(self, "hidden_layer_", None)
        if stream is None or layer is None:
            # A stream begins before anything can be chosen: 100 nodes and α = 0.001 must do.
            layer = self._draw_layer(X)
            if isinstance(self.n_hidden, str):
                layer = layer.first(100)
            loss, alpha = self._given_loss() or Correntropy(), self._given_alpha()
            alpha = 1e-3 if alpha is None else alpha
            stream = Stream(loss, alpha, float(self.forgetting))
        X, T, a, _, T0, back = arranged(X, T, a)
        with team():
            batch = Rows(X, T, a, layer).stored()
            stream, w = stream.after(batch, self._fit_opening)
        self.hidden_layer_, self._stream = layer, stream
        self.weights_ = np.append(w, np.zeros(len(T0)))[back]
        self._keep_coef(stream.theta, X.dtype)
        self.loss_ = stream.resolved()

    def _output(self, X: Any) -> Array:
        check_is_fitted(self)
        X = read(self, X, reset=False, accept_sparse="csr")
        coef = self.coef_.reshape(-1, self.n_hidden_).T
        Y = Rows.inputs(X, self.hidden_layer_).column(Outputs(coef), coef.shape[1])
        Y = Y.astype(np.result_type(X.dtype, coef.dtype), copy=False)
        return Y if self.coef_.ndim == 2 else Y[:, 0]

    def _begins(self) -> bool:
        return self._stream is None

    def _draw_layer(self, X: Any) -> HiddenLayer:
        rng: np.random.RandomState = check_random_state(self.random_state)
        n_hidden = WIDTHS[-1] if isinstance(self.n_hidden, str) else int(self.n_hidden)
        return HiddenLayer.draw(X.shape[1], n_hidden, self.activation, rng, X.dtype)

    def _keep_coef(self, theta: Array, dtype: npt.DTypeLike) -> None:
        self.coef_ = np.ascontiguousarray(held(theta.T, dtype))

    def _memory_limit(self, X: Any) -> float:
        """Return how many bytes H may take: a quarter of the memory that is free by default."""
        if self.memory_limit is not None:
            return self.memory_limit
        # What is read from a file was too large for the memory: H will be as well.
        most = MOST_KEPT if isinstance(X, Reader) else np.inf
        return min(0.25 * free_memory(), most)

    def _check_parameters(self) -> None:
        check_loss(self.loss)
        if not callable(self.activation) and self.activation not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ValueError(f"activation={self.activation!r} must be a callable or one of {known}")
        if self.init not in INITS:
            raise ValueError(f"init={self.init!r} must be one of {', '.join(INITS)}")
        check_whole_number("n_hidden", self.n_hidden, auto=True)
        check_whole_number("max_iter", self.max_iter)
        check_number("alpha", self.alpha, zero=True, auto=True)
        check_number("tol", self.tol)
        if not (isinstance(self.forgetting, numbers.Real) and 0 < float(self.forgetting) <= 1):
            raise ValueError(f"forgetting={self.forgetting!r} must be above 0 and at most 1")
        limit = self.memory_limit
        if limit is not None and not (isinstance(limit, numbers.Real) and float(limit) >= 0):
            raise ValueError(f"memory_limit={limit!r} must be None or a number of bytes")
