"""The plots of a report, each with a caption and a text alternative."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from kmpe import plots
from kmpe.plots.coefficients import column_scales
from kmpe.plots.drawing import scatter, shown
from kmpe.plots.outlier_map import LIMIT
from kmpe.plots.pages import drawing
from kmpe.plots.residuals import standardised
from kmpe.table.fitting import Fitted

__all__ = ["Picture", "fit_pictures", "pca_pictures"]

# More points than this are drawn as an image: a page of a million circles would not open.
_MOST_CIRCLES = 2000


@dataclass(frozen=True)
class Picture:
    """A drawing as SVG.

    Parameters
    ----------
    title, caption : str
        What it shows, and how to read it.
    alt : str
        What is to be seen in it.
    svg : str
        The drawing.
    """

    title: str
    caption: str
    alt: str
    svg: str


def fit_pictures(fitted: Fitted) -> Iterator[Picture]:
    """Yield the plots of a fit."""
    estimator = fitted.model[-1]
    if fitted.task == "regression":
        yield from _regression(fitted)
    yield _weights(estimator, pd.DataFrame(index=fitted.rows))
    yield _convergence(estimator)


def pca_pictures(pca: Any, frame: pd.DataFrame, scores: Any) -> Iterator[Picture]:
    """Yield the plots of a PCA, given the rows it was fitted to and their scores."""
    count, points = _count(pca.outliers_), _points(len(scores))
    if hasattr(pca, "cutoffs_"):
        yield _draw(
            "Outlier map",
            "Rows above the horizontal line are far from the plane of the components; rows to the "
            "right of the vertical line are far from the centre within the plane.",
            f"Orthogonal against score distances; {count} are outliers.",
            lambda ax: plots.OutlierMapDisplay.from_estimator(
                pca, frame, ax=ax, random_state=0, scatter_kwargs=points
            ),
        )
    yield _draw(
        "Share of the variance",
        "The share of each component in the variance of the rows that are not outliers.",
        "Bars for the shares of the components, and a line for their cumulative sum.",
        lambda ax: plots.ScreeDisplay.from_estimator(pca, ax=ax),
    )
    if scores.shape[1] >= 2:
        yield _draw(
            "The first two components",
            "The scores of each row; outliers are triangles.",
            f"Scores on the first two components; {count} are outliers.",
            lambda ax: _marked(
                ax, scores[:, 0], scores[:, 1], pca.outliers_, "Component 1", "Component 2"
            ),
        )
    yield _weights(pca, frame)
    yield _convergence(pca)


def _regression(fitted: Fitted) -> Iterator[Picture]:
    estimator = fitted.model[-1]
    y = pd.Series(fitted.y, index=fitted.rows)
    scale, outliers = estimator.scale_ or None, estimator.outliers_
    residuals = standardised(fitted.y - fitted.predicted, scale)
    far = fitted.distances
    count, points = _count(outliers), _points(len(outliers))
    yield _draw(
        "Outlier map",
        "Rows outside the horizontal lines are outliers; rows to the right of the vertical line "
        f"have unusual inputs. Labels are row numbers in the file, from 1. {far.note}",
        f"Standardised residuals against robust distances; {count} lie beyond the limits.",
        lambda ax: plots.OutlierMapDisplay(
            distances=far.values,
            residuals=residuals,
            distance_limit=far.limit,
            residual_limit=LIMIT,
            labels=fitted.rows,
        ).plot(ax, random_state=0, scatter_kwargs=points),
    )
    yield _draw(
        "Quantiles of the residuals",
        "Gaussian residuals would lie near the line, 95% of them in the grey band.",
        f"Quantiles of the residuals against those of the Gaussian; {count} are outliers.",
        lambda ax: plots.ResidualQQDisplay.from_predictions(
            y, fitted.predicted, scale=scale, ax=ax, scatter_kwargs=points
        ),
    )
    yield _draw(
        "Prediction and truth",
        "On the line, prediction and truth are equal; outliers are triangles.",
        f"Values of {fitted.target} against their predictions; {count} are outliers.",
        lambda ax: _against_truth(ax, fitted),
    )
    if "linear" in fitted.models:
        yield _draw(
            "Slopes",
            "Slopes per standard deviation of the input, with 95% confidence intervals.",
            "Robust slopes beside those of least squares, with their intervals.",
            lambda ax: _slopes(ax, fitted),
            height=1.2 + 0.4 * min(len(fitted.names), 20),
        )


def _weights(estimator: Any, frame: pd.DataFrame) -> Picture:
    outliers = estimator.outliers_
    return _draw(
        "Trust in each row" if hasattr(estimator, "trust_") else "Weight of each row",
        "How much a row counts in the fit: 1 is full weight, 0 is none.",
        f"Weights of the rows in their order; {_count(outliers)} are outliers.",
        lambda ax: plots.WeightsDisplay.from_estimator(
            estimator, frame, ax=ax, random_state=0, scatter_kwargs=_points(len(outliers))
        ),
    )


def _convergence(estimator: Any) -> Picture:
    return _draw(
        "Convergence",
        "The cost that the fit minimises, after each step.",
        f"Cost after each of {len(estimator.history_) - 1} steps: {estimator.status_}",
        lambda ax: plots.ConvergenceDisplay.from_estimator(estimator, ax=ax),
    )


def _slopes(ax: Any, fitted: Fitted) -> None:
    robust, plain = (fitted.models[name][-1] for name in ("linear", "least squares"))
    tables = [
        np.column_stack([model.coef_, model.confidence_intervals()[: len(model.coef_)]])
        for model in (robust, plain)
    ]
    units = column_scales(fitted.prepared)
    plots.CoefficientDisplay(
        names=fitted.names, coef=tables[0], least_squares=tables[1], units=units
    ).plot(ax)


def _against_truth(ax: Any, fitted: Fitted) -> None:
    predicted, outliers = fitted.predicted, fitted.model[-1].outliers_
    _marked(ax, predicted, fitted.y, outliers, "Prediction", fitted.target)
    ends = [predicted.min(), predicted.max()]
    ax.plot(ends, ends, color="0.5", linestyle="--", linewidth=1)


def _marked(ax: Any, x: Any, y: Any, outliers: Any, xlabel: str, ylabel: str) -> None:
    drawn = shown(outliers, _MOST_CIRCLES, 0)
    scatter(ax, x[drawn], y[drawn], outliers[drawn], _points(len(outliers)))
    ax.set(xlabel=xlabel, ylabel=ylabel)


def _count(outliers: Any) -> str:
    return f"{int(outliers.sum()):,} of {len(outliers):,} rows"


def _points(n: int) -> dict[str, Any]:
    return {"rasterized": True} if n > _MOST_CIRCLES else {}


def _draw(
    title: str, caption: str, alt: str, draw: Callable[[Any], object], height: float = 4.2
) -> Picture:
    with drawing(6, height) as (figure, svg):
        draw(figure.subplots())
    return Picture(title, caption, alt, svg())
