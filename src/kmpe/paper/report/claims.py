"""The paper's claims about its tables and figures, checked against the numbers of a run."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kmpe.paper.settings import ELM_METHODS, PCA_METHODS
from kmpe.paper.summaries import Inputs

__all__ = [
    "Claim",
    "PrintedCells",
    "PrintedDraw",
    "SmallestError",
    "measures_by_components",
    "scores_by_components",
    "testing_scores",
]

Table = Mapping[str, Any]
#: Cells by row and column.
Rows = Mapping[str, Mapping[str, Mapping[str, Any]]]


@dataclass(frozen=True)
class Claim(ABC):
    """What the paper says about one table or figure.

    Parameters
    ----------
    topic : str
        What it is about, for the report.
    """

    topic: str

    @abstractmethod
    def verdict(self, inputs: Inputs, table: Table) -> dict[str, Any] | None:
        """Return what the numbers show, or None if the data are not the paper's."""

    @abstractmethod
    def sentence(self, verdict: Mapping[str, Any]) -> tuple[str, bool] | None:
        """Return the verdict in words and whether the claim holds; None if no cell was compared."""

    def misses(
        self, _inputs: Inputs, _table: Table, _titles: Mapping[str, str]
    ) -> dict[str, list[str]]:
        """Return the cells more than two printed standard deviations off, in words, by row."""
        return {}


@dataclass(frozen=True)
class PrintedDraw(Claim):
    """The one printed draw lies in the range of ours, and the methods come in the same order."""

    def verdict(self, _: Inputs, table: Table) -> dict[str, Any]:
        rows = [{method: row[method] for method in ELM_METHODS} for row in table.values()]
        return {
            "inside": all(
                cell["min"] <= cell["paper"] <= cell["max"] for row in rows for cell in row.values()
            ),
            "same_order": all(_order(row, "mean") == _order(row, "paper") for row in rows),
        }

    def sentence(self, verdict: Mapping[str, Any]) -> tuple[str, bool]:
        inside = "inside" if verdict["inside"] else "not always inside"
        order = "the same" if verdict["same_order"] else "another"
        return (
            f"the paper's draw lies {inside} the range of ours; {order} order of methods",
            verdict["inside"] and verdict["same_order"],
        )


@dataclass(frozen=True)
class PrintedCells(Claim):
    """Means lie within two printed standard deviations of the printed means.

    Parameters
    ----------
    rows : callable
        The cells that count.
    share : float
        The share of them that has to agree.
    digits : int
        Decimals to write.
    noun : str
        What to call the cells.
    """

    rows: Callable[[Inputs, Table], Rows]
    share: float
    digits: int
    noun: str = "cells"

    def verdict(self, inputs: Inputs, table: Table) -> dict[str, Any]:
        rows = self.rows(inputs, table).values()
        z = [abs(cell["z"]) for row in rows for cell in row.values() if "z" in cell]
        return {"within": sum(value <= 2 for value in z), "of": len(z)}

    def sentence(self, verdict: Mapping[str, Any]) -> tuple[str, bool] | None:
        within, of = verdict["within"], verdict["of"]
        if not of:
            return None
        return (
            f"{within} of {of} {self.noun} within two of the paper's standard deviations",
            within >= self.share * of,
        )

    def misses(
        self, inputs: Inputs, table: Table, titles: Mapping[str, str]
    ) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {}
        for key, row in self.rows(inputs, table).items():
            for column, cell in row.items():
                if abs(cell.get("z", 0)) > 2:
                    ours, paper, sd = (
                        f"{cell[name]:.{self.digits}f}" for name in ("mean", "paper", "paper_sd")
                    )
                    found.setdefault(key, []).append(
                        f"{titles.get(key, key)}, {column}: {ours} against {paper} ± {sd} "
                        f"({cell['z']:+.1f})"
                    )
        return found


@dataclass(frozen=True)
class SmallestError(Claim):
    """PCA-KMPE has the smallest error of the paper's methods from m = 20 on."""

    def verdict(self, inputs: Inputs, table: Table) -> dict[str, Any] | None:
        if "yale" not in inputs.data:
            return None
        return {"lowest": all(_kmpe_lowest(row["all"]) for row in table.values())}

    def sentence(self, verdict: Mapping[str, Any]) -> tuple[str, bool]:
        return (
            f"PCA-KMPE has {'' if verdict['lowest'] else 'not always '}the lowest error of the "
            "paper's methods from m = 20 on",
            verdict["lowest"],
        )


def testing_scores(inputs: Inputs, table: Table) -> Rows:
    """Return the testing scores of the rows and methods that the paper prints."""
    return {
        key: {method: row[method]["test"] for method in ELM_METHODS}
        for key, row in table.items()
        if key in inputs.printed
    }


def scores_by_components(_: Inputs, table: Table) -> Rows:
    """Return the rows of Table 9, each named by its number of components."""
    return {f"m = {m}": row for m, row in table.items()}


def measures_by_components(_: Inputs, table: Table) -> Rows:
    """Return the rows of Table 10, each named by its number of components and its measure."""
    return {
        f"m = {m}, {measure}": row
        for m, measures in table.items()
        for measure, row in measures.items()
    }


def _order(row: Mapping[str, Any], what: str) -> list[str]:
    return sorted(row, key=lambda method: row[method][what])


def _kmpe_lowest(lines: Rows) -> bool:
    return all(
        cell["mean"] == min(lines[method][m]["mean"] for method in PCA_METHODS)
        for m, cell in lines["PCA-KMPE"].items()
        if int(m) >= 20
    )
