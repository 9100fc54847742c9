"""Formulas as MathML, which browsers draw themselves: no script, no font, no network."""

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

LOG = logging.getLogger(__name__)


def written(node: nodes.math | nodes.math_block, *, as_block: bool) -> str:
    """Return a formula as MathML; what docutils would read wrongly is a warning."""
    text = node.astext()
    if re.search(r"frac\s*[^{\s]", text):  # it takes the 12 of \frac12 for the numerator
        LOG.warning("write both braces of a fraction: %s", text, location=node)
    return str(tex2mathml(text, as_block=as_block))


def inline(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula in the text."""
    writer.body.append(written(node, as_block=False))
    raise nodes.SkipNode


def display(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula on a line of its own, with its number if it has one."""
    writer.body.append('<div class="math-display">')
    if node["number"]:
        number = get_node_equation_number(writer, node)
        writer.body.append(f'<span class="equation-number">({number})</span>')
    writer.body.append(written(node, as_block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Make this the way of drawing mathematics."""
    app.add_html_math_renderer("mathml", (inline, None), (display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
