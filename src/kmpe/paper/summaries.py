"""From the results of all repeats to the numbers of the tables, beside the printed ones."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from kmpe.datasets import Dataset
from kmpe.paper.benchmarks import prepare
from kmpe.paper.parts import Done
from kmpe.paper.plan import Plan
from kmpe.paper.settings import (
    ELM_METHODS,
    PCA_METHODS,
    Benchmark,
    Machine,
    benchmarks,
    printed,
    settings,
)

__all__ = ["gather", "summarise", "verdicts"]

Results = Mapping[str, Mapping[str, Sequence[Any]]]


def gather(done: Sequence[Done]) -> dict[str, dict[str, list[Any]]]:
    """Return the results of all repeats in order, by experiment and key."""
    found: dict[str, dict[str, list[Any]]] = {}
    for item in sorted(done, key=lambda item: item.part.first):
        results = found.setdefault(item.part.experiment, {}).setdefault(item.part.key, [])
        results += item.results
    return found


def summarise(todo: Plan, results: Results, data: Mapping[str, Dataset]) -> dict[str, Any]:
    """Return the tables that were asked for, as plain dictionaries."""
    tables: dict[str, Any] = {}
    if "table1" in todo.names:
        tables["table1"] = {
            noise: _machines(todo.sinc(noise)) for noise in settings()["sinc"]["noise"]
        }
    if "table2" in todo.names:
        tables["table2"] = {
            noise: _sinc(results["sinc"][noise], printed()["table2"][noise])
            for noise in settings()["sinc"]["noise"]
        }
    for name, task in (("table3", "regression"), ("table4", "classification")):
        if name in todo.names:
            tables[name] = {row.key: _specification(row, data) for row in benchmarks(task)}
    for name, task in (("table5", "regression"), ("table6", "classification")):
        if name in todo.names:
            tables[name] = {
                row.key: _machines(todo.machines.get(row.key, row.machines))
                for row in benchmarks(task)
            }
    for name, task in (("table7", "regression"), ("table8", "classification")):
        if name in todo.names:
            tables[name] = {
                row.key: _scores(results[task][row.key], printed()[name][row.printed])
                for row in todo.rows(task)
            }
    for name, kind in (("fig3", "occlusion"), ("fig4", "dummy")):
        if name in todo.names:
            found = results[f"reconstruction {kind}"]
            tables[name] = {outliers: _errors(draws) for outliers, draws in found.items()}
    if "table9" in todo.names:
        ((source, draws),) = results["digits"].items()
        paper = printed()["table9"] if source == "mnist" else {}
        scores = _clusters(draws, "ACC", 100)
        tables["table9"] = {m: _beside(row, paper.get(m)) for m, row in scores.items()}
    if "table10" in todo.names:
        ((source, draws),) = results["face clusters"].items()
        paper = printed()["table10"] if source == "yale" else {}
        measures = {what: _clusters(draws, what, 1) for what in ("ACC", "NMI")}
        tables["table10"] = {
            m: {what: _beside(row[m], paper.get(m, {}).get(what)) for what, row in measures.items()}
            for m in measures["ACC"]
        }
    return tables


def compare(values: Any, paper: Sequence[float] | None) -> dict[str, float]:
    """Return mean and standard deviation, and how many of the paper's deviations lie between."""
    array = np.asarray(values, dtype=float)
    # One repeat has no standard deviation.
    sd = float(array.std(ddof=1)) if len(array) > 1 else 0.0
    cell = {"mean": float(array.mean()), "sd": sd, "n": len(array)}
    if paper is not None:
        cell |= {"paper": paper[0], "paper_sd": paper[1]}
        if paper[1] > 0:
            cell["z"] = (cell["mean"] - paper[0]) / paper[1]
    return cell


