"""From the results of all repeats to the numbers of each table, beside the printed ones."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
    settings,
)

__all__ = [
    "Inputs",
    "benchmark_scores",
    "benchmark_settings",
    "compare",
    "digit_clusters",
    "face_clusters",
    "gather",
    "reconstruction_errors",
    "sinc_errors",
    "sinc_settings",
    "specifications",
]


@dataclass(frozen=True)
class Inputs:
    """What one table or figure is made from.

    Parameters
    ----------
    todo : Plan
        The plan of the run.
    results : mapping
        The results of its experiment by key, one for each repeat; empty if it has none.
    printed : mapping
        The paper's numbers; empty if it prints none.
    data : mapping
        The data sets that were found, by name.
    """

    todo: Plan
    results: Mapping[str, Sequence[Any]]
    printed: Mapping[str, Any]
    data: Mapping[str, Dataset]


def gather(done: Sequence[Done]) -> dict[str, dict[str, list[Any]]]:
    """Return the results of all repeats in order, by experiment and key."""
    found: dict[str, dict[str, list[Any]]] = {}
    for item in sorted(done, key=lambda item: item.part.first):
        results = found.setdefault(item.part.experiment, {}).setdefault(item.part.key, [])
        results += item.results
    return found


def sinc_settings(inputs: Inputs) -> dict[str, Any]:
    """Return the settings of each machine by noise."""
    return {noise: _machines(inputs.todo.sinc(noise)) for noise in settings()["sinc"]["noise"]}


def sinc_errors(inputs: Inputs) -> dict[str, Any]:
    """Return the testing RMSE of each method by noise: mean, range, and the printed draw."""
    return {
        noise: _sinc(inputs.results[noise], inputs.printed[noise])
        for noise in settings()["sinc"]["noise"]
    }


def specifications(task: str, inputs: Inputs) -> dict[str, Any]:
    """Return the sizes of each data set of a task, as printed and as used."""
    return {row.key: _specification(row, inputs.data) for row in benchmarks(task)}


def benchmark_settings(task: str, inputs: Inputs) -> dict[str, Any]:
    """Return the settings of each machine by data set of a task."""
    tuned = inputs.todo.machines
    return {row.key: _machines(tuned.get(row.key, row.machines)) for row in benchmarks(task)}


def benchmark_scores(task: str, inputs: Inputs) -> dict[str, Any]:
    """Return training and testing scores by data set and method."""
    return {
        row.key: _scores(inputs.results[row.key], inputs.printed[row.printed])
        for row in inputs.todo.rows(task)
    }


def reconstruction_errors(inputs: Inputs) -> dict[str, Any]:
    """Return mean reconstruction errors by number of outliers."""
    return {outliers: _errors(draws) for outliers, draws in inputs.results.items()}


def digit_clusters(inputs: Inputs) -> dict[str, Any]:
    """Return ACC in per cent by number of components and method."""
    ((source, draws),) = inputs.results.items()
    paper = inputs.printed if source == "mnist" else {}
    return {m: _compare_row(row, paper.get(m)) for m, row in _clusters(draws, "ACC", 100).items()}


def face_clusters(inputs: Inputs) -> dict[str, Any]:
    """Return ACC and NMI by number of components and method."""
    ((source, draws),) = inputs.results.items()
    paper = inputs.printed if source == "yale" else {}
    measures = {what: _clusters(draws, what, 1) for what in ("ACC", "NMI")}
    return {
        m: {
            what: _compare_row(row[m], paper.get(m, {}).get(what)) for what, row in measures.items()
        }
        for m in measures["ACC"]
    }


def compare(values: Any, paper: Sequence[float] | None) -> dict[str, float]:
    """Return mean, sd, and z: the distance from the printed mean in printed deviations."""
    array = np.asarray(values, dtype=float)
    # One repeat has no standard deviation.
    sd = float(array.std(ddof=1)) if len(array) > 1 else 0.0
    cell = {"mean": float(array.mean()), "sd": sd, "n": len(array)}
    if paper is not None:
        cell |= {"paper": paper[0], "paper_sd": paper[1]}
        if paper[1] > 0:
            cell["z"] = (cell["mean"] - paper[0]) / paper[1]
    return cell


def _errors(draws: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return mean errors over draws, by images averaged, method and number of components."""
    first = draws[0]
    return {
        average: {
            method: {m: compare([draw[average][method][m] for draw in draws], None) for m in line}
            for method, line in lines.items()
        }
        for average, lines in first.items()
    }


def _clusters(draws: Sequence[Any], what: str, factor: float) -> dict[str, dict[str, Any]]:
    """Return the scores of all draws by number of components and method."""
    return {
        m: {method: [factor * draw[m][method][what] for draw in draws] for method in row}
        for m, row in draws[0].items()
    }


def _compare_row(row: Mapping[str, Any], paper: Sequence[Any] | None) -> dict[str, Any]:
    by_method = dict(zip(PCA_METHODS, paper, strict=True)) if paper else {}
    return {method: compare(values, by_method.get(method)) for method, values in row.items()}


def _sinc(results: Sequence[Mapping[str, float]], paper: Sequence[float]) -> dict[str, Any]:
    row: dict[str, dict[str, float]] = {}
    by_method = dict(zip(ELM_METHODS, paper, strict=True))
    for method in results[0]:
        errors = np.array([result[method] for result in results])
        row[method] = compare(errors, None)
        row[method] |= {"min": float(errors.min()), "max": float(errors.max())}
        if method in by_method:
            value = by_method[method]
            row[method] |= {"paper": value, "share_below": float(np.mean(errors <= value))}
    return row


def _scores(results: Sequence[Mapping[str, Any]], paper: Sequence[Any]) -> dict[str, Any]:
    by_method = dict(zip(ELM_METHODS, paper, strict=True))
    row = {}
    for method in results[0]:
        train, test = zip(*(result[method] for result in results), strict=True)
        printed_train, printed_test = by_method.get(method, (None, None))
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
