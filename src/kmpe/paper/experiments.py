"""The experiments split into parts, and how a part is run."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from kmpe.datasets import load
from kmpe.paper import benchmarks, clustering, faces, sinc
from kmpe.paper.parts import Part
from kmpe.paper.plan import Plan, chunks, payload_of
from kmpe.paper.settings import ELM_METHODS, Benchmark, Machine, settings
from kmpe.paper.settings import benchmarks as rows_of
from kmpe.paper.tune import tune

__all__ = ["plan", "plan_tuning", "tuned", "work"]


def plan(todo: Plan) -> list[Part]:
    """Return the parts of a run."""
    parts: list[Part] = []
    for noise in settings()["sinc"]["noise"]:
        machines = payload_of({"machines": _entries(todo.sinc(noise))})
        if "sinc" in todo.experiments:
            parts += chunks(todo, "sinc", noise, todo.draws, 50, machines, 0.03)
        if "curves" in todo.experiments:
            parts += chunks(todo, "curves", noise, 1, 1, machines, 0.5)
    for task in ("regression", "classification"):
        if task in todo.experiments:
            for row in todo.rows(task):
                parts += chunks(todo, task, row.key, todo.repeats, 10, payload_of(asdict(row)), 0.1)
    return [*parts, *faces.plan(todo), *clustering.plan(todo)]


def plan_tuning(todo: Plan) -> list[Part]:
    """Return the parts that choose the parameters, to be run before the others."""
    parts = []
    if "sinc" in todo.experiments or "curves" in todo.experiments:
        for noise in settings()["sinc"]["noise"]:
            parts += chunks(todo, "tune sinc", noise, 1, 1, "{}", 10)
    for task in ("regression", "classification"):
        if task in todo.experiments:
            for row in rows_of(task):
                if row.data in todo.here:
                    parts += chunks(todo, "tune", row.key, 1, 1, payload_of(asdict(row)), 20)
    return parts


def tuned(results: Mapping[str, Any]) -> dict[str, dict[str, Machine]]:
    """Return the machines that the tuning parts found, by row."""
    return {
        key: {method: Machine.of(entry) for method, entry in found.items()}
        for key, found in results.items()
    }


def work(part: Part, data_dir: str | None) -> list[Any]:
    """Run a part and return one result for each of its repeats."""
    payload = json.loads(part.payload)
    repeats = range(part.first, part.last)
    match part.experiment:
        case "sinc" | "curves":
            machines = {m: Machine.of(payload["machines"][m]) for m in ELM_METHODS}
            one = sinc.draw if part.experiment == "sinc" else sinc.curves
            return [one(part.key, machines, part.seed, repeat) for repeat in repeats]
        case "tune sinc":
            X, y = sinc.training_data(part.key, part.seed, 0)
            return [_entries(tune("regression", X, y, part.seed, part.key))]
        case "regression" | "classification" | "tune":
            row = _row(payload)
            data = load(row.data, data_dir=data_dir, download=False)
            X, y = benchmarks.prepare(row, data)
            if part.experiment == "tune":
                train, _ = benchmarks.split(row, len(X), part.seed, 0)
                return [_entries(tune(row.task, X[train], y[train], part.seed, row.key))]
            return [benchmarks.draw(row, X, y, part.seed, repeat) for repeat in repeats]
        case "digits" | "digit examples" | "face clusters":
            return clustering.work(part, payload, data_dir)
        case _:
            return faces.work(part, payload, data_dir)


def _entries(machines: Mapping[str, Machine]) -> dict[str, dict[str, float]]:
    return {method: machine.entry() for method, machine in machines.items()}


def _row(payload: dict[str, Any]) -> Benchmark:
    entries = payload.pop("machines")
    machines = {method: Machine(**entries[method]) for method in ELM_METHODS}
    return Benchmark(**payload | {"add": tuple(payload["add"])}, machines=machines)
