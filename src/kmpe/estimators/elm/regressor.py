"""Extreme learning machine for regression."""

from typing import Any, Self

import numpy.typing as npt
from sklearn.base import RegressorMixin

from kmpe.estimators.collections import answer, is_elsewhere
from kmpe.estimators.elm.base import ELM
from kmpe.estimators.elm.elsewhere import fit_collections
from kmpe.estimators.inputs import all_or_nothing, check_targets, read_with_targets
from kmpe.inference.intervals import around, radius
from kmpe.solvers.progress import said

__all__ = ["ELMRegressor"]


class ELMRegressor(RegressorMixin, ELM):  # type: ignore[misc]
    """Extreme learning machine for regression with a robust loss.

    The output weights β minimise ½ Σ ρ(‖tᵢ - hᵢβ‖²) + ½ α ‖β‖², where h is a hidden layer and ρ
    the loss. Without arguments it tunes itself: inputs are scaled, nodes are kernels centred at
    training rows, and a length scale for each input, the variances of a smooth, a rough and a
    linear part, the noise, the number of nodes and the loss are chosen by the evidence.

    With ``activation="sigmoid"`` the layer is random and the inputs are not scaled, as in the
    paper: with `KMPE` this is its ELM-KMPE (Algorithm 1), with `Correntropy` its ELM-RCC, with
    `Squared` its RELM, and with `Squared` and ``alpha=0`` its ELM.

    Parameters
    ----------
    loss : "adaptive" or Loss, default="adaptive"
        A loss of this package, or "adaptive" for minus the log density of the noise, estimated from
        the residuals.
    n_hidden : int or "auto", default="auto"
        The largest number of hidden nodes. "auto" adds rows as nodes until the unexplained variance
        is small compared with the noise, up to √(2·10⁹ / n) or 100. Of a random layer it keeps the
        first 25, 50, 100, 200, 400 or 800 nodes by generalised cross-validation. A stream has at
        most 100.
    activation : str or callable, default="auto"
        "auto" is the self-tuning ELM. The others are random layers on unscaled inputs:
        "sigmoid", "tanh", "relu", "sine", "hard_limit", "rbf" (exp(-b ‖x - w‖²)), "fourier"
        (random cosines) or a function of the array xW + b. Their W is drawn from U(-1, 1) and b
        from U(0, 1): scale the inputs so that differences of order 1 matter.
    alpha : "auto" or float, default="auto"
        Strength of the penalty on β, the paper's λ'. "auto" is the ratio of noise to signal
        variance, by the evidence; for a random layer it is chosen by generalised cross-validation.
        With a random layer, 0 gives the solution of smallest norm. A number with the adaptive loss
        is that of least squares; ``alpha_`` is the penalty for the chosen loss.
    init : {"robust", "ridge", "zero"}, default="robust"
        "robust" starts from a ridge fit and lowers σ from the largest residual to its value;
        "ridge" leaves out the second part. Both then take steps that never increase the cost.
        "zero" is Algorithm 1 as printed: start at β = 0, full steps, stop when J changes by less
        than ``tol``. The adaptive loss has a robust start of its own.
    max_iter : int, default=100
        The largest number of reweighted steps.
    tol : float, default=1e-8
        Stop when the relative change of the cost is below this, and that of the parameters below
        its square root.
    forgetting : float, default=1
        For `partial_fit`: the factor by which the weight of earlier batches decreases with each
        new one. 1 keeps them; 0.99 remembers about a hundred batches.
    memory_limit : float, optional
        The largest number of bytes of the hidden layer's output H. A larger H is computed again,
        block by block, in every pass. By default a quarter of the free memory, and at most 256 MB
        if X is read from a file.
    random_state : int, RandomState or None
        Seed of a random layer. The self-tuning ELM draws only samples of rows, with a fixed seed.
    verbose : int, default=0
        1 reports the progress of a fit on standard error; 0 is silent.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        Output weights of `transform_hidden`: those of the nodes, and with ``activation="auto"`` of
        the linear part and a constant.
    hidden_layer_ : KernelNodes or HiddenLayer
        The nodes with their scaling and kernel, or input weights ``W``, biases ``b`` and
        activation.
    n_hidden_ : int
        The number of hidden nodes used.
    input_scales_ : array of shape (n_features_in_,)
        One over the length scale of each input, in robust units of the input: small for an input
        with a linear effect only, or none.
    input_relevances_ : array of shape (n_features_in_,)
        The root mean square, over nodes and targets, of the change of the prediction per robust
        standard deviation of each input, linear effects included.
    degrees_of_freedom_ : float
        Effective number of parameters of the fit, the trace of its hat matrix.
    tuning_ : list of dict
        For each round: log evidence, noise, variances of the smooth, rough and linear part, the
        share of outliers, and the distribution of leave-one-out errors in words.
    loss_ : Loss
        The loss used, with σ as a number.
    alpha_ : float
        The penalty used.
    noise_ : Noise or None
        The estimated shape of the noise with probabilities; print it. None for a given loss, for
        several targets, and with too few rows.
    weights_ : array of shape (n,)
        Weight of each training row at the solution; an outlier has 0.
    outlier_scores_ : array of shape (n,)
        Residual norm of each training row over ``scale_``; with ``activation="auto"``, of
        leave-one-out residuals.
    outliers_ : array of bool of shape (n,)
        Rows whose score exceeds 2.58 for one target: on clean Gaussian data, 1% of them.
    scale_ : float
        MAD of these residuals, corrected for degrees of freedom unless they are leave-one-out.
    history_ : array
        Cost at the start and after each step.
    n_iter_ : int
        The number of steps.
    status_ : str
        Why the fit stopped.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    ELMClassifier : For classification.
    RobustLinearRegression : Linear, with inference.
    RobustRegressor : Any regressor, made robust.

    Examples
    --------
    >>> from kmpe import ELMRegressor, KMPE
    >>> from kmpe.datasets import make_sinc
    >>> X, y = make_sinc(200, random_state=0)
    >>> X_test, y_test = make_sinc(200, noise=None, random_state=1)
    >>> bool(ELMRegressor().fit(X, y).score(X_test, y_test) > 0.99)
    True

    The ELM of the paper:

    >>> loss = KMPE(p=4, sigma=0.8)
    >>> model = ELMRegressor(loss, n_hidden=90, activation="sigmoid", alpha=2e-6, random_state=0)
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
            Sample weights, as numbers of repeats.

        Returns
        -------
        self
        """
        with all_or_nothing(self), said(type(self).__name__, self.verbose):
            if is_elsewhere(X):
                fit_collections(self, X, y, sample_weight)
            else:
                X, y = read_with_targets(self, X, y, numeric=True, reset=True)
                self._fit(X, check_targets(y), sample_weight)
            if y.ndim == 1:
                self.coef_ = self.coef_[0, :]
        return self

    def partial_fit(self, X: Any, y: Any, sample_weight: npt.ArrayLike | None = None) -> Self:
        """Continue with one more batch of a stream.

        Each batch is weighted by the current model, with σ the median over the last batches, so
        that a batch of outliers has no effect. ``weights_`` are those of this batch. The first
        call, also after `fit`, begins a stream.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`; the batch must fit in memory.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            X, y = read_with_targets(self, X, y, numeric=True, reset=self._stream is None)
            self._partial_fit(X, check_targets(y), sample_weight)
            if y.ndim == 1:
                self.coef_ = self.coef_[0, :]
        return self

    def predict(self, X: Any, return_interval: float | None = None) -> Any:
        """Return the predicted targets.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n, d)
            Inputs.
        return_interval : float, optional
            Coverage, such as 0.9, of prediction intervals to return as well, for new rows that are
            not gross outliers (beyond 5 ``scale_``).

        Returns
        -------
        array of shape (n,) or (n, q)
            Predictions; with ``return_interval`` a tuple of predictions, lower and upper ends.
        """
        if is_elsewhere(X, self.predict):
            return answer(self.predict, X, return_interval)
        predicted = self._output(X)
        if return_interval is None:
            return predicted
        if self._stream is not None:
            raise ValueError("a stream keeps no residuals for intervals: call fit instead")
        return around(predicted, radius(*self._of_sample, return_interval))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
