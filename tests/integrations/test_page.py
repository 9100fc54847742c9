"""The page on PyTorch and the boosters tells the truth: its code prints what it says."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "anything.md"
BLOCK = re.compile(r"^```py\n(.*?)^```\n\s*^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("packages", [("torch",), ("lightgbm", "xgboost")])
def test_code_prints_what_the_page_says(packages):
    for package in packages:
        pytest.importorskip(package, reason="make test-integrations has it")
    blocks = [block for block in BLOCK.findall(PAGE.read_text("utf-8")) if packages[0] in block[0]]
    assert len(blocks) == 1
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        exec(compile(blocks[0][0], PAGE.name, "exec"), {})
    assert out.getvalue() == blocks[0][1]
