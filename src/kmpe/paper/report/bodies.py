"""The HTML of each table and figure, without its heading and notes."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from kmpe.paper import faces
from kmpe.paper.plan import Plan
from kmpe.paper.report import cells, figures
from kmpe.paper.report.claims import measures_by_components, scores_by_components
from kmpe.paper.settings import DEFAULT, ELM_METHODS, PCA_METHODS, benchmarks, readings, settings
from kmpe.paper.subspaces import PEERS
from kmpe.paper.summaries import Inputs

__all__ = [
    "benchmark_scores",
    "benchmark_settings",
    "curves",
    "digit_clusters",
    "digit_examples",
    "eigenfaces",
    "face_clusters",
    "occluded_faces",
    "reconstructed_faces",
    "reconstruction_errors",
    "sinc_errors",
    "sinc_settings",
    "specifications",
    "titles",
]

Table = Mapping[str, Any]


def sinc_settings(_: Inputs, table: Table) -> str:
    """Return the settings of each machine by noise."""
    return cells.machines_table(table, _noises(), "Noise")


def curves(inputs: Inputs, _: Table) -> str:
    """Return the first draw and its estimates, one panel for each noise."""
    draws = {noise: found[0] for noise, found in inputs.results.items()}
    return _figure(figures.curves(draws, _noises()))


def sinc_errors(_: Inputs, table: Table) -> str:
    """Return the mean and range of the testing RMSE by noise."""
    return cells.sinc_table(table, _noises())


def specifications(columns: Sequence[str], inputs: Inputs, table: Table) -> str:
    """Return the sizes of each data set, under the names of ``columns``."""
    return cells.specification_table(table, titles(inputs.todo), columns)


def benchmark_settings(inputs: Inputs, table: Table) -> str:
    """Return the settings of each machine by data set."""
    return cells.machines_table(table, titles(inputs.todo), "Data set")


def benchmark_scores(task: str, inputs: Inputs, table: Table) -> str:
    """Return two tables: testing scores and training scores by data set."""
    # Data sets that were not found keep their line.
    order = [row.key for row in benchmarks(task)]
    rows = {key: table.get(key, {}) for key in [*order, *(k for k in table if k not in order)]}
    made = []
    for part, title in (("test", "Testing"), ("train", "Training")):
        made.append(f'<p class="caption">{title}</p>')
        made.append(
            cells.scores_table(
                {key: {m: c[part] for m, c in row.items()} for key, row in rows.items()},
                titles(inputs.todo),
                ELM_METHODS,
                (DEFAULT, "HuberRegressor") if task == "regression" else (DEFAULT,),
                "Data set",
                4 if task == "regression" else 2,
                best="low" if task == "regression" else "high",
                readings={row.key for row in readings()},
            )
        )
    return "".join(made)


def occluded_faces(inputs: Inputs, _: Table) -> str:
    """Return original images above occluded ones."""
    images = faces.unpack(_only(inputs)[faces.OCCLUDED])
    svg = figures.montages({"": images}, ("original", "occluded"))
    return _face_stand_in(inputs) + _figure(svg, "narrow")


def reconstruction_errors(inputs: Inputs, table: Table) -> str:
    """Return two drawings: the mean over all images as in the paper, and over the inliers."""
    total = 165 if "yale" in inputs.todo.here else 100
    made = [_face_stand_in(inputs)]
    for average, what in (("all", "over all images, as in the paper"), ("inliers", "over inliers")):
        panels = {
            f"({total - int(n)}, {n})": {
                method: row[average][method] for method in (*PCA_METHODS, *PEERS)
            }
            for n, row in table.items()
        }
        made.append(f'<p class="caption">Mean {what}</p>')
        made.append(_figure(figures.errors(panels, "average reconstruction error")))
    return "".join(made)


def eigenfaces(inputs: Inputs, _: Table) -> str:
    """Return the eigenfaces of each method, one panel for each kind of outlier."""
    return _face_stand_in(inputs) + _panels(inputs, faces.EIGENFACES, PCA_METHODS)


def reconstructed_faces(inputs: Inputs, _: Table) -> str:
    """Return training images and their reconstructions, one panel for each kind of outlier."""
    labels = ("training", *PCA_METHODS)
    return _face_stand_in(inputs) + _panels(inputs, faces.RECONSTRUCTED, labels)


def digit_examples(inputs: Inputs, _: Table) -> str:
    """Return some inliers above some outliers."""
    svg = figures.montages({"": faces.unpack(_only(inputs))}, ("inliers", "outliers"))
    return _stand_in(inputs, "mnist", "digits") + _figure(svg)


def digit_clusters(inputs: Inputs, table: Table) -> str:
    """Return the accuracy of K-means on digits."""
    rows = scores_by_components(inputs, table)
    made = cells.stacked_table(rows, PCA_METHODS, PEERS[:1], 2)
    return _stand_in(inputs, "mnist", "digits") + made


def face_clusters(inputs: Inputs, table: Table) -> str:
    """Return the accuracy and normalised mutual information of K-means on faces."""
    rows = measures_by_components(inputs, table)
    made = cells.stacked_table(rows, PCA_METHODS, PEERS[:1], 4)
    return _stand_in(inputs, "yale", "face_clusters") + made


def titles(todo: Plan) -> dict[str, str]:
    """Return the titles of the benchmark data sets and of their other readings."""
    rows = (*benchmarks("regression"), *benchmarks("classification"), *todo.rows("classification"))
    return {row.key: row.title for row in rows}


def _noises() -> dict[str, str]:
    return {key: entry["title"] for key, entry in settings()["sinc"]["noise"].items()}


def _only(inputs: Inputs) -> Any:
    """Return the result of an experiment that has one key and one repeat."""
    ((_, (found,)),) = inputs.results.items()
    return found


def _panels(inputs: Inputs, what: str, labels: Sequence[str]) -> str:
    found = _only(inputs)
    panels = {
        f"({letter}) {kind} noise": faces.unpack(found[f"{what} {kind}"])
        for letter, kind in zip("ab", faces.KINDS, strict=True)
    }
    return _figure(figures.montages(panels, labels))


def _face_stand_in(inputs: Inputs) -> str:
    return _stand_in(inputs, "yale", "faces")


def _stand_in(inputs: Inputs, data: str, experiment: str) -> str:
    """Return a warning where the experiment ran on other data than the paper's."""
    if data in inputs.todo.here:
        return ""
    title = escape(settings()["stand_in"][experiment]["title"])
    return (
        '<p class="note stand-in"><b>Stand-in.</b> The paper\'s data are not here; this is the '
        f"same experiment on the {title}. No printed number belongs beside it.</p>"
    )


def _figure(svg: str, kind: str = "") -> str:
    return f'<figure class="{kind}">{svg}</figure>'
