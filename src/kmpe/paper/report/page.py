"""The page: each table and figure with its notes, under the headings of their sections."""

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from html import escape
from importlib import resources
from itertools import groupby
from string import Template
from typing import Any

from kmpe.paper.report.artefacts import Artefact
from kmpe.paper.report.bodies import titles
from kmpe.paper.summaries import Inputs
from kmpe.plots.pages import style

__all__ = ["render"]


def render(
    artefacts: Sequence[Artefact], inputs: Mapping[str, Inputs], results: Mapping[str, Any]
) -> str:
    """Return the whole page."""
    body = []
    for section, found in groupby(artefacts, key=lambda artefact: artefact.section):
        body.append(f"<h2>{escape(section)}</h2>")
        for artefact in found:
            table = results["tables"].get(artefact.name, {})
            body.append(_artefact(artefact, inputs[artefact.name], table))
    body += [_data(results), _run(results["run"])]
    page = Template(resources.files(__package__).joinpath("page.html").read_text("utf-8"))
    return page.substitute(
        style=style(),
        lead=_lead(results["run"]),
        verdicts="".join(_cards(artefacts, results["verdicts"])),
        contents="".join(
            f'<a href="#{artefact.name}">{artefact.label}</a>'
            for artefact in sorted(artefacts, key=lambda artefact: not artefact.is_table)
        )
        + '<a href="#data">Data</a><a href="#run">This run</a>',
        body="\n".join(body),
        footer="Written by <code>kmpe reproduce</code>. All numbers are in "
        "<code>results.json</code> and in one CSV file for each table beside this page.",
    )


def _cards(artefacts: Sequence[Artefact], verdicts: Mapping[str, Any]) -> Iterator[str]:
    """Yield each claim with what was found."""
    for artefact in artefacts:
        if artefact.claim is None or artefact.name not in verdicts:
            continue
        said = artefact.claim.sentence(verdicts[artefact.name])
        if said is not None:
            found, holds = said
            yield (
                f'<li class="{"yes" if holds else "no"}">'
                f"<b>{escape(f'{artefact.label}: {artefact.claim.topic}')}</b>"
                f"{escape(found)}</li>"
            )


def _artefact(artefact: Artefact, inputs: Inputs, table: Mapping[str, Any]) -> str:
    notes = _notes()[artefact.name]
    said = "".join(f"<p>{escape(sentence)}</p>" for sentence in notes["text"])
    if artefact.claim is not None:
        found = artefact.claim.misses(inputs, table, titles(inputs.todo))
        said += _misses(found, notes.get("miss", {}))
    return (
        f'<section class="artefact" id="{artefact.name}"><h3><span class="number">'
        f"{artefact.label}</span>{escape(artefact.title)}</h3>"
        f"{artefact.body(inputs, table)}{said}</section>"
    )


def _misses(found: Mapping[str, Sequence[str]], reasons: Mapping[str, str]) -> str:
    if not found:
        return ""
    lines = []
    for key, cells in found.items():
        why = reasons.get(key, "We know of no reason in the paper's text.")
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
    note = f'<div class="note"><p>Not found:</p><ul>{missing}</ul></div>' if missing else ""
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


@cache
def _notes() -> Mapping[str, Any]:
    return tomllib.loads(resources.files(__package__).joinpath("notes.toml").read_text("utf-8"))
