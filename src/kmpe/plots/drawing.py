"""Functions shared by the Displays: axes, choice of rows, labels."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state

from kmpe.arrays import Array, Mask

__all__ = ["GREY", "RED", "axes", "label_rows", "row_labels", "scatter", "shown"]

#: Distinct on white and on near-black, and for readers with any colour vision (Okabe and Ito).
GREY, RED = "#6f7f8f", "#d55e00"
# Height of a label and width of each of its characters, in points.
_HEIGHT, _WIDTH = 9.0, 6.0


def axes(display: object, ax: Any) -> Any:
    """Return the axes to draw on, new ones where none are given."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__}.plot requires matplotlib: pip install 'kmpe[plot]'",
            name="matplotlib",
        ) from error
    return plt.subplots()[1] if ax is None else ax


def row_labels(X: Any, n: int) -> npt.NDArray[Any]:
    """Return the names of the rows: the index of a data frame, otherwise 0, 1, 2, ..."""
    index = getattr(X, "index", None)
    named = index is not None and not callable(index) and len(index) == n
    return np.asarray(index if named else range(n))


def shown(outliers: Mask, subsample: float | None, random_state: Any) -> npt.NDArray[np.intp]:
    """Return the rows to draw: every outlier, and of the others as many as ``subsample`` says.

    Parameters
    ----------
    outliers : array of bool of shape (n,)
        The rows that are never left out.
    subsample : int, float or None
        A number of rows, a share of them, or None for all.
    random_state : int, RandomState or None
        Seed of the choice.
    """
    others = np.flatnonzero(~outliers)
    if subsample is None:
        return np.arange(len(outliers))
    if isinstance(subsample, float) and not 0 < subsample < 1:
        raise ValueError(f"subsample={subsample!r} must be a share between 0 and 1, or whole")
    if subsample <= 0:
        raise ValueError(f"subsample={subsample!r} must be above 0")
    m = int(subsample * len(others)) if isinstance(subsample, float) else int(subsample)
    if m < len(others):
        rng = check_random_state(random_state)
        others = rng.choice(others, m, replace=False)
    return np.sort(np.concatenate([others, np.flatnonzero(outliers)]))


def scatter(
    ax: Any, x: npt.NDArray[Any], y: Array, outliers: Mask, given: Mapping[str, Any] | None
) -> tuple[Any, Any]:
    """Draw rows, outliers in another colour and shape; return both collections."""
    common = {"s": 22, "linewidths": 0.8, **dict(given or {})}
    inner = ax.scatter(
        x[~outliers], y[~outliers], **{"color": GREY, "alpha": 0.6, "marker": "o", **common}
    )
    outer = ax.scatter(x[outliers], y[outliers], **{"color": RED, "marker": "^", **common})
    return inner, outer


def label_rows(
    ax: Any, x: npt.NDArray[Any], y: Array, labels: npt.NDArray[Any], where: Any
) -> list[Any]:
    """Write labels beside points, except where they would cover another label."""
    ax.autoscale_view()
    taken: list[tuple[float, float]] = []
    texts = []
    for i in where:
        at = ax.transData.transform((x[i], y[i])) * 72 / ax.figure.dpi
        word = str(labels[i])
        if any(abs(at[1] - b) < _HEIGHT and abs(at[0] - a) < _WIDTH * len(word) for a, b in taken):
            continue
        taken.append((float(at[0]), float(at[1])))
        place = {"xytext": (4, 3), "textcoords": "offset points", "fontsize": "small"}
        texts.append(ax.annotate(word, (x[i], y[i]), **place))
    return texts
