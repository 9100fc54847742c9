"""The cost of a fit after each step."""

from typing import Any, Self

import numpy as np

from kmpe.arrays import Array
from kmpe.plots.drawing import RED, axes
from kmpe.plots.residuals import final_step

__all__ = ["ConvergenceDisplay"]


class ConvergenceDisplay:
    """The cost at the start of a fit and after each step, minus the final cost.

    Make one with `from_estimator`.

    Parameters
    ----------
    history : array
        The costs.
    status : str, default=""
        Why the fit stopped.

    Attributes
    ----------
    line_ : Line2D
        The costs.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    LossDisplay : The loss that is minimised.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe.plots import ConvergenceDisplay
    >>> display = ConvergenceDisplay(history=np.array([3.0, 1.0, 0.9])).plot()
    >>> display.ax_.get_xlabel()
    'Step'
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, history: Array, status: str = "") -> None:
        self.history = history
        self.status = status

    def plot(self, ax: Any = None, *, line_kwargs: dict[str, Any] | None = None) -> Self:
        """Draw the costs.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        line_kwargs : dict, default=None
            Keywords for the line.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        line = {"color": RED, "marker": "o", "markersize": 4, **(line_kwargs or {})}
        above = np.asarray(self.history) - self.history[-1]
        self.line_ = ax.plot(np.arange(len(above)), above, **line)[0]
        ax.set(xlabel="Step", ylabel="Cost minus final cost")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_title(self.status, fontsize="medium")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,  # noqa: ARG003 - scikit-learn's signature
        y: Any = None,  # noqa: ARG003
        *,
        ax: Any = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the costs of a fit.

        Parameters
        ----------
        estimator : estimator of this package or Pipeline
            Fitted.
        X, y : None
            Ignored.
        ax, line_kwargs
            As in `plot`.

        Returns
        -------
        ConvergenceDisplay
        """
        final = final_step(estimator)
        if not hasattr(final, "history_"):
            raise ValueError(f"{type(final).__name__} has no history of its cost")
        display = cls(history=np.asarray(final.history_), status=str(final.status_))
        return display.plot(ax, line_kwargs=line_kwargs)
