"""The loss, its derivative and the weights of the residuals."""

from typing import Any, Self

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.plots.drawing import GREY, RED, axes
from kmpe.plots.residuals import final_step, residuals_of

__all__ = ["LossDisplay"]

_BLUE = "#2f9fd8"


class LossDisplay:
    """The loss ρ, its derivative ψ and the weight as functions of the residual.

    Each curve is divided by its largest value; the ticks below it are the residuals.

    Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    loss : Loss
        A loss whose σ is a number.
    residuals : array of shape (n,)
        The residuals.

    Attributes
    ----------
    lines_ : list of Line2D
        ρ, ψ and the weight.
    rug_ : Line2D
        The residuals.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    WeightsDisplay : The weights of the rows that were fitted.
    choose_loss : Chooses a loss for given residuals.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe import KMPE
    >>> from kmpe.plots import LossDisplay
    >>> display = LossDisplay(loss=KMPE(p=2, sigma=1.0), residuals=np.arange(-3, 4)).plot()
    >>> [line.get_label() for line in display.lines_]
    ['ρ', 'ψ', 'weight']
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, loss: Loss, residuals: Array) -> None:
        self.loss = loss
        self.residuals = residuals

    def plot(
        self,
        ax: Any = None,
        *,
        n_points: int = 500,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        n_points : int, default=500
            How many values each curve has.
        line_kwargs : dict, default=None
            Keywords for the curves.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        end = float(np.abs(self.residuals).max(initial=0.0)) or 1.0
        r = np.linspace(-end, end, n_points)
        curves = (
            ("ρ", self.loss.rho(r * r), GREY, "-"),
            ("ψ", self.loss.psi(r), _BLUE, "--"),
            ("weight", self.loss.weight(r * r), RED, "-"),
        )
        self.lines_ = []
        for name, values, colour, dashes in curves:
            line = {"color": colour, "linestyle": dashes, "label": name, **(line_kwargs or {})}
            top = float(np.abs(values).max()) or 1.0
            self.lines_.append(ax.plot(r, values / top, **line)[0])
        # Ticks that would overlap are drawn once: a million residuals become a few hundred.
        strokes = np.unique(np.round(self.residuals / end * n_points) / n_points * end)
        self.rug_ = ax.plot(strokes, np.full(len(strokes), -1.12), "|", color=GREY)[0]
        ax.set(xlabel="Residual", ylabel="Relative to the largest value", ylim=(-1.2, 1.08))
        ax.set_title(str(self.loss), fontsize="medium")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_points: int = 500,
        ax: Any = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the loss of a fitted regressor over its residuals.

        Parameters
        ----------
        estimator : regressor of this package or Pipeline
            Fitted.
        X : array or data frame of shape (n, d)
            Inputs.
        y : array of shape (n,)
            Targets.
        n_points, ax, line_kwargs
            As in `plot`.

        Returns
        -------
        LossDisplay
        """
        final = final_step(estimator)
        if not hasattr(final, "loss_"):
            raise ValueError(f"{type(final).__name__} has no loss of this package")
        display = cls(loss=final.loss_, residuals=residuals_of(y, estimator.predict(X)))
        return display.plot(ax, n_points=n_points, line_kwargs=line_kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        loss: Loss,
        n_points: int = 500,
        ax: Any = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw a loss over the residuals of any predictions.

        Parameters
        ----------
        y_true, y_pred : array of shape (n,)
            Targets, and what was predicted.
        loss : Loss
            The loss; a rule for σ is applied to the residuals.
        n_points, ax, line_kwargs
            As in `plot`.

        Returns
        -------
        LossDisplay
        """
        r = residuals_of(y_true, y_pred)
        display = cls(loss=loss.resolve(r * r), residuals=r)
        return display.plot(ax, n_points=n_points, line_kwargs=line_kwargs)
