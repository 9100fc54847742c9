"""A whole run: find the data, run the parts, write tables, results and report."""

import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import kmpe
from kmpe.datasets import Dataset, DatasetNotFoundError, load
from kmpe.io.output import prepare_folder, write
from kmpe.io.progress import Progress
from kmpe.paper.experiments import plan, plan_tuning, tuned, work
from kmpe.paper.parts import Done, Part, run_parts
from kmpe.paper.plan import Plan
from kmpe.paper.report import ARTEFACTS, Artefact, csv_text, render
from kmpe.paper.settings import settings
from kmpe.paper.summaries import Inputs, gather

__all__ = ["Options", "reproduce"]

_QUICK_REPEATS = 20
_FULL_REPEATS = 100


@dataclass(frozen=True)
class Options:
    """What the command line asks for.

    Parameters
    ----------
    names : sequence of str
        Tables and figures; all of them when empty.
    repeats : int or None
        Repeats behind each "mean ± standard deviation": 100, or 20 for a quick run.
    seed, jobs : int
        Seed of the whole run; processes.
    data_dir : str or None
        Folder with data files.
    out : Path
        Folder for the results.
    quick, tune : bool
        Whether to run a shorter version; whether to choose parameters by cross-validation.
    """

    names: Sequence[str] = ()
    repeats: int | None = None
    seed: int = 0
    data_dir: str | None = None
    jobs: int = os.cpu_count() or 1
    out: Path = Path("out")
    quick: bool = False
    tune: bool = False


def reproduce(options: Options) -> dict[str, Any]:
    """Run, write ``report.html``, ``results.json`` and a CSV for each table; return the results."""
    start = time.perf_counter()
    out = prepare_folder(options.out)
    chosen = [item for item in ARTEFACTS if not options.names or item.name in options.names]
    data, missing = find_data(chosen, options.data_dir)
    todo = _plan(options, chosen, frozenset(data))
    if options.tune:
        done = _do(plan_tuning(todo), options, "tuning")
        found = {item.part.key: item.results[0] for item in done}
        todo = replace(todo, machines=tuned(found))
    else:
        done = []
    done = [*done, *_do(plan(todo), options, "running")]
    gathered = gather(done)
    inputs = {item.name: item.inputs(todo, gathered, data) for item in chosen}
    tables = {item.name: item.summary(inputs[item.name]) for item in chosen if item.summary}
    results = {
        "run": _about(options, todo, done, time.perf_counter() - start),
        "data": {name: item.source for name, item in data.items()},
        "missing": missing,
        "verdicts": _verdicts(chosen, inputs, tables),
        "tables": tables,
    }
    page = render(chosen, inputs, results)
    write(out / "results.json", json.dumps(results, indent=1, ensure_ascii=False) + "\n")
    for item in chosen:
        if tables.get(item.name):
            write(out / f"{item.name}.csv", csv_text(tables[item.name], item.levels))
    write(out / "report.html", page)
    return results


def find_data(
    artefacts: Sequence[Artefact], data_dir: str | None
) -> tuple[dict[str, Dataset], dict[str, str]]:
    """Return the data sets of tables and figures, and for each that was not found, why."""
    names = dict.fromkeys(name for item in ARTEFACTS for name in item.data)
    wanted = [name for name in names if any(name in item.data for item in artefacts)]
    data, missing = {}, {}
    for name in wanted:
        try:
            data[name] = load(name, data_dir=data_dir)
        except DatasetNotFoundError as error:
            missing[name] = str(error)
    return data, missing


def _plan(options: Options, artefacts: Sequence[Artefact], here: frozenset[str]) -> Plan:
    asked = options.repeats
    repeats = asked or (_QUICK_REPEATS if options.quick else _FULL_REPEATS)
    return Plan(
        experiments=frozenset(item.experiment for item in artefacts if item.experiment),
        seed=options.seed,
        repeats=repeats,
        draws=10 * asked if asked else settings()["sinc"]["draws"],
        face_draws=min(settings()["faces"]["draws"], max(1, repeats // 10)),
        cluster_draws=10 if options.quick and not asked else repeats,
        here=here,
        machines={},
    )


def _do(parts: Sequence[Part], options: Options, title: str) -> list[Done]:
    with Progress(title, sum(part.cost for part in parts)) as progress:
        return run_parts(
            parts,
            work,
            folder=options.out / "parts",
            data_dir=options.data_dir,
            jobs=options.jobs,
            progress=lambda done: progress.advance(done.part.cost, kept=done.kept),
        )


def _verdicts(
    artefacts: Sequence[Artefact], inputs: Mapping[str, Inputs], tables: Mapping[str, Any]
) -> dict[str, Any]:
    found = {
        item.name: item.claim.verdict(inputs[item.name], tables[item.name])
        for item in artefacts
        if item.claim is not None
    }
    return {name: verdict for name, verdict in found.items() if verdict is not None}


def _about(options: Options, todo: Plan, done: Sequence[Done], wall: float) -> dict[str, Any]:
    packages = ("numpy", "scipy", "scikit-learn", "matplotlib")
    return {
        "kmpe": kmpe.__version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": {name: importlib.metadata.version(name) for name in packages},
        "command": " ".join(["kmpe", *sys.argv[1:]]),
        "seed": options.seed,
        "repeats": todo.repeats,
        "tuned": options.tune,
        "jobs": options.jobs,
        "seconds": round(wall, 1),
        "processor_seconds": round(sum(item.seconds for item in done), 1),
        "parts": len(done),
        "parts_kept": sum(item.kept for item in done),
    }
