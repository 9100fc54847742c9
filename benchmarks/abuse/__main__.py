"""Fit whatever users may bring, and look whether every promise is kept.

    python -m benchmarks.abuse --fits 200000 --jobs 2
    python -m benchmarks.abuse --case 1234

The first runs cases in parallel and goes on where it was stopped; its closing table has the broken
promises with their seeds, and the exit code is 1 if there are any. The second repeats one case and
says what it is.
"""

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from benchmarks.abuse.cases import draw
from benchmarks.abuse.fitting import Fits, RefusedError
from benchmarks.abuse.runs import Outcome, run, run_case
from benchmarks.measure import OUT

# Fits of one size, so many of them, have a median to compare with.
_LEAST = 30
_SLOWEST = 20.0
_MOST_WARNED = 1e-3
# Fits that meet most rows exactly, and losses that trim, have minima of equal cost: see
# `promises._moved_by_rounding`.
_MOST_EDGES = 0.01
_SHOWN = 8


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fits", type=int, default=200_000)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=OUT.parent / "abuse", help="results so far")
    parser.add_argument("--first", type=int, default=0, help="the first seed, in hundreds")
    parser.add_argument("--case", type=int, help="the seed of one case to repeat")
    options = parser.parse_args()
    if options.case is not None:
        return repeat(options.case)
    begin, whole, new = time.monotonic(), Outcome(), 0
    last = begin
    for outcome in run(options.fits, options.out, options.jobs, first=options.first):
        add(whole, outcome)
        new += outcome.fits if time.monotonic() - begin > 1 else 0  # what was stored takes no time
        if time.monotonic() - last > 60:
            last = time.monotonic()
            print(f"{whole.fits} fits, {len(whole.broken)} broken promises", flush=True)
    took = time.monotonic() - begin
    broken = table(whole)
    print(f"{took / 60:.1f} minutes with {options.jobs} processes", end="")
    print(f"; a million fits would take {took / new * 1e6 / 3600:.1f} hours" if new else "")
    return 1 if broken else 0


def repeat(seed: int) -> int:
    case, outcome = draw(seed), Outcome()
    print(case)
    run_case(case, outcome)
    for _, sentence in outcome.broken:
        print(f"broken: {sentence}")
    for _, sentence in outcome.edges:
        print(f"decided by rounding: {sentence}")
    if outcome.refused:
        try:
            Fits().fit(case)
        except RefusedError as refused:
            print(f"refused: {refused}")
    return 1 if outcome.broken else 0


def add(whole: Outcome, part: Outcome) -> None:
    whole.fits += part.fits
    whole.refused += part.refused
    whole.compared += part.compared
    whole.benign += part.benign
    whole.warned += part.warned
    whole.broken += part.broken
    whole.edges += part.edges
    whole.times += part.times


def table(whole: Outcome) -> int:
    """Print what came of all cases, and return the number of broken promises."""
    kinds = defaultdict(list)
    for seed, sentence in whole.broken:
        kinds[sentence.split(":")[0]].append((seed, sentence))
    kinds["time"] += slow(whole.times)
    warned = len(whole.warned) / max(whole.benign, 1)
    if warned > _MOST_WARNED:
        kinds["converges on benign data"] = [(s, "stopped at max_iter") for s in whole.warned]
    if len(whole.edges) > _MOST_EDGES * whole.compared:
        kinds["rounding decides little"] = whole.edges
    print(f"\n{'promise':<28} broken  seeds")
    for name, found in sorted(kinds.items()):
        if found:
            seeds = ", ".join(str(seed) for seed, _ in found[:_SHOWN])
            print(f"{name:<28} {len(found):>6}  {seeds}{', ...' * (len(found) > _SHOWN)}")
            for sentence, count in Counter(_shape(s) for _, s in found).most_common(_SHOWN):
                print(f"{'':<37}{count} x {sentence}")
    total = sum(map(len, kinds.values()))
    print(f"\n{whole.fits} fits, {total} broken promises, {whole.refused} cases refused in words")
    seeds = ", ".join(str(seed) for seed, _ in whole.edges[:_SHOWN])
    print(
        f"decided by the last digit of the data: {len(whole.edges)} of {whole.compared} comparisons"
        f" (at most {_MOST_EDGES:.0%}){': ' * bool(seeds)}{seeds}"
    )
    print(
        f"convergence warnings: {len(whole.warned)} of {whole.benign} default fits to benign data"
    )
    return total


def slow(times: list[tuple[int, str, float]]) -> list[tuple[int, str]]:
    """Return the fits that take more than twenty times the median of their size, twice."""
    sizes = defaultdict(list)
    for seed, size, seconds in times:
        sizes[size].append((seconds, seed))
    found = []
    for size, measured in sizes.items():
        median = float(np.median([seconds for seconds, _ in measured]))
        for seconds, seed in measured:
            if len(measured) >= _LEAST and seconds > _SLOWEST * median:
                again = Fits()
                again.fit(draw(seed))
                if min(again.seconds, seconds) > _SLOWEST * median:
                    found.append((seed, f"time: {size}, {seconds:.2g} s, median {median:.2g} s"))
    return found


def _shape(sentence: str) -> str:
    """Return a sentence without its numbers, to count those that are alike."""
    return "".join("#" if c.isdigit() else c for c in sentence.split("predictions differ by")[0])[
        :90
    ]


if __name__ == "__main__":
    sys.exit(main())
