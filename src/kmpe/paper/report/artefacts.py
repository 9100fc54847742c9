"""The tables and figures of the paper, one record each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from kmpe.datasets import Dataset
from kmpe.paper import summaries
from kmpe.paper.plan import Plan
from kmpe.paper.report import bodies, claims
from kmpe.paper.settings import benchmarks, printed
from kmpe.paper.summaries import Inputs

__all__ = ["ARTEFACTS", "Artefact"]

Table = Mapping[str, Any]


@dataclass(frozen=True)
class Artefact:
    """A table or figure of the paper.

    Parameters
    ----------
    name : str
        Its name on the command line, in ``results.json``, ``printed.toml`` and ``notes.toml``.
    section, title : str
        Its section of the report, and its heading there.
    body : callable
        Writes it as HTML.
    experiment : str
        The experiment that it shows; empty if it shows settings or data.
    data : sequence of str
        The data sets that it needs.
    summary : callable or None
        Makes its numbers; None for a figure that shows the results as they are.
    levels : sequence of str
        What the keys of its numbers are, from the outside in: the first columns of its CSV file.
    claim : Claim or None
        What the paper says about it.
    """

    name: str
    section: str
    title: str
    body: Callable[[Inputs, Table], str]
    experiment: str = ""
    data: Sequence[str] = ()
    summary: Callable[[Inputs], Table] | None = None
    levels: Sequence[str] = ()
    claim: claims.Claim | None = None

    @property
    def is_table(self) -> bool:
        """Whether it is a table and not a figure."""
        return self.name.startswith("table")

    @property
    def label(self) -> str:
        """Its name in a sentence: Table 1, Figure 1."""
        return self.name.replace("table", "Table ").replace("fig", "Figure ")

    def inputs(
        self,
        todo: Plan,
        results: Mapping[str, Mapping[str, Sequence[Any]]],
        data: Mapping[str, Dataset],
    ) -> Inputs:
        """Return what it is made from, out of the results of all experiments."""
        return Inputs(todo, results.get(self.experiment, {}), printed().get(self.name, {}), data)


_SINC = "Function estimation with synthetic data"
_BENCHMARKS = "Regression and classification on benchmark data"
_FACES = "Face reconstruction"
_CLUSTERING = "Clustering"

_REGRESSION_DATA = tuple(row.data for row in benchmarks("regression"))
_CLASSIFICATION_DATA = tuple(row.data for row in benchmarks("classification"))
_SIZES = ("features", "training", "testing")

#: All of them, in the order of the report.
ARTEFACTS = (
    Artefact(
        "table1",
        _SINC,
        "Settings of the four machines for the sinc data",
        bodies.sinc_settings,
        summary=summaries.sinc_settings,
        levels=("noise", "method"),
    ),
    Artefact(
        "fig1",
        _SINC,
        "Estimates of the sinc function",
        bodies.curves,
        experiment="curves",
    ),
    Artefact(
        "table2",
        _SINC,
        "Testing RMSE on the sinc data",
        bodies.sinc_errors,
        experiment="sinc",
        summary=summaries.sinc_errors,
        levels=("noise", "method"),
        claim=claims.PrintedDraw("sinc"),
    ),
    Artefact(
        "table3",
        _BENCHMARKS,
        "The regression data",
        partial(bodies.specifications, _SIZES),
        data=_REGRESSION_DATA,
        summary=partial(summaries.specifications, "regression"),
        levels=("data", "source"),
    ),
    Artefact(
        "table4",
        _BENCHMARKS,
        "The classification data",
        partial(bodies.specifications, ("classes", *_SIZES)),
        data=_CLASSIFICATION_DATA,
        summary=partial(summaries.specifications, "classification"),
        levels=("data", "source"),
    ),
    Artefact(
        "table5",
        _BENCHMARKS,
        "Settings for regression",
        bodies.benchmark_settings,
        data=_REGRESSION_DATA,
        summary=partial(summaries.benchmark_settings, "regression"),
        levels=("data", "method"),
    ),
    Artefact(
        "table6",
        _BENCHMARKS,
        "Settings for classification",
        bodies.benchmark_settings,
        data=_CLASSIFICATION_DATA,
        summary=partial(summaries.benchmark_settings, "classification"),
        levels=("data", "method"),
    ),
    Artefact(
        "table7",
        _BENCHMARKS,
        "Regression: RMSE of training and testing",
        partial(bodies.benchmark_scores, "regression"),
        experiment="regression",
        data=_REGRESSION_DATA,
        summary=partial(summaries.benchmark_scores, "regression"),
        levels=("data", "method", "part"),
        claim=claims.PrintedCells(
            "regression", claims.testing_scores, share=26 / 28, digits=4, noun="testing cells"
        ),
    ),
    Artefact(
        "table8",
        _BENCHMARKS,
        "Classification: accuracy of training and testing, in per cent",
        partial(bodies.benchmark_scores, "classification"),
        experiment="classification",
        data=_CLASSIFICATION_DATA,
        summary=partial(summaries.benchmark_scores, "classification"),
        levels=("data", "method", "part"),
        claim=claims.PrintedCells(
            "classification", claims.testing_scores, share=24 / 32, digits=2, noun="testing cells"
        ),
    ),
    Artefact(
        "fig2",
        _FACES,
        "Original images and occluded ones",
        bodies.occluded_faces,
        experiment="face examples",
        data=("yale",),
    ),
    Artefact(
        "fig3",
        _FACES,
        "Average reconstruction error under occlusion",
        bodies.reconstruction_errors,
        experiment="reconstruction occlusion",
        data=("yale",),
        summary=summaries.reconstruction_errors,
        levels=("outliers", "images", "method", "m"),
        claim=claims.SmallestError("occlusion"),
    ),
    Artefact(
        "fig4",
        _FACES,
        "Average reconstruction error under dummy images",
        bodies.reconstruction_errors,
        experiment="reconstruction dummy",
        data=("yale",),
        summary=summaries.reconstruction_errors,
        levels=("outliers", "images", "method", "m"),
        claim=claims.SmallestError("dummy images"),
    ),
    Artefact(
        "fig5",
        _FACES,
        "Eigenfaces, m = 10",
        bodies.eigenfaces,
        experiment="face examples",
        data=("yale",),
    ),
    Artefact(
        "fig6",
        _FACES,
        "Reconstructed faces, m = 50",
        bodies.reconstructed_faces,
        experiment="face examples",
        data=("yale",),
    ),
    Artefact(
        "fig7",
        _CLUSTERING,
        "Digits for clustering",
        bodies.digit_examples,
        experiment="digit examples",
        data=("mnist",),
    ),
    Artefact(
        "table9",
        _CLUSTERING,
        "Accuracy of K-means on digits 3, 8 and 9, in per cent",
        bodies.digit_clusters,
        experiment="digits",
        data=("mnist",),
        summary=summaries.digit_clusters,
        levels=("m", "method"),
        claim=claims.PrintedCells("digits", claims.scores_by_components, share=1, digits=2),
    ),
    Artefact(
        "table10",
        _CLUSTERING,
        "Accuracy and normalised mutual information of K-means on faces",
        bodies.face_clusters,
        experiment="face clusters",
        data=("yale",),
        summary=summaries.face_clusters,
        levels=("m", "measure", "method"),
        claim=claims.PrintedCells("faces", claims.measures_by_components, share=1, digits=4),
    ),
)
