"""Work for parts that tests run in other processes; here because those import this module."""

import os
import time
from pathlib import Path
from typing import Any

from kmpe.paper.parts import Part


def square(part: Part, data_dir: str | None) -> list[int]:
    """Leave a mark for each part that is really computed."""
    assert data_dir is not None
    (Path(data_dir) / f"{part.key}-{part.first}-{time.monotonic_ns()}").touch()
    if part.key == "fails" and not (Path(data_dir) / "mended").exists():
        raise RuntimeError("as if it had been killed")
    return [repeat**2 for repeat in range(part.first, part.last)]


def threads(part: Part, data_dir: str | None) -> list[Any]:  # noqa: ARG001 - the interface
    return [os.environ["OPENBLAS_NUM_THREADS"]]
