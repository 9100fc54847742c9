"""What all tests share: reproducible property tests, and where the paper's data lies."""

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The same examples on every run: a failure is never a matter of luck.
settings.register_profile("kmpe", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("kmpe")

# A shell lets commands in the background ignore Ctrl-C, and so would those that tests run and
# interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _seeded() -> None:
    """Let estimators without a random_state draw the same numbers on every run."""
    np.random.seed(0)  # noqa: NPY002 - what check_random_state(None) draws from


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """Return the folder of the paper's data sets, which are not part of the project."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("KMPE_DATA", beside))
    if not folder.is_dir():
        pytest.skip("the paper's data sets are not here: set KMPE_DATA to their folder")
    return folder
