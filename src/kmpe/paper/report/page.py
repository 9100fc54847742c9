"""The page: every table and figure in the paper's order, with what must be said about it."""

import tomllib
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib import resources
from string import Template
from typing import Any

from kmpe.paper.plan import Plan
from kmpe.paper.report import artefacts
from kmpe.paper.report.verdicts import misses, verdict_cards
from kmpe.paper.settings import benchmarks

__all__ = ["render"]

_PARTS = {
    "Function estimation with synthetic data": ("table1", "fig1", "table2"),
    "Regression and classification on benchmark data": tuple(f"table{i}" for i in range(3, 9)),
    "Face reconstruction": ("fig2", "fig3", "fig4", "fig5", "fig6"),
    "Clustering": ("fig7", "table9", "table10"),
}


def render(todo: Plan, results: Mapping[str, Any], gathered: Mapping[str, Any]) -> str:
    """Return the whole page."""
    body = []
    for title, names in _PARTS.items():
        made = [_artefact(name, todo, results, gathered) for name in names if name in todo.names]
        if made:
            body += [f"<h2>{escape(title)}</h2>", *made]
    body += [_data(results), _run(results["run"])]
    page = Template(resources.files(__package__).joinpath("page.html").read_text("utf-8"))
    return page.substitute(
        lead=_lead(results["run"]),
        verdicts="".join(
            f'<li class="{"yes" if good else "no"}"><b>{escape(what)}</b>{escape(found)}</li>'
            for what, found, good in verdict_cards(results["verdicts"])
        ),
        contents="".join(f'<a href="#{name}">{_label(name)}</a>' for name in todo.names)
        + '<a href="#data">Data</a><a href="#run">This run</a>',
        body="\n".join(body),
        footer="Written by <code>kmpe reproduce</code>. All numbers are in "
        "<code>results.json</code> and in one CSV file for each table beside this page.",
    )


def _artefact(
    name: str, todo: Plan, results: Mapping[str, Any], gathered: Mapping[str, Any]
) -> str:
    notes = _notes()[name]
    body = artefacts.body(name, todo, results, gathered)
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in notes.get("text", ()))
    said += _misses(name, todo, results["tables"])
    return (
        f'<section class="artefact" id="{name}"><h3><span class="number">{_label(name)}</span>'
        f"{escape(notes['title'])}</h3>{body}{said}</section>"
    )


def _misses(name: str, todo: Plan, tables: Mapping[str, Any]) -> str:
    found = misses(name, tables, _titles(todo))
    if not found:
        return ""
    known = _notes()[name].get("miss", {})
    lines = []
    for key, cells in found.items():
        why = known.get(key, "We know of no reason in the paper's text.")
        lines.append(f"<li><b>{escape('; '.join(cells))}.</b> {escape(why)}</li>")
    return (
        '<div class="note"><p>Cells beyond two of the paper\'s standard deviations:</p>'
        f"<ul>{''.join(lines)}</ul></div>"
    )


def _data(results: Mapping[str, Any]) -> str:
    found = "".join(
        f"<dt>{escape(name)}</dt><dd>{escape(source)}</dd>"
        for name, source in results["data"].items()
    )
    missing = "".join(f"<li>{escape(sentence)}</li>" for sentence in results["missing"].values())
    note = (
        f'<div class="note"><p>Not to be had here:</p><ul>{missing}</ul></div>' if missing else ""
    )
    return (
        f'<h2 id="data">Data</h2><section class="artefact">{note}<dl>{found}</dl>'
        "<p>Every copy was checked against a known SHA-256.</p></section>"
    )


def _run(run: Mapping[str, Any]) -> str:
    entries = {
        "command": run["command"],
        "seed": run["seed"],
        "repeats": run["repeats"],
        "parameters": "by five-fold cross-validation" if run["tuned"] else "as printed",
        "time": f"{run['seconds']:.0f} s with {run['jobs']} processes; "
        f"{run['processor_seconds']:.0f} processor seconds in {run['parts']} parts, "
        f"{run['parts_kept']} of them kept from an earlier run",
        "kmpe": run["kmpe"],
        "Python": run["python"],
        "platform": run["platform"],
        **run["packages"],
    }
    lines = "".join(f"<dt>{k}</dt><dd>{escape(str(v))}</dd>" for k, v in entries.items())
    return f'<h2 id="run">This run</h2><section class="artefact"><dl>{lines}</dl></section>'


def _lead(run: Mapping[str, Any]) -> str:
    chosen = "chosen by cross-validation" if run["tuned"] else "the printed ones"
    return (
        f"The experimental section of the paper with the kmpe package, {run['repeats']} repeats "
        f"behind each mean ± standard deviation, parameters {chosen}. Each printed number stands "
        "beside ours."
    )


def _label(name: str) -> str:
    return name.replace("table", "Table ").replace("fig", "Figure ")


def _titles(todo: Plan) -> dict[str, str]:
    rows = (*benchmarks("regression"), *todo.rows("classification"))
    return {row.key: row.title for row in rows} | {
        row.key: row.title for row in benchmarks("classification")
    }


@cache
def _notes() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("notes.toml").read_text("utf-8"))
