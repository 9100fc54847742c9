"""The base class of the two ELMs: the hidden layer and the fit of its output weights."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kmpe.arrays import Array, held
from kmpe.choice.labels import LabelNoise
from kmpe.choice.penalty import WIDTHS
from kmpe.choice.scale import GivenLoss
from kmpe.choice.widths import choose_machine
from kmpe.estimators.collections import absent_attribute, answer, is_elsewhere, without_collections
from kmpe.estimators.elm.fitting import Fitted, Settings, Unit, fit_drawn, fit_tuned
from kmpe.estimators.elm.opening import Opening, check_stream, features_of
from kmpe.estimators.inputs import (
    check_loss,
    check_number,
    check_verbose,
    check_weights,
    check_whole_number,
    read,
    set_parameters,
)
from kmpe.foreign import Foreign, asarray, to_numpy
from kmpe.inference.intervals import leave_one_out
from kmpe.inference.outliers import outlier_limit, scaled_residuals
from kmpe.losses import Correntropy, Loss
from kmpe.problems.ridge import Ridge
from kmpe.rows.arranged import arranged
from kmpe.rows.checks import counted_weights
from kmpe.rows.device import of_inputs
from kmpe.rows.hidden_layer import ACTIVATIONS, Activation, HiddenLayer
from kmpe.rows.kernel_nodes import KernelNodes
from kmpe.rows.source import Outputs, Rows
from kmpe.rows.threads import team
from kmpe.solvers.record import Fit
from kmpe.solvers.stream import Stream
from kmpe.solvers.walk import walk
from kmpe.starts.ridge import INITS, RidgeStart

__all__ = ["ELM"]


class ELM(BaseEstimator):  # type: ignore[misc]
    """A hidden layer, and output weights fitted robustly."""

    coef_: Array
    hidden_layer_: HiddenLayer | KernelNodes
    #: The loss that "adaptive" means with a random layer; None to choose it from the residuals.
    _known_loss: ClassVar[Loss | None] = None
    _classifies: ClassVar[bool] = False
    _labels: LabelNoise | None = None
    _stream: Stream | None = None
    _stream_layer: HiddenLayer | KernelNodes | None = None
    _unit: Unit = Unit(np.zeros(1))
    _kind: np.dtype[Any]
    _opening: Opening | None = None
    set_params = set_parameters
    __getstate__ = without_collections

    def __getattr__(self, name: str) -> Any:
        raise absent_attribute(self, name)

    def __init__(
        self,
        loss: Loss | str = "adaptive",
        *,
        n_hidden: int | str = "auto",
        activation: Activation = "auto",
        alpha: float | str = "auto",
        init: str = "robust",
        max_iter: int = 100,
        tol: float = 1e-8,
        forgetting: float = 1.0,
        memory_limit: float | None = None,
        random_state: Any = None,
        verbose: int = 0,
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
        self.verbose = verbose

    @property
    def n_hidden_(self) -> int:
        """The number of hidden nodes used."""
        layer = self.hidden_layer_
        return layer.n_nodes if isinstance(layer, KernelNodes) else layer.n_features

    @property
    def input_scales_(self) -> Array:
        """One over the length scale of each input, in robust units; without linear effects."""
        layer = self.hidden_layer_
        if not isinstance(layer, KernelNodes):
            raise AttributeError('input_scales_ are chosen with activation="auto" only')
        return layer.kernel.scales * (layer.scaling.per > 0)

    @property
    def input_relevances_(self) -> Array:
        """Root mean squared change of the prediction per robust deviation of each input."""
        layer = self.hidden_layer_
        if not isinstance(layer, KernelNodes):
            raise AttributeError('input_relevances_ are known with activation="auto" only')
        return layer.slopes(np.atleast_2d(to_numpy(self.coef_)).T) * (layer.scaling.per > 0)

    def transform_hidden(self, X: Any) -> Array:
        """Return the features H of the hidden layer, (19) of the paper.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Inputs.

        Returns
        -------
        array of shape (n, n_hidden_)
            With ``activation="auto"`` these are followed by the linear part and a constant.
        """
        check_is_fitted(self)
        if is_elsewhere(X, self.transform_hidden):
            return answer(self.transform_hidden, X)
        X = read(self, X, reset=False, accept_sparse="csr")
        if isinstance(X, Foreign):
            return asarray(self.hidden_layer_(X), X.dtype)
        return np.asarray(Rows.inputs(X, self.hidden_layer_).stored(X.dtype).X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.array_api_support = True
        return tags

    def _fit(self, X: Any, T: Array, sample_weight: npt.ArrayLike | None) -> None:
        """Choose or draw the hidden layer, and fit the targets T of shape (n, q)."""
        self._check_parameters()
        a, unit = counted_weights(check_weights(sample_weight, X), T)
        table, settings = arranged(X, T, a), self._settings()
        with team():
            if self._tunes_itself:
                fitted = fit_tuned(table, unit, settings, classes=self._classifies)
            else:
                fitted = fit_drawn(table, unit, self._draw_layer(X), settings)
        self._keep(fitted, unit)

    def _keep(self, fitted: Fitted, unit: float) -> None:
        """Set the attributes of a fit."""
        self.hidden_layer_ = fitted.layer
        self._keep_coef(fitted.beta, fitted.dtype)
        self.loss_, self.alpha_, self.noise_ = fitted.loss, fitted.alpha, fitted.noise
        self.weights_ = fitted.weights
        self.tuning_, self._labels = fitted.table, fitted.labels
        self._keep_record(fitted.fit, fitted.degrees_of_freedom, unit)
        R, a = fitted.R, fitted.a
        # Leave-one-out residuals need no correction for degrees of freedom.
        df = 0.0 if isinstance(fitted.layer, KernelNodes) else fitted.degrees_of_freedom
        self.outlier_scores_, self.scale_ = scaled_residuals(R, a, df)
        self.outliers_ = self.outlier_scores_ > outlier_limit(R.shape[1])
        if fitted.labels is not None and self._given_loss() is None:
            self.outliers_ = self.weights_ < 0.5
        self._of_sample = leave_one_out(R, min(df / float(a.sum()), 0.9)), a, self.outlier_scores_

    def _keep_record(self, fit: Fit[Array], freedom: float, unit: float) -> None:
        """Set attributes about the steps, and end a stream."""
        self.degrees_of_freedom_ = freedom
        self.n_iter_ = fit.n_iter
        self.history_ = fit.costs(unit)
        self.status_ = fit.message
        self._stream = None

    def _settings(self) -> Settings:
        return Settings(
            self._given_loss(),
            self._given_alpha(),
            None if isinstance(self.n_hidden, str) else int(self.n_hidden),
            self.init,
            self.max_iter,
            self.tol,
            self.memory_limit,
        )

    @property
    def _tunes_itself(self) -> bool:
        return isinstance(self.activation, str) and self.activation == "auto"

    def _fit_opening(self, problem: Ridge) -> Fit[Array]:
        """Return the fit to the first batches of a stream."""
        loss = self._given_loss() or Correntropy()
        start = RidgeStart(loss, "robust")
        return walk(problem, start, GivenLoss(loss), self._settings().solve).fit

    def _given_loss(self) -> Loss | None:
        if isinstance(self.loss, str):
            return None if self._tunes_itself else self._known_loss
        return self.loss

    def _given_alpha(self) -> float | None:
        return None if isinstance(self.alpha, str) else float(self.alpha)

    def _partial_fit(self, X: Any, T: Array, sample_weight: npt.ArrayLike | None) -> None:
        """Continue with one more batch of targets T."""
        self._check_parameters()
        X, T, a, _, T0, back = arranged(X, T, check_weights(sample_weight, X))
        batch = Rows(X, T, a)
        opening = self._opening if self._stream is not None else Opening.of(self._tunes_itself)
        stream, layer, unit, labels = self._stream, self._stream_layer, self._unit, self._labels
        with team():
            if opening is not None:
                opening = opening.with_batch(batch)
            if stream is None or (opening is not None and opening.has_grown):
                stream, layer, unit, opening, labels = self._opened(batch, opening)
                earlier = () if opening is None else opening.batches[:-1]
                for some in earlier:
                    stream, _ = stream.after(features_of(some, layer, unit), self._fit_opening)
            assert layer is not None
            stream, w = stream.after(features_of(batch, layer, unit), self._fit_opening)
        beta = unit.size * stream.theta
        if isinstance(layer, KernelNodes):
            self.hidden_layer_, beta = layer.plain(), layer.original(beta, unit.centre)
        else:
            self.hidden_layer_ = layer
        self._stream, self._stream_layer, self._unit = stream, layer, unit
        self._labels = labels
        self._opening = None if opening is None or opening.is_long else opening
        self.weights_ = np.append(w, np.zeros(len(T0)))[back]
        self._keep_coef(beta, X.dtype)
        self.loss_ = unit.of_loss(stream.resolved())

    def _opened(
        self, batch: Rows, opening: Opening | None
    ) -> tuple[Stream, HiddenLayer | KernelNodes, Unit, Opening | None, LabelNoise | None]:
        """Return a new stream with its layer and unit, drawn or chosen on the batches so far."""
        loss, alpha = self._given_loss() or Correntropy(), self._given_alpha()
        settings = self._settings()
        layer: HiddenLayer | KernelNodes
        labels = self._labels
        if opening is None:
            # A random layer in a stream has fixed defaults: 100 nodes and α = 0.001.
            layer = self._draw_layer(batch.X)
            layer = layer.first(100) if settings.n_hidden is None else layer
            unit = Unit.about_zero(batch, loss)
            alpha = 1e-3 if alpha is None else alpha
        else:
            rows = opening.joined()
            unit = Unit.of(rows, loss, classes=self._classifies)
            machine = choose_machine(
                replace(rows, T=unit(rows.T)),
                n_hidden=settings.n_hidden or 100,
                alpha=alpha,
                classes=unit.centre if self._classifies else None,
            )
            layer, alpha, labels = machine.features, machine.alpha, machine.labels
            opening = opening.chosen()
        return Stream(loss, alpha, float(self.forgetting)), layer, unit, opening, labels

    def _output(self, X: Any) -> Array:
        check_is_fitted(self)
        X = read(self, X, reset=False, accept_sparse="csr")
        coef = self.coef_.reshape(-1, self.hidden_layer_.n_features).T
        Y = of_inputs(X, self.hidden_layer_, Outputs(coef), coef.shape[1])
        kind = self._kind if isinstance(self.hidden_layer_, KernelNodes) else coef.dtype
        Y = Y.astype(np.result_type(X.dtype, kind), copy=False)
        return Y if self.coef_.ndim == 2 else Y[:, 0]

    def _draw_layer(self, X: Any) -> HiddenLayer:
        rng: np.random.RandomState = check_random_state(self.random_state)
        n_hidden = WIDTHS[-1] if isinstance(self.n_hidden, str) else int(self.n_hidden)
        return HiddenLayer.draw(X.shape[1], n_hidden, self.activation, rng, X.dtype)

    def _keep_coef(self, theta: Array, dtype: npt.DTypeLike) -> None:
        coef = np.ascontiguousarray(held(theta.T, dtype))
        self._kind = coef.dtype
        # Coefficients of neighbouring kernel nodes cancel: they stay in double precision.
        nodes = isinstance(self.hidden_layer_, KernelNodes)
        self.coef_ = np.ascontiguousarray(theta.T) if nodes else coef

    def _check_parameters(self) -> None:
        check_loss(self.loss)
        if not (callable(self.activation) or self._tunes_itself or self.activation in ACTIVATIONS):
            known = ", ".join(["auto", *ACTIVATIONS])
            raise ValueError(f"activation={self.activation!r} must be a callable or one of {known}")
        if self.init not in INITS:
            raise ValueError(f"init={self.init!r} must be one of {', '.join(INITS)}")
        check_whole_number("n_hidden", self.n_hidden, auto=True)
        check_whole_number("max_iter", self.max_iter)
        check_number("alpha", self.alpha, zero=True, auto=True)
        check_number("tol", self.tol)
        check_verbose(self.verbose)
        check_stream(self.forgetting, self.memory_limit)
