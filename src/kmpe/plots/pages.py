"""What the pages of this package share: their style, and drawings as SVG in their text colour."""

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

__all__ = ["INK", "drawing", "style"]

#: Replaced by the text colour of the page, so that one drawing fits light and dark pages.
INK = "#010203"
_STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",  # text stays text: it can be searched, and the page's font is used
    "svg.hashsalt": "kmpe",  # the same file for the same numbers
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


def style() -> str:
    """Return the style sheet of a page."""
    return resources.files(__package__).joinpath("style.css").read_text("utf-8")


@contextmanager
def drawing(width: float, height: float) -> Iterator[tuple[Figure, Callable[[], str]]]:
    """Yield a figure, and a function that returns it as SVG once the block has ended."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        text: list[str] = []
        yield figure, lambda: text[0]
        buffer = io.StringIO()
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        text.append(_for_the_page(buffer.getvalue()))


def _for_the_page(svg: str) -> str:
    """Prepare SVG for the page: no XML header, no fixed size, text in the page's colour."""
    svg = svg[svg.index("<svg") :].replace(INK, "currentColor")
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(
        r'(<svg[^>]*?) height="[^"]*"',
        r"\1",
        re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1),
        count=1,
    )
