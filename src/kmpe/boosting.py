"""Robust objectives and metrics for XGBoost and LightGBM: ``train`` and scikit-learn interface.

An objective gives a booster the slope and the curvature of ½ρ(r²) at each row. The slope is ψ. The
curvature ψ' of a robust loss is negative for outliers; the weight ρ' is used instead (for losses
that are not concave in r² the bound `Loss.metric`), so that the value of a leaf is the weighted
mean of half-quadratic reweighting (Geman and Reynolds 1992).

A redescending loss must not start from predictions of 0, as rows far from 0 would have no weight.
Neither booster starts a custom objective at the median, so the objective moves there itself: in the
first round all rows have the same step, which reveals the learning rate, and in the second they
make the rest of the way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.evidence import entropy_scale
from kmpe.losses import Loss, Tukey
from kmpe.losses.scale import quantile

__all__ = ["Objective", "lightgbm_metric", "xgboost_metric"]


class Objective:
    """The objective ½ρ(r²) for XGBoost and LightGBM.

    It is a callable for all four places: ``xgboost.train(obj=...)``,
    ``XGBRegressor(objective=...)``, ``lightgbm.train({"objective": ...})`` and
    ``LGBMRegressor(objective=...)``.

    Parameters
    ----------
    loss : Loss, default=Tukey()
        Any loss of this package. A rule for σ is applied again in every round, until the factors
        1 - learning rate of all rounds multiply to 0.1.

    Attributes
    ----------
    sigma_ : float
        The σ of the last round; LightGBM's wrapper sets it on a copy.

    See Also
    --------
    xgboost_metric, lightgbm_metric : Robust errors for early stopping.
    kmpe.RobustRegressor : Any regressor, made robust.

    Notes
    -----
    A redescending loss gives no weight to good rows whose targets are far from the median, and
    never learns them: see docs/anything.md.

    Examples
    --------
    >>> from kmpe import KMPE
    >>> objective = Objective(KMPE(sigma=1.0))
    >>> y, predicted = np.array([1.0, 1.0, 99.0]), np.array([0.0, 0.5, 1.0])
    >>> slope, curvature = objective(y, predicted)
    >>> slope.round(2), curvature.round(2)
    (array([-0.61, -0.44, -0.  ]), array([0.61, 0.88, 0.  ]))
    """

    def __init__(self, loss: Loss | None = None) -> None:
        if loss is not None and not isinstance(loss, Loss):
            raise ValueError(f"loss={loss!r} must be a loss such as kmpe.Tukey()")
        self.loss = Tukey() if loss is None else loss
        self._fit = _Fit()

    def __call__(self, first: Any, second: Any, sample_weight: Any = None) -> tuple[Array, Array]:
        """Return slope and curvature of the objective at each row.

        Parameters
        ----------
        first, second
            Predictions and a ``DMatrix`` or ``Dataset``, or targets and predictions.
        sample_weight : array of shape (n,), optional
            How often each row counts.
        """
        y, F, a = _rows(first, second, sample_weight)
        constant = bool(F.min() == F.max())
        if constant and (self._fit.rounds != 1 or F[0] == self._fit.start):
            self._fit = _Fit(float(F[0]), quantile(y, 0.5, a))
        fit = self._fit
        fit.rounds += 1
        if constant and fit.rounds == 1 and fit.start != fit.middle:
            return _common_step(fit.middle - fit.start, y - fit.middle, a)
        missing = 0.0
        if fit.rounds == 2 and fit.start != fit.middle:
            moved = float(np.average(F, weights=a)) - fit.start
            fit.rate = moved / (fit.middle - fit.start)
            # Not a learning rate: the first round was not made by this objective.
            missing = fit.middle - fit.start - moved if 0 < fit.rate <= 1 else 0.0
        slope, curvature = self._derivatives(y - F - missing, a)
        if missing == 0:
            return slope, curvature
        # In one tree: what is missing to the median, over the learning rate, and a step from there.
        return _firm(slope - curvature * missing / fit.rate, curvature)

    def _derivatives(self, r: Array, a: Array) -> tuple[Array, Array]:
        s = r * r
        if self._fit.loss is None or self._fit.learns:
            self._fit.loss = self.loss.resolve(s, a)
        loss = self._fit.loss
        self.sigma_ = loss.scale
        return -a * loss.psi(r), a * loss.metric(s, loss.weight(s))


@dataclass
class _Fit:
    """What is remembered between the rounds of one fit."""

    start: float = 0.0
    middle: float = 0.0
    rounds: int = 0
    #: The learning rate, as the first round shows it.
    rate: float = 0.1
    loss: Loss | None = None

    @property
    def learns(self) -> bool:
        """Whether the residuals still show the noise: the fit has gone less than 90% of its way.

        Later they get smaller because the trees overfit the noise.
        """
        rate = min(max(self.rate, 0.0), 1.0)
        return (1 - rate) ** self.rounds > 0.1


def _common_step(step: float, r: Array, a: Array) -> tuple[Array, Array]:
    """Return slopes that give all rows the same step.

    They differ by 1% according to the signs of the residuals, with the same mean: LightGBM stops
    at a tree without a split.
    """
    sign = np.sign(r)
    return _firm(-a * step * (1 + 0.01 * (sign - np.average(sign, weights=a))), a)


def _firm(slope: Array, curvature: Array) -> tuple[Array, Array]:
    """Return slope and curvature in a unit in which penalties on leaves are negligible."""
    return 1e4 * slope, 1e4 * curvature


def xgboost_metric(first: Any, second: Any, sample_weight: Any = None) -> Any:
    """Return the robust error: the σ of a Gaussian with the same entropy as the errors.

    For ``xgboost.train(custom_metric=...)`` and ``XGBRegressor(eval_metric=...)``.

    See Also
    --------
    Objective : The objective.

    Examples
    --------
    >>> e = np.random.default_rng(0).normal(size=1000)
    >>> round(xgboost_metric(e, np.zeros(1000)), 1)
    1.0
    """
    value = _error(first, second, sample_weight)
    return ("robust_error", value) if hasattr(second, "get_label") else value


def lightgbm_metric(first: Any, second: Any, weight: Any = None) -> tuple[str, float, bool]:
    """Return name and value of the robust error, and False: larger is not better.

    For ``lightgbm.train(feval=...)`` and ``LGBMRegressor.fit(eval_metric=...)``.

    See Also
    --------
    Objective : The objective.

    Examples
    --------
    >>> e = np.random.default_rng(0).normal(size=1000)
    >>> name, value, larger_is_better = lightgbm_metric(e, np.zeros(1000))
    >>> name, round(value, 1), larger_is_better
    ('robust_error', 1.0, False)
    """
    return "robust_error", _error(first, second, weight), False


def _error(first: Any, second: Any, weight: Any) -> float:
    y, F, a = _rows(first, second, weight)
    return entropy_scale((y - F)[:, None], a)


def _rows(first: Any, second: Any, weight: Any) -> tuple[Array, Array, Array]:
    """Return targets, predictions and weights from the arguments of either interface."""
    y, F = first, second
    if hasattr(second, "get_label"):
        F, y, weight = first, second.get_label(), second.get_weight()
    y, F = (np.asarray(values, dtype=np.float64) for values in (y, F))
    if F.size != y.size or y.size != len(y):
        raise ValueError(
            f"predictions have shape {F.shape} and targets {y.shape}: one target per row is needed"
        )
    none = weight is None or np.size(weight) == 0
    a = np.ones(y.size) if none else np.asarray(weight, dtype=np.float64)
    return y.ravel(), F.ravel(), a
