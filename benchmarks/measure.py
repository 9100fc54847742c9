"""Timing that can be trusted on a noisy machine, and how results are written down.

Candidates take turns in one process, with the same number of threads; what is compared are
medians of the ratios within each round, so that a slow minute slows all candidates alike.
"""

import json
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_info

OUT = Path("out/bench")


@dataclass(frozen=True)
class Timing:
    """Seconds of one candidate in each round, and what its last call returned."""

    seconds: list[float]
    value: Any

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))


@dataclass(frozen=True)
class Line:
    """One line of a table: what was measured, and what it must be where that is promised."""

    what: str
    value: float
    unit: str
    target: str = ""
    met: bool | None = None
    detail: dict[str, Any] = field(default_factory=dict)


def interleave(
    candidates: dict[str, Callable[[], Any]],
    rounds: int,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, Timing]:
    """Call the candidates in turn, ``rounds`` times."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    values: dict[str, Any] = {}
    for _ in range(rounds):
        for name, call in candidates.items():
            start = clock()
            values[name] = call()
            seconds[name].append(clock() - start)
    return {name: Timing(seconds[name], values[name]) for name in candidates}


def ratio(timings: dict[str, Timing], one: str, other: str) -> tuple[float, float, float]:
    """Return the median and the quartiles of how many times longer ``one`` took."""
    ratios = np.divide(timings[one].seconds, timings[other].seconds)
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    return float(middle), float(low), float(high)


def compared(
    what: str, timings: dict[str, Timing], one: str, other: str, most: float | None, **detail: Any
) -> Line:
    """Return the line of a ratio that may be at most ``most``, if there is such a promise."""
    middle, low, high = ratio(timings, one, other)
    detail |= {f"seconds {name}": round(t.median, 4) for name, t in timings.items()}
    detail |= {"quartiles": f"{low:.2f} to {high:.2f}"}
    if most is None:
        return Line(what, middle, "x", detail=detail)
    return Line(what, middle, "x", f"<= {most:g}", middle <= most, detail)


def bounded(what: str, value: float, unit: str, most: float, **detail: Any) -> Line:
    """Return the line of a number that may be at most ``most``."""
    return Line(what, value, unit, f"<= {most:g}", value <= most, detail)


def at_least(what: str, value: float, unit: str, least: float, **detail: Any) -> Line:
    """Return the line of a number that must be at least ``least``."""
    return Line(what, value, unit, f">= {least:g}", value >= least, detail)


def write(name: str, lines: list[Line]) -> str:
    """Write the lines as JSON and return them as a table."""
    OUT.mkdir(parents=True, exist_ok=True)
    record = {"machine": machine(), "lines": [asdict(line) for line in lines]}
    (OUT / f"{name}.json").write_text(json.dumps(record, indent=1, default=str) + "\n")
    rows = [("what", "value", "target", "met", "detail")]
    for line in lines:
        met = {None: "", True: "yes", False: "NO"}[line.met]
        detail = ", ".join(f"{key} {value}" for key, value in line.detail.items())
        rows.append((line.what, f"{line.value:.4g} {line.unit}", line.target, met, detail))
    text = [" | ".join(row) for row in rows]
    text.insert(1, "--- | --- | --- | --- | ---")
    table = f"## {name}\n\n" + "\n".join(f"| {row} |" for row in text) + "\n"
    (OUT / f"{name}.md").write_text(table)
    return table


def machine() -> dict[str, Any]:
    """Return what the numbers depend on."""
    blas = [f"{lib['internal_api']} {lib['num_threads']} threads" for lib in threadpool_info()]
    packages = {name: version(name) for name in ("numpy", "scipy", "scikit-learn", "kmpe")}
    return {"python": platform.python_version(), "processor": platform.machine()} | {
        "blas": blas,
        "packages": packages,
    }
