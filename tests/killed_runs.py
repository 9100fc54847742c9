"""Runs of ``kmpe reproduce`` that are killed at random moments and must go on to the same numbers.

python tests/killed_runs.py --kills 20
"""

import argparse
import json
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from os import killpg
from pathlib import Path
from typing import Any


def command(out: Path, repeats: int = 6) -> list[str]:
    """Return the command of a small table in a few parts."""
    code = "import sys; from kmpe.cli import main; sys.exit(main())"
    options = ["--repeats", str(repeats), "--jobs", "2", "--out", str(out)]
    return [sys.executable, "-c", code, "reproduce", "table2", *options]


def killed_runs(kills: int, folder: Path, seed: int = 0, repeats: int = 6) -> Iterator[str]:
    """Kill a run ``kills`` times, then let it end; yield a line on each kill.

    With few ``repeats`` most of the time goes into imports, and most kills come before a part ends.

    A run that ends before its moment comes is compared with the whole one, and the next one starts
    from nothing. Half of the kills end the command alone, half its processes too.
    """
    rng = random.Random(seed)
    start = time.monotonic()
    subprocess.run(command(folder / "whole", repeats), check=True, capture_output=True)
    longest = time.monotonic() - start
    whole, out, done = tables(folder / "whole"), folder / "killed", 0
    while done < kills:
        moment, alone = rng.uniform(0, longest), rng.random() < 0.5
        whole_run, start = not out.exists(), time.monotonic()
        if killed(command(out, repeats), moment, alone=alone):
            parts, all_parts = (len(list(f.glob("parts/*.json"))) for f in (out, folder / "whole"))
            done += 1
            yield f"killed after {moment:.2f} s with {parts} of {all_parts} parts finished"
        else:
            assert tables(out) == whole
            if whole_run:  # the machine was busy before
                longest = min(longest, time.monotonic() - start)
            shutil.rmtree(out)
    ended = subprocess.run(command(out, repeats), check=True, capture_output=True, text=True)
    assert tables(out) == whole
    assert "Traceback" not in ended.stderr


def killed(arguments: list[str], moment: float, *, alone: bool) -> bool:
    """Run a command and kill it after some seconds; False if it had ended by itself."""
    run = subprocess.Popen(
        arguments, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        ended = run.wait(timeout=moment)
    except subprocess.TimeoutExpired:
        run.kill() if alone else killpg(run.pid, signal.SIGKILL)
        run.wait()
        return True
    assert ended == 0
    return False


def tables(out: Path) -> Any:
    """Return the numbers of a run that has ended."""
    return json.loads((out / "results.json").read_text())["tables"]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=20)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for line in killed_runs(asked.kills, Path(place), asked.seed, asked.repeats):
            print(line, flush=True)
    print(f"{asked.kills} kills, the same numbers after each")
