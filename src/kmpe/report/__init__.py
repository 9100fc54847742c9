"""What the pages of this package share: their style, and drawings as SVG."""

from importlib import resources

from kmpe.report.drawing import INK, drawing

__all__ = ["INK", "drawing", "style"]


def style() -> str:
    """Return the style sheet of a page."""
    return resources.files(__package__).joinpath("style.css").read_text("utf-8")
