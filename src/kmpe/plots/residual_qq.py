"""Quantiles of the residuals beside those of the Gaussian."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, ndtri

from kmpe.arrays import Array
from kmpe.inference.outliers import outlier_limit
from kmpe.plots.drawing import axes, label_rows, row_labels, scatter
from kmpe.plots.residuals import final_step, residuals_of, standardised

__all__ = ["ResidualQQDisplay"]


class ResidualQQDisplay:
    """Standardised residuals in order against the quantiles of the Gaussian, with an envelope.

    A share ``level`` of Gaussian samples has its i-th smallest value within the envelope: the
    quantiles of the i-th order statistic of n uniform values, Beta(i, n + 1 - i), pointwise.

    Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    residuals : array of shape (n,)
        Standardised residuals.
    labels : array of shape (n,), optional
        Names of the rows; 0, 1, 2, ... by default.

    Attributes
    ----------
    scatter_, outliers_scatter_ : PathCollection
        The points of the other rows, and of the outliers.
    line_ : Line2D
        Where Gaussian residuals lie.
    envelope_ : PolyCollection
        The envelope.
    texts_ : list of Annotation
        Labels of the worst rows.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    OutlierMapDisplay : Residuals against the rarity of inputs.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe.plots import ResidualQQDisplay
    >>> y = np.random.default_rng(0).normal(size=50)
    >>> display = ResidualQQDisplay.from_predictions(y, np.zeros(50))
    >>> display.ax_.get_ylabel()
    'Standardised residual'
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, residuals: Array, labels: npt.NDArray[Any] | None = None) -> None:
        self.residuals = residuals
        self.labels = labels

    def plot(
        self,
        ax: Any = None,
        *,
        level: float = 0.95,
        n_labels: int = 5,
        subsample: int | None = 1_000,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the quantiles.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        level : float, default=0.95
            Coverage of the envelope at each point.
        n_labels : int, default=5
            How many of the worst outliers get their label.
        subsample : int or None, default=1_000
            How many of the rows that are no outliers are drawn, evenly spread over the ranks; None
            for all. Outliers are all drawn.
        scatter_kwargs, line_kwargs : dict, default=None
            Keywords for the points and for the line.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        n = len(self.residuals)
        order = np.argsort(self.residuals, kind="stable")
        y = self.residuals[order]
        rank = np.arange(1, n + 1)
        x = ndtri((rank - 0.5) / n)
        outliers = np.abs(y) > outlier_limit(1)
        drawn = _ranks(outliers, subsample)
        tail = (1 - level) / 2
        k = _spread(x)
        low, high = (ndtri(betaincinv(rank[k], n + 1 - rank[k], p)) for p in (tail, 1 - tail))
        self.envelope_ = ax.fill_between(x[k], low, high, color="0.5", alpha=0.2, linewidth=0)
        line = {"color": "0.5", "linestyle": "--", "linewidth": 1.0, **(line_kwargs or {})}
        self.line_ = ax.plot(x[[0, -1]], x[[0, -1]], **line)[0]
        self.scatter_, self.outliers_scatter_ = scatter(
            ax, x[drawn], y[drawn], outliers[drawn], scatter_kwargs
        )
        worst = np.flatnonzero(outliers)
        worst = worst[np.argsort(-np.abs(y[worst]), kind="stable")][:n_labels]
        labels = row_labels(None, n) if self.labels is None else self.labels
        self.texts_ = label_rows(ax, x, y, np.asarray(labels)[order], worst)
        ax.set(xlabel="Quantile of the Gaussian", ylabel="Standardised residual")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        level: float = 0.95,
        n_labels: int = 5,
        subsample: int | None = 1_000,
        ax: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the residuals of a fitted regressor.

        Parameters
        ----------
        estimator : regressor or Pipeline
            Fitted.
        X : array or data frame of shape (n, d)
            Inputs.
        y : array of shape (n,)
            Targets.
        level, n_labels, subsample, ax, scatter_kwargs, line_kwargs
            As in `plot`.

        Returns
        -------
        ResidualQQDisplay
        """
        scale = getattr(final_step(estimator), "scale_", None)
        residuals = residuals_of(y, estimator.predict(X))
        display = cls(
            residuals=standardised(residuals, scale), labels=row_labels(X, len(residuals))
        )
        return display.plot(
            ax,
            level=level,
            n_labels=n_labels,
            subsample=subsample,
            scatter_kwargs=scatter_kwargs,
            line_kwargs=line_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        scale: float | None = None,
        level: float = 0.95,
        n_labels: int = 5,
        subsample: int | None = 1_000,
        ax: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the residuals of any predictions.

        Parameters
        ----------
        y_true, y_pred : array of shape (n,)
            Targets, and what was predicted.
        scale : float, default=None
            Scale of the residuals; their MAD by default.
        level, n_labels, subsample, ax, scatter_kwargs, line_kwargs
            As in `plot`.

        Returns
        -------
        ResidualQQDisplay
        """
        residuals = residuals_of(y_true, y_pred)
        display = cls(
            residuals=standardised(residuals, scale), labels=row_labels(y_true, len(residuals))
        )
        return display.plot(
            ax,
            level=level,
            n_labels=n_labels,
            subsample=subsample,
            scatter_kwargs=scatter_kwargs,
            line_kwargs=line_kwargs,
        )


def _ranks(outliers: npt.NDArray[np.bool_], subsample: int | None) -> npt.NDArray[np.intp]:
    """Return the ranks to draw: every outlier's, and others evenly spread, both ends included."""
    others = np.flatnonzero(~outliers)
    if subsample is not None and subsample < len(others):
        others = others[np.linspace(0, len(others) - 1, subsample).round().astype(np.intp)]
    return np.sort(np.concatenate([others, np.flatnonzero(outliers)]))


def _spread(x: Array, points: int = 500) -> npt.NDArray[np.intp]:
    """Return ranks evenly spread over the axis, both ends included: a curve that looks smooth."""
    if len(x) <= points:
        return np.arange(len(x))
    at = np.searchsorted(x, np.linspace(x[0], x[-1], points))
    return np.unique(np.clip(at, 0, len(x) - 1))
