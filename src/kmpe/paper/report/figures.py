"""The figures as SVG, with lines and text in the text colour of the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from kmpe.plots.pages import INK, drawing

__all__ = ["curves", "errors", "montages"]

# Distinct on white and on near-black, for readers with any colour vision (after Okabe and Ito).
_COLOURS = {
    "ELM": "#8f8f8f",
    "RELM": "#e69f00",
    "ELM-RCC": "#2f9fd8",
    "ELM-KMPE": "#d55e00",
    "PCA": "#8f8f8f",
    "R1-PCA": "#e69f00",
    "PCA-L1": "#2f9fd8",
    "HQ-PCA": "#009e73",
    "PCA-GM": "#cc79a7",
    "PCA-KMPE": "#d55e00",
}
_MARKERS = dict(zip(_COLOURS, "os^Dos^Dvp", strict=True))


def curves(draws: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> str:
    """Draw Figure 1: samples, the true function and the estimates, one panel for each noise."""
    with drawing(10, 4.2) as (figure, svg):
        axes = figure.subplots(1, len(draws), sharey=True)
        for axis, (noise, draw) in zip(axes, draws.items(), strict=True):
            axis.plot(draw["x"], draw["y"], ".", color=INK, alpha=0.28, ms=4, label="samples")
            axis.plot(draw["grid"], draw["sinc"], color=INK, lw=1.2, ls="--", label="8 sinc(x)")
            for method, colour in _COLOURS.items():
                if method in draw:
                    axis.plot(draw["grid"], draw[method], color=colour, lw=1.5, label=method)
            axis.set(title=titles[noise], xlabel="x", xlim=(-10, 10))
            axis.set_ylim(-4, 10)
        axes[0].set_ylabel("y")
        _legend(figure, axes[0])
    return svg()


def errors(panels: Mapping[str, Mapping[str, Any]], ylabel: str) -> str:
    """Draw Figure 3 or 4: mean error against the number of components, one line for each method."""
    with drawing(10, 4.4) as (figure, svg):
        axes = np.atleast_1d(figure.subplots(1, len(panels)))
        for axis, (title, lines) in zip(axes, panels.items(), strict=True):
            for method, line in lines.items():
                m = [int(key) for key in line]
                mean = np.array([cell["mean"] for cell in line.values()])
                axis.plot(
                    m,
                    mean,
                    color=_COLOURS.get(method, INK),
                    marker=_MARKERS.get(method, "x" if method == "RobustPCA()" else "+"),
                    ms=4,
                    lw=2.2 if method == "PCA-KMPE" else 1.3,
                    ls="-" if method in _COLOURS else ":",
                    label=method,
                )
            axis.set(title=title, xlabel="number of components m")
        axes[0].set_ylabel(ylabel)
        _legend(figure, axes[0])
    return svg()


def montages(panels: Mapping[str, Any], labels: Sequence[str] = (), *, width: float = 10) -> str:
    """Draw grids of images side by side, each with its title."""
    shape = next(iter(panels.values())).shape
    margin = 0.9 if labels else 0.0
    cell = (width - margin) / (len(panels) * shape[1])
    title = 0.3 if any(panels) else 0.0
    with drawing(width, shape[0] * cell * shape[2] / shape[3] + title) as (figure, svg):
        axes = np.atleast_1d(figure.subplots(1, len(panels)))
        for number, (axis, (name, images)) in enumerate(zip(axes, panels.items(), strict=True)):
            rows, columns, height, wide = images.shape
            # One image for the whole grid, with a gap between its tiles.
            padded = np.pad(
                images.astype(float), ((0, 0), (0, 0), (0, 2), (0, 2)), constant_values=np.nan
            )
            grid = padded.transpose(0, 2, 1, 3).reshape(rows * (height + 2), columns * (wide + 2))
            axis.imshow(np.ma.masked_invalid(grid), cmap="gray", vmin=0, vmax=255)
            axis.set(xticks=[], yticks=[], title=name)
            axis.spines[:].set_visible(False)
            if labels and number == 0:
                axis.set_yticks([(i + 0.5) * (height + 2) for i in range(rows)], labels)
                axis.tick_params(left=False)
    return svg()


def _legend(figure: Figure, axis: Any) -> None:
    handles, names = axis.get_legend_handles_labels()
    rows = 1 + len(names) // 7
    figure.legend(handles, names, loc="outside lower center", ncols=-(-len(names) // rows))
