"""Progress is a bar in a terminal, lines elsewhere, and silence when asked for."""

import io
import sys
import time

import pytest

from kmpe.io.progress import Progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Time that passes only when a test says so."""
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def work(clock: list[float], **options: bool) -> None:
    with Progress("running", 100, **options) as progress:
        progress.advance(20, kept=True)
        for _ in range(80):
            clock[0] += 5
            progress.advance(1)


def test_long_work_without_a_terminal_prints_a_line_now_and_then(
    clock: list[float], capsys: pytest.CaptureFixture[str]
) -> None:
    work(clock)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 13
    assert lines[0] == "running: 26% after 30 s, about 6 min left"  # 74 x 5 s
    assert lines[-1] == "running: 98% after 6 min, about 10 s left"


def test_short_work_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress("running", 1) as progress:
        progress.advance(1)
    assert capsys.readouterr().err == ""


def test_quiet_work_prints_nothing(
    clock: list[float], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    work(clock, quiet=True)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys, "stderr", Terminal())
    work(clock, quiet=True)
    assert sys.stderr.getvalue() == ""


def test_a_terminal_shows_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with Progress("running", 4) as progress:
        progress.advance(1, kept=True)
        progress.advance(3)
    assert "running 100%|" in sys.stderr.getvalue()


def test_a_terminal_without_tqdm_has_lines(
    clock: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    monkeypatch.setitem(sys.modules, "tqdm", None)
    work(clock)
    assert sys.stderr.getvalue().startswith("running: 26% after 30 s")