def verdicts(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the paper's claims come to, one entry for each table that has a claim."""
    found: dict[str, Any] = {}
    if "table2" in tables:
        rows = [
            {method: row[method] for method in ELM_METHODS} for row in tables["table2"].values()
        ]
        found["table2"] = {
            "inside": all(
                cell["min"] <= cell["paper"] <= cell["max"] for r in rows for cell in r.values()
            ),
            "same_order": all(_order(row, "mean") == _order(row, "paper") for row in rows),
        }
    for name in ("table7", "table8"):
        if name in tables:
            rows = [row for key, row in tables[name].items() if key in printed()[name]]
            found[name] = _within(row[method]["test"] for row in rows for method in ELM_METHODS)
    for name in ("fig3", "fig4"):
        if name in tables:
            found[name] = {"lowest": all(_kmpe_lowest(row["all"]) for row in tables[name].values())}
    if "table9" in tables:
        found["table9"] = _within(c for row in tables["table9"].values() for c in row.values())
    if "table10" in tables:
        rows = [row for measures in tables["table10"].values() for row in measures.values()]
        found["table10"] = _within(cell for row in rows for cell in row.values())
    return found


def _errors(draws: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean errors over draws, by what is averaged, method and number of components."""
    first = draws[0]
    return {
        average: {
            method: {m: compare([draw[average][method][m] for draw in draws], None) for m in line}
            for method, line in lines.items()
        }
        for average, lines in first.items()
    }


def _kmpe_lowest(lines: Mapping[str, Mapping[str, Mapping[str, float]]]) -> bool:
    """Whether PCA-KMPE has the smallest error of the paper's methods from m = 20 on."""
    return all(
        cell["mean"] == min(lines[method][m]["mean"] for method in PCA_METHODS)
        for m, cell in lines["PCA-KMPE"].items()
        if int(m) >= 20
    )


def _clusters(draws: Sequence[Any], what: str, factor: float) -> dict[str, dict[str, Any]]:
    """Return the scores of all draws by number of components and method."""
    return {
        m: {method: [factor * draw[m][method][what] for draw in draws] for method in row}
        for m, row in draws[0].items()
    }


def _beside(row: Mapping[str, Any], paper: Sequence[Any] | None) -> dict[str, Any]:
    beside = dict(zip(PCA_METHODS, paper, strict=True)) if paper else {}
    return {method: compare(values, beside.get(method)) for method, values in row.items()}


def _sinc(results: Sequence[Mapping[str, float]], paper: Sequence[float]) -> dict[str, Any]:
    row: dict[str, dict[str, float]] = {}
    beside = dict(zip(ELM_METHODS, paper, strict=True))
    for method in results[0]:
        errors = np.array([result[method] for result in results])
        row[method] = compare(errors, None)
        row[method] |= {"min": float(errors.min()), "max": float(errors.max())}
        if method in beside:
            value = beside[method]
            row[method] |= {"paper": value, "share_below": float(np.mean(errors <= value))}
    return row


def _scores(results: Sequence[Mapping[str, Any]], paper: Sequence[Any]) -> dict[str, Any]:
    beside = dict(zip(ELM_METHODS, paper, strict=True))
    row = {}
    for method in results[0]:
        train, test = zip(*(result[method] for result in results), strict=True)
        printed_train, printed_test = beside.get(method, (None, None))
        row[method] = {"train": compare(train, printed_train), "test": compare(test, printed_test)}
    return row


def _machines(machines: Mapping[str, Machine]) -> dict[str, dict[str, float]]:
    return {method: machine.entry() for method, machine in machines.items()}


def _specification(row: Benchmark, data: Mapping[str, Dataset]) -> dict[str, dict[str, int]]:
    """Return a row of Table 3 or 4 as printed, and as the data are used."""
    paper = {"features": row.features, "training": row.train, "testing": row.test}
    if row.classes:
        paper["classes"] = row.classes
    if row.data not in data:
        return {"paper": paper}
    X, y = prepare(row, data[row.data])
    testing = min(row.test, len(X) - row.train)
    ours = {"features": X.shape[1], "training": row.train, "testing": testing}
    if row.classes:
        ours["classes"] = len(np.unique(y))
    return {"paper": paper, "ours": ours}


def _within(cells: Any) -> dict[str, int]:
    z = [abs(cell["z"]) for cell in cells if "z" in cell]
    return {"within": sum(value <= 2 for value in z), "of": len(z)}


def _order(row: Mapping[str, Any], what: str) -> list[str]:
    return sorted(row, key=lambda method: row[method][what])
