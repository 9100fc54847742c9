"""The command line: what it accepts, and how it ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import pytest

from killed_runs import command, killed_runs
from kmpe import cli
from kmpe.datasets import load
from kmpe.paper import run
from kmpe.paper.report import ARTEFACTS


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder with a file for Wine, whose values are right and whose bytes are not."""
    monkeypatch.delenv("KMPE_DATA", raising=False)
    folder = tmp_path / "data"
    folder.mkdir()
    wine = load("wine")
    lines = [",".join([*wine.feature_names, wine.target_name])]
    for row, label in zip(wine.X.tolist(), wine.y, strict=True):
        lines.append(",".join([*map(repr, row), label]))
    (folder / "wine.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text, "SHA-256"),
        (lambda text: text[:2000], "whole rows where 178 are expected"),
        (lambda text: text.replace("ash,", "ashes,", 1), "has no column 'ash'"),
    ],
)
def test_bad_data_end_in_one_sentence_and_code_2(
    change: Callable[[str], str],
    message: str,
    data: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = data / "wine.csv"
    file.write_text(change(file.read_text()))
    out = tmp_path / "out"
    code = cli.main(["reproduce", "table8", "--data-dir", str(data), "--out", str(out)])
    told = capsys.readouterr().err
    assert code == 2
    assert message in told
    assert len(told.strip().splitlines()) == 1
    assert list(out.iterdir()) == []


def test_an_output_folder_that_cannot_be_written_ends_with_code_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    code = cli.main(["reproduce", "table1", "--out", str(tmp_path / "file" / "out")])
    assert code == 2
    assert "choose another one with --out" in capsys.readouterr().err
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("reproduce table11", "'table11' is none of table1 to table10, fig1 to fig7"),
        ("reproduce --repeats 0", "'0' is not a whole number above 0"),
        ("reproduce --jobs x", "'x' is not a whole number above 0"),
        ("reproduce --seed -1 fig2", "'-1' is not a whole number from 0 to 2^32 - 1"),
        ("reproduce --seed 4294967296 fig2", "'4294967296' is not a whole number from 0 to"),
        ("reproduce --quick --repeats 3", "--repeats: not allowed with argument --quick"),
        ("", "the following arguments are required: command"),
    ],
)
def test_wrong_arguments_end_with_a_sentence_and_code_2(
    arguments: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        cli.main(arguments.split())
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_a_missing_extra_is_named() -> None:
    code = (
        "import sys; sys.modules['matplotlib'] = None; from kmpe.cli import main; sys.exit(main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, "reproduce", "table1"], capture_output=True, text=True
    )
    assert ended.returncode == 2
    assert ended.stderr == "kmpe: matplotlib is missing: pip install 'kmpe[paper]'\n"


def test_help_imports_nothing_heavy_and_names_the_first_and_last_of_the_list() -> None:
    code = """
import sys
from kmpe.cli import main
try:
    main(["reproduce", "--help"])
finally:
    assert not {"numpy", "sklearn", "matplotlib"} & set(sys.modules)
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    tables = [item.name for item in ARTEFACTS if item.is_table]
    figures = [item.name for item in ARTEFACTS if not item.is_table]
    names = f"{tables[0]} to {tables[-1]}, {figures[0]} to {figures[-1]}"
    assert names in " ".join(told.stdout.split())


@pytest.mark.parametrize(
    ("end", "code", "message"),
    [(KeyboardInterrupt, 130, "to continue"), (BrokenProcessPool, 2, "--jobs 1")],
)
def test_a_stopped_run_says_how_to_go_on(
    end: type[BaseException],
    code: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(_: object) -> None:
        raise end

    monkeypatch.setattr(run, "reproduce", stop)
    assert cli.main(["reproduce"]) == code
    assert message in capsys.readouterr().err


def test_settings_alone_need_no_work(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["reproduce", "table1", "table6", "--out", str(tmp_path)]) == 0
    assert "report.html written" in capsys.readouterr().out
    assert (tmp_path / "table6.csv").exists()


# Ctrl-C comes while matplotlib is imported.
INTERRUPTED_IMPORT = """
import builtins, os, signal, sys
imported = builtins.__import__

def interrupted(name, *arguments, **names):
    if name == "matplotlib":
        os.kill(os.getpid(), signal.SIGINT)
    return imported(name, *arguments, **names)

builtins.__import__ = interrupted
from kmpe.cli import main
sys.exit(main(["reproduce", "table1"]))
"""


def test_an_interrupt_while_importing_ends_quietly(tmp_path: Path) -> None:
    run = [sys.executable, "-c", INTERRUPTED_IMPORT]
    ended = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)
    assert ended.returncode == 130
    assert ended.stderr == "kmpe: stopped; run the same command again to continue\n"


def test_an_interrupt_while_processes_start_ends_quietly(tmp_path: Path) -> None:
    with subprocess.Popen(
        command(tmp_path), start_new_session=True, stderr=subprocess.PIPE, text=True
    ) as run:
        deadline = time.monotonic() + 300
        while len(processes(run.pid)) < 2 and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.2)  # a process that has just started is importing numpy now
        os.killpg(run.pid, signal.SIGINT)
        _, told = run.communicate()
    assert run.returncode == 130
    assert told == "kmpe: stopped; run the same command again to continue\n"


def processes(pid: int) -> list[str]:
    """Return the children of a process."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


def test_a_run_killed_at_any_moment_goes_on_to_the_same_results(tmp_path: Path) -> None:
    assert len(list(killed_runs(kills=3, folder=tmp_path))) == 3
