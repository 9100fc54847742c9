"""The body of each table and figure."""

from collections.abc import Mapping
from html import escape
from typing import Any

from kmpe.paper import faces
from kmpe.paper.plan import Plan
from kmpe.paper.report import cells, figures
from kmpe.paper.settings import DEFAULT, ELM_METHODS, PCA_METHODS, benchmarks, readings, settings
from kmpe.paper.subspaces import PEERS

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
        case "fig3" | "fig4":
            return _errors(todo, tables[name])
        case "fig2" | "fig5" | "fig6":
            ((_, (found,)),) = gathered["face examples"].items()
            return _stand_in(todo, "yale", "faces") + _faces(name, found)
        case "fig7":
            ((_, (found,)),) = gathered["digit examples"].items()
            svg = figures.montages({"": faces.unpack(found)}, ("inliers", "outliers"))
            return _stand_in(todo, "mnist", "digits") + _figure(svg)
        case "table9":
            table = {f"m = {m}": row for m, row in tables[name].items()}
            return _stand_in(todo, "mnist", "digits") + _clusters(table, 2)
        case "table10":
            table = {
                f"m = {m}, {what}": row
                for m, measures in tables[name].items()
                for what, row in measures.items()
            }
            return _stand_in(todo, "yale", "face_clusters") + _clusters(table, 4)
    raise ValueError(f"{name!r} is no table or figure")


def _errors(todo: Plan, found: Mapping[str, Any]) -> str:
    """Two drawings: the mean over all images as in the paper, and over the inliers."""
    real = "yale" in todo.here
    total = 165 if real else 100
    made = [_stand_in(todo, "yale", "faces")]
    for average, what in (("all", "over all images, as in the paper"), ("inliers", "over inliers")):
        panels = {
            f"({total - int(n)}, {n})": {
                method: row[average][method] for method in (*PCA_METHODS, *PEERS)
            }
            for n, row in found.items()
        }
        made.append(f'<p class="caption">Mean {what}</p>')
        made.append(_figure(figures.errors(panels, "average reconstruction error")))
    return "".join(made)


def _faces(name: str, found: Mapping[str, Any]) -> str:
    if name == "fig2":
        svg = figures.montages({"": faces.unpack(found[name])}, ("original", "occluded"))
        return _figure(svg, "narrow")
    labels = PCA_METHODS if name == "fig5" else ("training", *PCA_METHODS)
    panels = {
        f"({letter}) {kind} noise": faces.unpack(found[f"{name} {kind}"])
        for letter, kind in zip("ab", faces.KINDS, strict=True)
    }
    return _figure(figures.montages(panels, labels))


def _clusters(table: Mapping[str, Any], digits: int) -> str:
    return cells.stacked_table(table, PCA_METHODS, PEERS[:1], digits)


def _stand_in(todo: Plan, data: str, experiment: str) -> str:
    """Return a warning where the experiment ran on other data than the paper's."""
    if data in todo.here:
        return ""
    title = escape(settings()["stand_in"][experiment]["title"])
    return (
        '<p class="note stand-in"><b>Stand-in.</b> The paper\'s data are not here; this is the '
        f"same experiment on the {title}. No printed number belongs beside it.</p>"
    )


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
                (DEFAULT, "HuberRegressor") if task == "regression" else (DEFAULT,),
                "Data set",
                4 if task == "regression" else 2,
                best="low" if task == "regression" else "high",
                readings={row.key for row in readings()},
            )
        )
    return "".join(made)


def _titles(todo: Plan) -> dict[str, str]:
    rows = (*benchmarks("regression"), *benchmarks("classification"), *todo.rows("classification"))
    return {row.key: row.title for row in rows}


def _figure(svg: str, kind: str = "") -> str:
    return f'<figure class="{kind}">{svg}</figure>'
