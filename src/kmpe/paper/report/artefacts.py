"""The body of each table and figure."""

from collections.abc import Mapping
from typing import Any

from kmpe.paper.plan import Plan
from kmpe.paper.report import cells, figures
from kmpe.paper.settings import ELM_METHODS, benchmarks, settings

__all__ = ["body"]


def body(name: str, todo: Plan, results: Mapping[str, Any], gathered: Mapping[str, Any]) -> str:
    """Return the HTML of a table or figure, without its heading and notes."""
    tables = results["tables"]
    noises = {key: entry["title"] for key, entry in settings()["sinc"]["noise"].items()}
    match name:
        case "table1":
            return cells.machines_table(tables[name], noises, "Noise")
        case "fig1":
            draws = {noise: found[0] for noise, found in gathered["curves"].items()}
            return _figure(figures.curves(draws, noises))
        case "table2":
            return cells.sinc_table(tables[name], noises)
        case "table3" | "table4":
            columns = ["features", "training", "testing"]
            if name == "table4":
                columns.insert(0, "classes")
            return cells.specification_table(tables[name], _titles(todo), columns)
        case "table5" | "table6":
            return cells.machines_table(tables[name], _titles(todo), "Data set")
        case "table7" | "table8":
            return _scores(name, todo, tables[name])
    raise ValueError(f"{name!r} is no table or figure")


def _scores(name: str, todo: Plan, table: Mapping[str, Any]) -> str:
    task = "regression" if name == "table7" else "classification"
    # Sets that are not here keep their line.
    order = [row.key for row in benchmarks(task)]
    rows = {key: table.get(key, {}) for key in [*order, *(k for k in table if k not in order)]}
    made = []
    for part, title in (("test", "Testing"), ("train", "Training")):
        made.append(f'<p class="caption">{title}</p>')
        made.append(
            cells.scores_table(
                {key: {m: c[part] for m, c in row.items()} for key, row in rows.items()},
                _titles(todo),
                ELM_METHODS,
                ("HuberRegressor",) if task == "regression" else (),
                "Data set",
                4 if task == "regression" else 2,
                best="low" if task == "regression" else "high",
            )
        )
    return "".join(made)


def _titles(todo: Plan) -> dict[str, str]:
    rows = (*benchmarks("regression"), *benchmarks("classification"), *todo.rows("classification"))
    return {row.key: row.title for row in rows}


def _figure(svg: str, kind: str = "") -> str:
    return f'<figure class="{kind}">{svg}</figure>'
