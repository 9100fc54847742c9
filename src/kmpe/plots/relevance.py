"""The relevance of the inputs of a self-tuning ELM."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from kmpe.arrays import Array
from kmpe.plots.drawing import GREY, axes
from kmpe.plots.residuals import final_step

__all__ = ["RelevanceDisplay"]


class RelevanceDisplay:
    """The relevance of each input, in decreasing order.

    A bar is the root mean squared change of the prediction for one robust standard deviation of the
    input, with the other inputs held fixed.

    Make one with `from_estimator`.

    Parameters
    ----------
    names : sequence of str of length d
        Names of the inputs.
    relevances : array of shape (d,)
        Their relevances.

    Attributes
    ----------
    bars_ : BarContainer
        The bars, in decreasing order.
    ax_, figure_ : Axes, Figure
        Where it was drawn.

    See Also
    --------
    ELMRegressor : Has ``input_relevances_``.
    CoefficientDisplay : Slopes of a linear regression.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from kmpe import ELMRegressor
    >>> from kmpe.plots import RelevanceDisplay
    >>> X = np.random.default_rng(0).uniform(-3, 3, size=(100, 3))
    >>> display = RelevanceDisplay.from_estimator(ELMRegressor().fit(X, np.sin(2 * X[:, 1])))
    >>> display.ax_.get_yticklabels()[0].get_text()
    'x1'
    >>> plt.close(display.figure_)
    """

    def __init__(self, *, names: Sequence[str], relevances: Array) -> None:
        self.names = names
        self.relevances = relevances

    def plot(
        self,
        ax: Any = None,
        *,
        n_features: int | None = 20,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; new axes by default.
        n_features : int or None, default=20
            The number of inputs to draw, the most relevant ones; None for all.
        bar_kwargs : dict, default=None
            Keywords for the bars.

        Returns
        -------
        self
        """
        ax = axes(self, ax)
        relevances = np.asarray(self.relevances)
        kept = np.argsort(-relevances, kind="stable")[:n_features]
        at = np.arange(len(kept))
        self.bars_ = ax.barh(at, relevances[kept], **{"color": GREY, **(bar_kwargs or {})})
        ax.set_yticks(at, [self.names[i] for i in kept])
        ax.invert_yaxis()
        ax.set_xlabel("Change of the prediction for one standard deviation of the input")
        self.ax_, self.figure_ = ax, ax.figure
        return self

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,  # noqa: ARG003 - scikit-learn's signature
        y: Any = None,  # noqa: ARG003
        *,
        n_features: int | None = 20,
        ax: Any = None,
        bar_kwargs: dict[str, Any] | None = None,
    ) -> Self:
        """Draw the relevances of a fitted ELM.

        Parameters
        ----------
        estimator : ELMRegressor, ELMClassifier or Pipeline
            Fitted, with ``activation="auto"``. For a pipeline, the inputs of its last step are
            drawn.
        X, y : None
            Ignored.
        n_features, ax, bar_kwargs
            As in `plot`.

        Returns
        -------
        RelevanceDisplay
        """
        final = final_step(estimator)
        if not hasattr(final, "input_relevances_"):
            raise ValueError(
                f"{type(final).__name__} has no relevances of its inputs: give an ELMRegressor or "
                'ELMClassifier with activation="auto"'
            )
        relevances = final.input_relevances_
        given = getattr(final, "feature_names_in_", [f"x{i}" for i in range(len(relevances))])
        display = cls(names=[str(name) for name in given], relevances=relevances)
        return display.plot(ax, n_features=n_features, bar_kwargs=bar_kwargs)
