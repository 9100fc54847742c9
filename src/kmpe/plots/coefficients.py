"""Robust coefficients beside those of least squares."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from kmpe.arrays import Array
from kmpe.estimators.linear import RobustLinearRegression
from kmpe.losses import Squared
from kmpe.plots.distances import MOST_ROWS
from kmpe.plots.drawing import GREY, RED, axes
from kmpe.plots.residuals import final_step, prepared

__all__ = ["CoefficientDisplay", "column_scales"]


class CoefficientDisplay:
    """Slopes with confidence intervals, compared with those of least squares.

    Each slope is drawn per standard deviation of its input (1.4826 times the MAD, or the standard
    deviation where the MAD is 0), so that all slopes share one axis.

    Make one with `from_estimator`.

    Parameters
    ----------
    names : sequence of str of length d
        Names of the inputs.
    coef, least_squares : array of shape (d, 3)
        Slope, lower and upper end of its interval, robust and by least squares; ends may be NaN.
    units : array of shape (d,)
        The factors by which slopes are multiplied in the plot.

    Attributes
    ----------
    errorbars_ : tuple of ErrorbarContainer
        Robust slopes, then those of least squares.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    RobustLinearRegression.summary : The same as a table.
    OutlierMapDisplay : The rows that cause the difference.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe import RobustLinearRegression
    >>> from kmpe.plots import CoefficientDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(50, 2))
    >>> y = X @ [1.0, 2.0] + rng.normal(size=50)
    >>> display = CoefficientDisplay.from_estimator(RobustLinearRegression().fit(X, y), X, y)
    >>> [text.get_text() for text in display.ax_.get_yticklabels()]
    ['x0', 'x1']
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, *, names: Sequence[str], coef: Array, least_squares: Array, units: Array
    ) -> None:
        self.names = names
        self.coef = coef
        self.least_squares = least_squares
        self.units = units

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 20,
        errorbar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the slopes.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        n_features : int or None, default=20
            How many inputs are drawn: those of the largest slopes, robust or not; None for all.
        errorbar_kwargs : dict, default=None
            Keywords for both sets of intervals.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        values = np.stack([self.coef, self.least_squares]) * self.units[:, None]
        size = np.abs(values[:, :, 0]).max(axis=0)
        kept = np.sort(np.argsort(-size, kind="stable")[:n_features])
        at = np.arange(len(kept), dtype=np.float64)
        looks = (("Robust", RED, "o", -0.15), ("Least squares", GREY, "s", 0.15))
        bars = []
        for (name, colour, marker, shift), table in zip(looks, values[:, kept], strict=True):
            middle, low, high = table.T
            errors = np.nan_to_num([middle - low, high - middle])
            common = {"color": colour, "marker": marker, "linestyle": "none", "markersize": 5}
            bars.append(
                ax.errorbar(
                    middle,
                    at + shift,
                    xerr=np.maximum(errors, 0.0),
                    label=name,
                    **{**common, **(errorbar_kwargs or {})},
                )
            )
        self.errorbars_ = tuple(bars)
        ax.axvline(0, color="0.5", linewidth=1.0)
        ax.set_yticks(at, [self.names[i] for i in kept])
        ax.invert_yaxis()
        ax.set_xlabel("Slope per standard deviation of the input")
        # Above the axes: no corner within is sure to be free of intervals.
        ax.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sample_weight: Any = None,
        level: float = 0.95,
        n_features: int | None = 20,
        ax: Any = None,
        errorbar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the slopes of a fitted linear regression beside those of least squares.

        Parameters
        ----------
        estimator : RobustLinearRegression or Pipeline
            Fitted to one target. For a pipeline, its last step is drawn.
        X : array or data frame of shape (n, d)
            Inputs, to which least squares is fitted as well.
        y : array of shape (n,)
            Targets.
        sample_weight : array of shape (n,), default=None
            Sample weights, as numbers of repeats.
        level : float, default=0.95
            Coverage of the intervals.
        n_features, ax, errorbar_kwargs
            As in `plot`.

        Returns
        -------
        CoefficientDisplay
        """
        final, inner = final_step(estimator), prepared(estimator, X)
        if not hasattr(final, "confidence_intervals") or np.ndim(final.coef_) != 1:
            raise ValueError(
                f"{type(final).__name__} has no slopes of one target with intervals: "
                "give a RobustLinearRegression"
            )
        plain = RobustLinearRegression(
            Squared(), fit_intercept=final.fit_intercept, alpha=final.alpha
        ).fit(inner, y, sample_weight)
        display = cls(
            names=final._names()[: final.n_features_in_],
            coef=_with_intervals(final, level),
            least_squares=_with_intervals(plain, level),
            units=column_scales(inner),
        )
        return display.plot(ax, n_features=n_features, errorbar_kwargs=errorbar_kwargs)


def _with_intervals(model: Any, level: float) -> Array:
    limits = model.confidence_intervals(level)[: model.n_features_in_]
    return np.column_stack([model.coef_, limits])


def column_scales(X: Any) -> Array:
    """Return 1.4826 times the MAD of each column, or its standard deviation where that is 0."""
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X, dtype=np.float64)
    X = X[:: 1 + len(X) // MOST_ROWS]
    mad = 1.4826 * np.median(np.abs(X - np.median(X, axis=0)), axis=0)
    return np.asarray(np.where(mad > 0, mad, X.std(axis=0)))
