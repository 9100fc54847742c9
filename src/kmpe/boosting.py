"""Robust objectives and metrics for XGBoost and LightGBM: ``train`` and scikit-learn interface.

An objective gives a booster the slope and the curvature of ½ρ(r²) at each row. The slope is ψ. The
curvature ψ' of a robust loss is negative for outliers; the weight ρ' is used instead (for losses
that are not concave in r² the bound `Loss.metric`), so that the value of a leaf is the weighted
mean of half-quadratic reweighting (Geman and Reynolds 1992). By default the weights are those of
`kmpe.choice.leaves`, where rows far from the fit are judged by the rows of their leaf.

A redescending loss must not start from predictions of 0, as rows far from 0 would have no weight.
Neither booster starts a custom objective at the median of the targets, so the objective moves there
itself: in the first round all rows have the same step, which reveals the learning rate, and in the
second they make the rest of the way.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.leaves import LeafJudge
from kmpe.losses import Loss
from kmpe.losses.scale import mad, quantile
from kmpe.metrics import robust_error

__all__ = ["Objective", "lightgbm_metric", "xgboost_metric"]


class Objective:
    """The objective ½ρ(r²) for XGBoost and LightGBM.

    It is a callable for all four places: ``xgboost.train(obj=...)``,
    ``XGBRegressor(objective=...)``, ``lightgbm.train({"objective": ...})`` and
    ``LGBMRegressor(objective=...)``.

    Parameters
    ----------
    loss : "adaptive" or Loss, default="adaptive"
        "adaptive" is least squares, unless some targets are grossly wrong; then it is Tukey's
        biweight, and rows far from the fit are left out if no tree predicts them. Or any loss of
        this package. σ is chosen again in every round, if it is a rule, until the factors
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
    A redescending loss that is given, such as ``Tukey()``, has no weight for good rows whose
    targets are far from the median, and never learns them: see docs/anything.md.

    Examples
    --------
    >>> from kmpe import KMPE
    >>> objective = Objective(KMPE(sigma=1.0))
    >>> y, predicted = np.array([1.0, 1.0, 99.0]), np.array([0.0, 0.5, 1.0])
    >>> slope, curvature = objective(y, predicted)
    >>> slope.round(2), curvature.round(2)
    (array([-0.61, -0.44, -0.  ]), array([0.61, 0.88, 0.  ]))
    """

    def __init__(self, loss: Loss | str = "adaptive") -> None:
        if loss != "adaptive" and not isinstance(loss, Loss):
            raise ValueError(f"loss={loss!r} must be 'adaptive' or a loss such as kmpe.Tukey()")
        self.loss = loss
        self._fits: dict[int, _Fit] = {}

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
        fit = self._fit_of(y, F, a)
        fit.rounds += 1
        away = fit.middle - fit.start
        if fit.rounds == 1 and away != 0 and F.min() == F.max():
            return _common_step(away, y - fit.middle, a)
        if fit.rounds == 2 and away != 0:
            moved = float(np.average(F, weights=a)) - fit.start
            fit.rate = moved / away
            # Otherwise the first round was not made by this objective.
            if 0 < fit.rate < 1:
                return _common_step((away - moved) / fit.rate, y - fit.middle, a)
        fit.steps += 1
        if isinstance(self.loss, Loss):
            return self._derivatives(self.loss, fit, y - F, a)
        return self._judged(fit, y, F, a)

    def _fit_of(self, y: Array, F: Array, a: Array) -> "_Fit":
        """Return what is known of the fit to these targets; in ``cv`` several take turns."""
        key = hash(y.tobytes())
        fit = self._fits.get(key)
        begins = F.min() == F.max() and (fit is None or fit.rounds != 1 or F[0] == fit.start)
        if fit is None or begins:
            middle = quantile(y, 0.5, a)
            # Predictions that differ were started by the user.
            start = float(F[0]) if begins else middle
            fit = self._fits[key] = _Fit(start, middle)
        return fit

    def _derivatives(self, given: Loss, fit: "_Fit", r: Array, a: Array) -> tuple[Array, Array]:
        s = r * r
        if fit.loss is None or fit.learns:
            fit.loss = given.resolve(s, a)
        self.sigma_ = fit.loss.scale
        return -a * fit.loss.psi(r), a * fit.loss.metric(s, fit.loss.weight(s))

    def _judged(self, fit: "_Fit", y: Array, F: Array, a: Array) -> tuple[Array, Array]:
        r = y - F
        if fit.judge is None:
            fit.judge = LeafJudge((y - fit.middle) ** 2)
            fit.judge.judge(r, F, a)
        elif fit.learns:
            fit.judge.judge(r, F, a)
        self.sigma_ = fit.judge.sigma
        slope, curvature = fit.judge.derivatives(r, fit.learns)
        return a * slope, a * curvature


@dataclass
class _Fit:
    """What is remembered between the rounds of one fit."""

    start: float
    middle: float
    rounds: int = 0
    #: Rounds after the way to the middle.
    steps: int = 0
    #: The learning rate, as the first round shows it.
    rate: float = 0.1
    loss: Loss | None = None
    judge: LeafJudge | None = None

    @property
    def learns(self) -> bool:
        """Whether the residuals still show the noise: the fit has gone less than 90% of its way.

        Later they get smaller because the trees overfit the noise.
        """
        rate = min(max(self.rate, 0.0), 1.0)
        return (1 - rate) ** self.steps > 0.1


def _common_step(step: float, r: Array, a: Array) -> tuple[Array, Array]:
    """Return slopes that give all rows the same step.

    LightGBM stops at a tree without a split, so steps differ according to the signs of the
    residuals, with the same mean: by 1% of the scale, or what single precision can tell apart.
    Their unit makes penalties on leaves negligible.
    """
    sign = np.sign(r)
    differ = max(0.01 * mad(r * r, a), 1e-5 * abs(step))
    slope = -a * (step + differ * (sign - np.average(sign, weights=a)))
    return 1e4 * slope, 1e4 * a


def xgboost_metric(first: Any, second: Any, sample_weight: Any = None) -> Any:
    """Return the robust error, `kmpe.metrics.robust_error`.

    For ``xgboost.train(custom_metric=...)`` and ``XGBRegressor(eval_metric=...)``.

    See Also
    --------
    Objective : The objective.

    Examples
    --------
    >>> e = np.random.default_rng(0).normal(size=1000)
    >>> round(xgboost_metric(e, np.zeros(1000)), 1)  # mean absolute error: 0.8
    0.7
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
    ('robust_error', 0.7, False)
    """
    return "robust_error", _error(first, second, weight), False


def _error(first: Any, second: Any, weight: Any) -> float:
    y, F, a = _rows(first, second, weight)
    return robust_error(y, F, sample_weight=a)


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
