"""The paper's settings and printed results, read from their two files."""

import hashlib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from kmpe import KMPE, Correntropy, Loss, Squared

__all__ = [
    "DEFAULT",
    "ELM_METHODS",
    "PCA_METHODS",
    "Benchmark",
    "Machine",
    "benchmarks",
    "printed",
    "readings",
    "seed_of",
    "settings",
    "sinc_machines",
]

ELM_METHODS = ("ELM", "RELM", "ELM-RCC", "ELM-KMPE")
#: The default loss of the package, on the hidden layer of ELM-KMPE.
DEFAULT = "default loss"
PCA_METHODS = ("PCA", "R1-PCA", "PCA-L1", "HQ-PCA", "PCA-GM", "PCA-KMPE")


@dataclass(frozen=True)
class Machine:
    """One cell of Tables 1, 5 and 6: hidden nodes, regularisation, kernel width and power."""

    L: int
    alpha: float = 0.0
    sigma: float | None = None
    p: float | None = None

    @classmethod
    def of(cls, entry: Mapping[str, Any]) -> "Machine":
        """Return the machine that an entry of the settings describes."""
        return cls(entry["L"], entry.get("lambda", 0.0), entry.get("sigma"), entry.get("p"))

    @property
    def loss(self) -> Loss:
        """The loss of the paper's method."""
        if self.sigma is None:
            return Squared()
        return Correntropy(self.sigma) if self.p is None else KMPE(self.p, self.sigma)

    def entry(self) -> dict[str, float]:
        """Return it under the names of the settings file."""
        entry: dict[str, float] = {"L": self.L}
        if self.alpha:
            entry["lambda"] = self.alpha
        return entry | {
            name: value
            for name, value in (("sigma", self.sigma), ("p", self.p))
            if value is not None
        }


@dataclass(frozen=True)
class Benchmark:
    """One row of Tables 7 and 8: the data, how they are used, and the machines.

    Parameters
    ----------
    key, title : str
        Its name in results, and in the report.
    task : {"regression", "classification"}
        The task.
    printed : str
        The row of the paper's table that it is compared with.
    data : str
        The data set.
    train, test : int
        Sizes of the training and testing sets as printed.
    features, classes : int
        Counts as printed.
    add : tuple of str
        Columns used as inputs although they are not features, such as a row number.
    only : mapping
        Column to value: only samples with these values are used.
    scale : bool
        Whether inputs are scaled to [0, 1].
    machines : mapping
        Method to machine.
    """

    key: str
    title: str
    task: str
    printed: str
    data: str
    train: int
    test: int
    features: int
    classes: int
    add: tuple[str, ...]
    only: Mapping[str, str]
    scale: bool
    machines: Mapping[str, Machine]


@cache
def settings() -> Mapping[str, Any]:
    """Return the settings file."""
    return _read("settings.toml")


@cache
def printed() -> Mapping[str, Any]:
    """Return the file of printed results."""
    return _read("printed.toml")


def benchmarks(task: str) -> tuple[Benchmark, ...]:
    """Return the rows of Table 7 ("regression") or Table 8 ("classification")."""
    return tuple(
        Benchmark(
            key=key,
            title=entry["title"],
            task=task,
            printed=key,
            data=key,
            train=entry["train"],
            test=entry["test"],
            features=entry["features"],
            classes=entry.get("classes", 0),
            add=tuple(entry.get("add", ())),
            only=entry.get("only", {}),
            scale=True,
            machines=_machines(entry),
        )
        for key, entry in settings()[task].items()
    )


def readings() -> tuple[Benchmark, ...]:
    """Return the rows of Table 8 read in another way, where the paper leaves a choice open."""
    rows = {row.key: row for row in benchmarks("classification")}
    found = []
    for key, entry in settings()["reading"].items():
        row = rows[entry["of"]]
        changes = {name: entry[name] for name in entry if name not in ("of", "add")}
        if "add" in entry:
            changes["add"] = tuple(entry["add"])
        found.append(replace(row, key=key, **changes))
    return tuple(found)


def sinc_machines(noise: str) -> Mapping[str, Machine]:
    """Return the row of Table 1 for a kind of noise."""
    return _machines(settings()["sinc"]["noise"][noise])


def seed_of(seed: int, *names: object) -> int:
    """Return a seed made from the seed of the run and the names of what it is for.

    It does not depend on the order of the work or the number of processes.
    """
    text = "/".join(str(name) for name in (seed, *names))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _machines(entry: Mapping[str, Any]) -> dict[str, Machine]:
    return {method: Machine.of(entry[method]) for method in ELM_METHODS}


def _read(file: str) -> dict[str, Any]:
    return tomllib.loads(resources.files("kmpe.paper").joinpath(file).read_text("utf-8"))
