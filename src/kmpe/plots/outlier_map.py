"""The outlier map: rows with large residuals, and rows with unusual inputs."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.inference.outliers import outlier_limit
from kmpe.plots.distances import robust_distances
from kmpe.plots.drawing import axes, label_rows, row_labels, scatter, shown
from kmpe.plots.residuals import final_step, prepared, residuals_of, standardised

__all__ = ["LIMIT", "OutlierMapDisplay"]

#: The standardised residual beyond which a row is an outlier, as in the estimators.
LIMIT = outlier_limit(1)


class OutlierMapDisplay:
    """Outlier map (Rousseeuw and Van Zomeren 1990; for PCA: Hubert, Rousseeuw and Vanden Branden).

    For a regression, standardised residuals against robust distances of the inputs: vertical
    outliers lie above and below, good leverage points to the right, bad ones in the corners. For a
    PCA, orthogonal distances against score distances.

    Make one with `from_estimator` or `from_predictions`.

    Parameters
    ----------
    distances : array of shape (n,)
        Robust distances of the inputs, or score distances.
    residuals : array of shape (n,)
        Standardised residuals, or orthogonal distances.
    distance_limit, residual_limit : float
        The limits beyond which rows are far out, and outliers. The first may be infinite.
    labels : array of shape (n,), optional
        Names of the rows; 0, 1, 2, ... by default.
    kind : {"regression", "pca"}, default="regression"
        What the axes are called, and whether residuals have a sign.
    note : str, default=""
        A remark on distances that could not be computed.

    Attributes
    ----------
    outliers : array of bool of shape (n,)
        Rows beyond the residual limit; of a PCA, beyond either.
    scatter_, outliers_scatter_ : PathCollection
        The points of the other rows, and of the outliers.
    lines_ : list of Line2D
        The limits.
    texts_ : list of Annotation
        Labels of the worst rows.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    ResidualQQDisplay : Residuals against those of Gaussian noise.
    WeightsDisplay : How much each row counts.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe import RobustLinearRegression
    >>> from kmpe.plots import OutlierMapDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 2))
    >>> y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=100)
    >>> y[:3] += 9
    >>> model = RobustLinearRegression().fit(X, y)
    >>> display = OutlierMapDisplay.from_estimator(model, X, y)
    >>> sorted(text.get_text() for text in display.texts_[:3])
    ['0', '1', '2']
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        *,
        distances: Array,
        residuals: Array,
        distance_limit: float,
        residual_limit: float,
        labels: npt.NDArray[Any] | None = None,
        kind: str = "regression",
        note: str = "",
    ) -> None:
        self.distances = distances
        self.residuals = residuals
        self.distance_limit = distance_limit
        self.residual_limit = residual_limit
        self.labels = labels
        self.kind = kind
        self.note = note

    @property
    def outliers(self) -> npt.NDArray[np.bool_]:
        """Rows beyond the residual limit; of a PCA, beyond either."""
        beyond = np.abs(self.residuals) > self.residual_limit
        return beyond | (self.distances > self.distance_limit) if self.kind == "pca" else beyond

    def _sizes(self) -> Array:
        """Return how far beyond its limit each row is."""
        sizes = np.abs(self.residuals) / self.residual_limit
        if self.kind == "pca":
            sizes = np.maximum(sizes, self.distances / self.distance_limit)
        return np.asarray(sizes)

    def plot(
        self,
        ax: Any = None,
        *,
        n_labels: int = 10,
        subsample: float | None = 1_000,
        random_state: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        n_labels : int, default=10
            How many of the worst outliers get their label.
        subsample : int, float or None, default=1_000
            How many of the rows within all limits are drawn, or their share; None for all. Rows
            beyond a limit are all drawn.
        random_state : int, RandomState or None
            Seed of the choice of rows.
        scatter_kwargs, line_kwargs : dict, default=None
            Keywords for the points and for the limits.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        x, y, outliers = np.nan_to_num(self.distances), self.residuals, self.outliers
        drawn = shown(outliers | (x > self.distance_limit), subsample, random_state)
        self.scatter_, self.outliers_scatter_ = scatter(
            ax, x[drawn], y[drawn], outliers[drawn], scatter_kwargs
        )
        limits = {"color": "0.5", "linestyle": "--", "linewidth": 1.0, **(line_kwargs or {})}
        both = (-1, 1) if self.kind == "regression" else (1,)
        self.lines_ = [ax.axhline(sign * self.residual_limit, **limits) for sign in both]
        if np.isfinite(self.distance_limit):
            self.lines_.append(ax.axvline(self.distance_limit, **limits))
        worst = np.flatnonzero(outliers)
        worst = worst[np.argsort(-self._sizes()[worst], kind="stable")][:n_labels]
        labels = row_labels(None, len(y)) if self.labels is None else self.labels
        self.texts_ = label_rows(ax, x, y, labels, worst)
        names = {
            "regression": ("Robust distance of the inputs", "Standardised residual"),
            "pca": ("Score distance", "Orthogonal distance"),
        }
        ax.set(xlabel=names[self.kind][0], ylabel=names[self.kind][1])
        ax.set_xlim(left=0)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        n_labels: int = 10,
        subsample: float | None = 1_000,
        random_state: Any = None,
        ax: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the map of a fitted regressor, or of a fitted PCA.

        Parameters
        ----------
        estimator : regressor, RobustPCA or Pipeline
            Fitted. Of a pipeline the last step counts, on the inputs that it gets.
        X : array or data frame of shape (n, d)
            Inputs.
        y : array of shape (n,), default=None
            Targets of a regression.
        n_labels, subsample, random_state, ax, scatter_kwargs, line_kwargs
            As in `plot`.

        Returns
        -------
        OutlierMapDisplay
        """
        final, inner = final_step(estimator), prepared(estimator, X)
        if hasattr(final, "components_"):
            display = cls(**_of_pca(final, inner), labels=row_labels(X, len(inner)))
        else:
            if y is None:
                raise ValueError("the outlier map of a regression needs y")
            display = cls(
                **_of_regression(
                    residuals_of(y, estimator.predict(X)), inner, getattr(final, "scale_", None)
                ),
                labels=row_labels(X, len(np.asarray(y))),
            )
        return display.plot(
            ax,
            n_labels=n_labels,
            subsample=subsample,
            random_state=random_state,
            scatter_kwargs=scatter_kwargs,
            line_kwargs=line_kwargs,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_pred: Any,
        *,
        X: Any,
        scale: float | None = None,
        n_labels: int = 10,
        subsample: float | None = 1_000,
        random_state: Any = None,
        ax: Any = None,
        scatter_kwargs: dict[str, Any] | None = None,
        line_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the map of any predictions.

        Parameters
        ----------
        y_true, y_pred : array of shape (n,)
            Targets, and what was predicted.
        X : array or data frame of shape (n, d)
            Inputs.
        scale : float, default=None
            Scale of the residuals; their MAD by default.
        n_labels, subsample, random_state, ax, scatter_kwargs, line_kwargs
            As in `plot`.

        Returns
        -------
        OutlierMapDisplay
        """
        residuals = residuals_of(y_true, y_pred)
        display = cls(**_of_regression(residuals, X, scale), labels=row_labels(X, len(residuals)))
        return display.plot(
            ax,
            n_labels=n_labels,
            subsample=subsample,
            random_state=random_state,
            scatter_kwargs=scatter_kwargs,
            line_kwargs=line_kwargs,
        )


def _of_regression(residuals: Array, X: Any, scale: float | None) -> dict[str, Any]:
    found = robust_distances(X)
    return {
        "distances": found.values,
        "residuals": standardised(residuals, scale),
        "distance_limit": found.limit,
        "residual_limit": LIMIT,
        "note": found.note,
    }


def _of_pca(pca: Any, X: Any) -> dict[str, Any]:
    if not hasattr(pca, "cutoffs_"):
        raise ValueError(f"{type(pca).__name__} has no score distances: fit a RobustPCA")
    found = pca.distances(X)
    return {
        "distances": found.score,
        "residuals": found.orthogonal,
        "distance_limit": pca.cutoffs_.score,
        "residual_limit": pca.cutoffs_.orthogonal,
        "kind": "pca",
    }
