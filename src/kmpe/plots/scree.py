"""The variance along each principal component."""

from typing import Any, Self

import numpy as np

from kmpe.arrays import Array
from kmpe.plots.drawing import GREY, RED, axes
from kmpe.plots.residuals import final_step

__all__ = ["ScreeDisplay"]


class ScreeDisplay:
    """Share of each component in the variance, and the cumulative shares.

    Make one with `from_estimator`.

    Parameters
    ----------
    explained_variance_ratio : array of shape (m,)
        Shares of the variance.

    Attributes
    ----------
    bars_ : BarContainer
        The shares.
    line_ : Line2D
        Their sums.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    RobustPCA : Has these variances.
    OutlierMapDisplay : The distances of its rows.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe import RobustPCA
    >>> from kmpe.plots import ScreeDisplay
    >>> X = np.random.default_rng(0).normal(size=(50, 3)) * [3, 2, 1]
    >>> display = ScreeDisplay.from_estimator(RobustPCA().fit(X))
    >>> len(display.bars_)
    3
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, explained_variance_ratio: Array) -> None:
        self.explained_variance_ratio = explained_variance_ratio

    def plot(
        self,
        ax: Any = None,
        *,
        bar_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the shares.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        bar_kwargs, line_kwargs : dict, default=None
            Keywords for the bars and for the line.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        shares = np.asarray(self.explained_variance_ratio)
        number = np.arange(1, len(shares) + 1)
        bars = {"color": GREY, "label": "each", **(bar_kwargs or {})}
        self.bars_ = ax.bar(number, shares, **bars)
        line = {"color": RED, "marker": "o", "label": "together", **(line_kwargs or {})}
        self.line_ = ax.plot(number, np.cumsum(shares), **line)[0]
        ax.set(xlabel="Component", ylabel="Share of the variance", ylim=(0, 1.05))
        if len(number) <= 20:
            ax.set_xticks(number)
        ax.legend()
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
        bar_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the variances of a fitted PCA.

        Parameters
        ----------
        estimator : PCA or Pipeline
            Fitted: one of this package or of scikit-learn.
        X, y : None
            Ignored.
        ax, bar_kwargs, line_kwargs
            As in `plot`.

        Returns
        -------
        ScreeDisplay
        """
        final = final_step(estimator)
        if not hasattr(final, "explained_variance_ratio_"):
            raise ValueError(f"{type(final).__name__} has no variances: pass a PCA")
        display = cls(explained_variance_ratio=final.explained_variance_ratio_)
        return display.plot(ax, bar_kwargs=bar_kwargs, line_kwargs=line_kwargs)
