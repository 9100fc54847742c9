"""A directive that lists every table and figure of the paper, from the records of the report."""

import tomllib
from importlib.resources import files
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from kmpe.paper.report.artefacts import ARTEFACTS


class PaperNotes(SphinxDirective):
    """Tables and figures with their commands, notes, and the reasons for what differs."""

    def run(self) -> list[nodes.Node]:
        """Return a section for each part of the paper."""
        notes = tomllib.loads(files("kmpe.paper.report").joinpath("notes.toml").read_text("utf-8"))
        lines: list[str] = []
        part = ""
        for artefact in ARTEFACTS:
            if artefact.section != part:
                part = artefact.section
                lines += [f"## {part}", ""]
            lines += [f"### {artefact.label}: {artefact.title}", ""]
            lines += [f"`kmpe reproduce {artefact.name}`", ""]
            note = notes.get(artefact.name, {})
            for paragraph in note.get("text", []):
                lines += [paragraph, ""]
            if note.get("miss"):
                lines += ["Where our numbers miss the printed ones:", ""]
                lines += [f"- *{name}*: {reason}" for name, reason in note["miss"].items()] + [""]
        return self.parse_text_to_nodes("\n".join(lines), allow_section_headings=True)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("paper-notes", PaperNotes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
