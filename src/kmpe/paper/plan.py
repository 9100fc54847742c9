"""The plan of a run: which experiments, how often, and on which data."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kmpe.paper.parts import Part
from kmpe.paper.settings import Benchmark, Machine, benchmarks, readings, sinc_machines

__all__ = ["Plan", "chunks", "payload_of"]


@dataclass(frozen=True)
class Plan:
    """What to run.

    Parameters
    ----------
    experiments : set of str
        Names of the experiments.
    seed, repeats : int
        Seed, and the number of repeats behind each "mean ± standard deviation".
    draws, face_draws, cluster_draws : int
        Draws of the sinc data, of contaminated faces for each curve of Figures 3 and 4, and of data
        to cluster.
    here : set of str
        The data sets that were found.
    machines : mapping
        Tuned machines by row; empty for the printed settings.
    """

    experiments: frozenset[str]
    seed: int
    repeats: int
    draws: int
    face_draws: int
    cluster_draws: int
    here: frozenset[str]
    machines: Mapping[str, Mapping[str, Machine]]

    def rows(self, task: str) -> tuple[Benchmark, ...]:
        """Return the rows of Table 7 or 8 whose data were found, other readings included."""
        rows = benchmarks(task)
        if task == "classification" and not self.machines:
            rows += readings()
        found = [row for row in rows if row.data in self.here]
        return tuple(
            replace(row, machines=self.machines.get(row.key, row.machines)) for row in found
        )

    def sinc(self, noise: str) -> Mapping[str, Machine]:
        """Return the machines for a kind of noise."""
        return self.machines.get(noise, sinc_machines(noise))


def chunks(
    todo: Plan, experiment: str, key: str, repeats: int, size: int, payload: str, seconds: float
) -> list[Part]:
    """Split an experiment into parts of ``size`` repeats; a repeat takes about ``seconds``."""
    return [
        Part(experiment, key, first, min(first + size, repeats), todo.seed, payload, seconds * size)
        for first in range(0, repeats, size)
    ]


def payload_of(content: Any) -> str:
    """Return settings as JSON with sorted keys: the names of parts depend on this text."""
    return json.dumps(content, sort_keys=True)
