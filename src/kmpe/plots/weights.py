"""The weight of each row."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, Mask
from kmpe.plots.drawing import axes, label_rows, row_labels, scatter, shown
from kmpe.plots.residuals import final_step

__all__ = ["WeightsDisplay"]


class WeightsDisplay:
    """The weight of each row over its number, or its label where labels are numbers.

    Make one with `from_estimator`.

    Parameters
    ----------
    weights : array of shape (n,)
        Weights from 0 to 1.
    outliers : array of bool of shape (n,)
        Rows that are outliers.
    labels : array of shape (n,), optional
        Names of the rows; 0, 1, 2, ... by default.
    name : str, default="Weight"
        What the weights are.

    Attributes
    ----------
    scatter_, outliers_scatter_ : PathCollection
        The points of the other rows, and of the outliers.
    texts_ : list of Annotation
        Labels of the outliers with the least weight.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    OutlierMapDisplay : Why rows have no weight.
    LossDisplay : The weight of any residual.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe import RobustLinearRegression
    >>> from kmpe.plots import WeightsDisplay
    >>> X = np.arange(30.0)[:, None]
    >>> y = 2 * X[:, 0] + np.sin(9 * X[:, 0])
    >>> y[7] = 99
    >>> display = WeightsDisplay.from_estimator(RobustLinearRegression().fit(X, y))
    >>> [text.get_text() for text in display.texts_]
    ['7']
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        weights: Array,
        outliers: Mask,
        labels: npt.NDArray[Any] | None = None,
        name: str = "Weight",
    ) -> None:
        self.weights = weights
        self.outliers = outliers
        self.labels = labels
        self.name = name

    def plot(
        self,
        ax: Any = None,
        *,
        n_labels: int = 10,
        subsample: float | None = 1_000,
        random_state: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the weights.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        n_labels : int, default=10
            How many outliers get their label, those of least weight first.
        subsample : int, float or None, default=1_000
            How many of the rows that are no outliers are drawn, or their share; None for all.
            Outliers are all drawn.
        random_state : int, RandomState or None
            Seed of the choice of rows.
        scatter_kwargs : dict, default=None
            Keywords for the points.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        y = self.weights
        labels = row_labels(None, len(y)) if self.labels is None else np.asarray(self.labels)
        numbered = labels.dtype.kind in "iuf"
        x = labels if numbered else np.arange(len(y))
        drawn = shown(self.outliers, subsample, random_state)
        self.scatter_, self.outliers_scatter_ = scatter(
            ax, x[drawn], y[drawn], self.outliers[drawn], scatter_kwargs
        )
        worst = np.flatnonzero(self.outliers)
        worst = worst[np.argsort(y[worst], kind="stable")][:n_labels]
        self.texts_ = label_rows(ax, x, y, labels, worst)
        ax.set(xlabel="Row", ylabel=self.name, ylim=(-0.05, 1.05))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        y: Any = None,  # noqa: ARG003 - scikit-learn's signature
        *,
        n_labels: int = 10,
        subsample: float | None = 1_000,
        random_state: Any = None,
        ax: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the weights that a fit has given to its rows.

        Parameters
        ----------
        estimator : estimator of this package or Pipeline
            Fitted. ``trust_`` is drawn where it has that, otherwise ``weights_`` over the largest.
        X : data frame of shape (n, d), default=None
            Its index gives the labels of the rows.
        y : None
            Ignored.
        n_labels, subsample, random_state, ax, scatter_kwargs
            As in `plot`.

        Returns
        -------
        WeightsDisplay
        """
        final = final_step(estimator)
        if not hasattr(final, "weights_"):
            raise ValueError(f"{type(final).__name__} has no row weights")
        w = np.asarray(getattr(final, "trust_", final.weights_))
        display = cls(
            weights=w / (w.max() or 1.0),
            outliers=np.asarray(final.outliers_),
            labels=row_labels(X, len(w)),
            name="Trust" if hasattr(final, "trust_") else "Weight",
        )
        return display.plot(
            ax,
            n_labels=n_labels,
            subsample=subsample,
            random_state=random_state,
            scatter_kwargs=scatter_kwargs,
        )
