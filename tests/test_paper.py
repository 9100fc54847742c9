"""The paper's experiments: their settings, their protocol, and runs that can be stopped."""

import fcntl
import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmpe.datasets import load
from kmpe.io.output import OutputError, prepare_folder, write
from kmpe.paper import benchmarks, experiments, faces, parts, run, subspaces, tune
from kmpe.paper.parts import Part, run_parts
from kmpe.paper.plan import Plan
from kmpe.paper.report import ARTEFACTS, Artefact, cells
from kmpe.paper.run import Options, reproduce
from kmpe.paper.settings import (
    ELM_METHODS,
    PCA_METHODS,
    printed,
    readings,
    seed_of,
    settings,
    sinc_machines,
)
from kmpe.paper.settings import (
    benchmarks as rows_of,
)
from kmpe.paper.summaries import Inputs, compare
from part_work import square, threads


def row_of(key: str) -> Any:
    rows = (*rows_of("regression"), *rows_of("classification"), *readings())
    return next(row for row in rows if row.key == key)


def artefact(name: str) -> Artefact:
    return next(item for item in ARTEFACTS if item.name == name)


def plan_of(*names: str, here: Iterable[str] = ()) -> Plan:
    return run._plan(Options(), [artefact(name) for name in names], frozenset(here))


def inputs_of(name: str, data: Mapping[str, Any] | None = None) -> Inputs:
    return artefact(name).inputs(plan_of(name), {}, data or {})


def verdict(name: str, table: Any, data: Mapping[str, Any] | None = None) -> Any:
    claim = artefact(name).claim
    assert claim is not None
    return claim.verdict(inputs_of(name, data), table)


def misses(name: str, table: Any, titles: Mapping[str, str]) -> dict[str, list[str]]:
    claim = artefact(name).claim
    assert claim is not None
    return claim.misses(inputs_of(name), table, titles)


def mean_scores(key: str, repeats: int) -> dict[str, float]:
    row = row_of(key)
    X, y = benchmarks.prepare(row, load(row.data, download=False))
    draws = [benchmarks.draw(row, X, y, 0, repeat) for repeat in range(repeats)]
    return {method: float(np.mean([draw[method][1] for draw in draws])) for method in draws[0]}


# -- the list of tables and figures --------------------------------------------------------------


def test_every_table_and_figure_of_the_paper_has_one_record() -> None:
    tables = [item.name for item in ARTEFACTS if item.is_table]
    figures = [item.name for item in ARTEFACTS if not item.is_table]
    assert tables == [f"table{i}" for i in range(1, 11)]
    assert figures == [f"fig{i}" for i in range(1, 8)]
    assert (artefact("table10").label, artefact("fig7").label) == ("Table 10", "Figure 7")


def test_every_record_has_notes_and_every_printed_table_a_claim() -> None:
    notes = resources.files("kmpe.paper.report").joinpath("notes.toml").read_text("utf-8")
    assert [*tomllib.loads(notes)] == [item.name for item in ARTEFACTS]
    claimed = {item.name for item in ARTEFACTS if item.claim}
    assert claimed == {*printed(), "fig3", "fig4"}


# -- settings and protocol -----------------------------------------------------------------------


def test_every_row_of_the_settings_has_a_printed_result_and_the_reverse() -> None:
    assert list(settings()["regression"]) == list(printed()["table7"])
    assert list(settings()["classification"]) == list(printed()["table8"])
    assert [str(m) for m in settings()["digits"]["components"]] == list(printed()["table9"])
    assert [str(m) for m in settings()["face_clusters"]["components"]] == list(printed()["table10"])
    assert all(len(row) == 4 for table in ("table7", "table8") for row in printed()[table].values())
    assert all(len(row) == len(PCA_METHODS) for row in printed()["table9"].values())


def test_no_kernel_width_stands_where_a_penalty_belongs() -> None:
    rows = [row.machines for row in (*rows_of("regression"), *rows_of("classification"))]
    for machines in [*rows, sinc_machines("uniform"), sinc_machines("sine")]:
        for method in ("ELM-RCC", "ELM-KMPE"):
            machine = machines[method]
            assert machine.sigma is not None
            assert machine.sigma >= 0.3 > 0.002 >= machine.alpha


def test_seeds_depend_on_names_alone() -> None:
    assert seed_of(0, "servo", 1) == 2054450881
    assert len({seed_of(0, name, r) for name in ("servo", "yacht") for r in range(50)}) == 100


def test_regression_brings_every_column_to_the_unit_interval() -> None:
    row = row_of("slump")
    X, y = benchmarks.prepare(row, load("slump"))
    assert X.shape == (103, 9)
    for values in (X, y[:, None]):
        np.testing.assert_array_equal(
            [values.min(axis=0), values.max(axis=0)], [[0], [1]] * np.ones(values.shape[1])
        )


def test_other_readings_change_one_thing() -> None:
    glass = load("glass")
    assert benchmarks.prepare(row_of("glass"), glass)[0].shape == (214, 10)
    assert benchmarks.prepare(row_of("glass_without_id"), glass)[0].shape == (214, 9)
    assert benchmarks.prepare(row_of("glass_unscaled"), glass)[0].max() == 214


def test_training_and_testing_parts_do_not_overlap() -> None:
    row = row_of("wdbc")
    train, test = benchmarks.split(row, 569, 0, 3)
    assert len(train) == 100
    assert len(test) == 469  # the paper's 496 is more than there is
    assert not set(train) & set(test)
    again, _ = benchmarks.split(row, 569, 0, 3)
    np.testing.assert_array_equal(train, again)


@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
@pytest.mark.parametrize(("key", "table"), [("servo", "table7"), ("glass_unscaled", "table8")])
def test_means_lie_within_two_of_the_printed_standard_deviations(key: str, table: str) -> None:
    scores = mean_scores(key, 5)
    for method, (_, (mean, sd)) in zip(
        ELM_METHODS, printed()[table][row_of(key).printed], strict=True
    ):
        assert abs(scores[method] - mean) <= 2 * sd


@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
def test_the_row_number_of_glass_gives_its_class_away() -> None:
    with_id, without = mean_scores("glass", 3), mean_scores("glass_without_id", 3)
    assert with_id["ELM-KMPE"] > without["ELM-KMPE"] + 10


@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
def test_leading_components_of_a_large_fit_are_those_of_a_small_one() -> None:
    X = faces.load_faces("lfw", None).reshape(100, -1)
    both = subspaces.fit_methods(X, (12, 20), 0)
    alone = subspaces.fit_methods(X, (12,), 0)
    for method in PCA_METHODS:
        if method != "PCA-L1":  # greedy: the same by construction
            np.testing.assert_allclose(
                both[method][12].components_, alone[method][12].components_, atol=1e-6
            )
    np.testing.assert_allclose(
        np.abs(both["PCA"][12].components_ @ both["scikit-learn PCA"][12].components_.T),
        np.eye(12),
        atol=1e-6,
    )


@pytest.mark.filterwarnings("ignore:Stopped at max_iter")
@pytest.mark.parametrize("kind", faces.KINDS)
def test_kmpe_reconstructs_the_papers_faces_best(
    kind: str, paper_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings()["faces"], "components", [20, 50])
    part = Part(f"reconstruction {kind}", "15", 0, 1, 0)
    payload = {"source": "yale", "kind": kind, "outliers": 15}
    (found,) = faces.work(part, payload, str(paper_data))
    for m in ("20", "50"):
        errors = {method: found["all"][method][m] for method in PCA_METHODS}
        assert min(errors, key=errors.__getitem__) == "PCA-KMPE"


def test_images_survive_packing() -> None:
    images = np.arange(24).reshape(2, 3, 2, 2)
    packed = json.loads(json.dumps(faces.pack(images)))
    np.testing.assert_array_equal(faces.unpack(packed), images)


def test_tuning_finds_a_machine_for_each_method(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tune, "_CANDIDATES", 3)
    todo = plan_of("table2", "table7", here={"servo"})
    tuning = experiments.plan_tuning(todo)
    assert [part.key for part in tuning] == ["uniform", "sine", "servo"]
    found = {part.key: parts._do(part, experiments.work, None).results[0] for part in tuning[1:]}
    machines = experiments.tuned(found)["servo"]
    assert machines["ELM"].alpha == 0
    assert machines["ELM-KMPE"].p is not None
    row = next(r for r in replace(todo, machines={"servo": machines}).rows("regression"))
    assert row.machines == machines


# -- parts ---------------------------------------------------------------------------------------


@pytest.fixture
def in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do parts here: other processes take seconds to start, and hide their lines from coverage."""
    monkeypatch.setattr(parts, "_in_processes", here)


def here(todo: Sequence[Part], work: Any, data_dir: str | None, _: int) -> Iterator[Any]:
    for part in todo:
        yield parts._do(part, work, data_dir)


def run_all(todo: Sequence[Part], folder: Path, jobs: int = 1, work: Any = square) -> list[Any]:
    (folder / "marks").mkdir(parents=True, exist_ok=True)
    marks = str(folder / "marks")
    done = run_parts(
        todo, work, folder=folder / "parts", data_dir=marks, jobs=jobs, progress=lambda _: None
    )
    return [item.results for item in done]


@pytest.mark.usefixtures("in_this_process")
def test_finished_parts_are_not_done_again(tmp_path: Path) -> None:
    todo = [Part("test", "works", i, i + 2, 0) for i in range(0, 6, 2)]
    todo.append(Part("test", "fails", 6, 8, 0))
    with pytest.raises(RuntimeError, match="killed"):
        run_all(todo, tmp_path)
    finished = len(list((tmp_path / "marks").glob("works-*")))
    assert finished == 3
    (tmp_path / "marks" / "mended").touch()
    results = run_all(todo, tmp_path)
    assert results == [[0, 1], [4, 9], [16, 25], [36, 49]]
    assert len(list((tmp_path / "marks").glob("works-*"))) == 3
    assert not list((tmp_path / "parts").glob("*.tmp"))


@pytest.mark.usefixtures("in_this_process")
@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[:-3],
        lambda _: "",
        lambda _: "[]",
        lambda _: "null",
        lambda _: '"results seconds"',
        lambda _: '{"results": 3, "seconds": "x"}',
        lambda _: '{"results": [0], "seconds": 1.0}',
        lambda _: "[" * 100_000,
        lambda text: text.replace("[0, 1]", "[0, 2]"),
        lambda text: text.replace("[0, 1]", "[0]"),
        lambda text: text.replace('"results"', '"Results"'),
    ],
)
def test_a_part_that_is_not_as_it_was_written_is_done_again(
    spoil: Callable[[str], str], tmp_path: Path
) -> None:
    todo = [Part("test", "works", 0, 2, 0)]
    first = run_all(todo, tmp_path)
    file = tmp_path / "parts" / todo[0].name
    whole = file.read_text()
    file.write_text(spoil(whole))
    assert file.read_text() != whole
    assert run_all(todo, tmp_path) == first
    assert len(list((tmp_path / "marks").glob("works-*"))) == 2


@pytest.mark.usefixtures("in_this_process")
def test_the_file_of_another_part_is_not_taken(tmp_path: Path) -> None:
    one, other = (Part("test", "works", i, i + 2, 0) for i in (0, 2))
    run_all([one, other], tmp_path)
    shutil.copy(tmp_path / "parts" / other.name, tmp_path / "parts" / one.name)
    assert run_all([one, other], tmp_path) == [[0, 1], [4, 9]]


def test_a_part_is_named_by_all_that_decides_its_result() -> None:
    part = Part("test", "a", 0, 2, 0, "{}")
    others = [
        replace(part, key="b"),
        replace(part, last=3),
        replace(part, seed=1),
        replace(part, payload='{"L": 3}'),
    ]
    assert len({part.name, *(other.name for other in others)}) == 5
    assert replace(part, cost=9.0).name == part.name


def test_processes_have_one_thread_and_leave_the_environment_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "7")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    todo = [Part("test", "threads", i, i + 1, 0) for i in range(2)]
    assert run_all(todo, tmp_path, jobs=2, work=threads) == [["1"], ["1"]]
    assert os.environ["OPENBLAS_NUM_THREADS"] == "7"
    assert "MKL_NUM_THREADS" not in os.environ


def test_numbers_do_not_depend_on_the_number_of_jobs(tmp_path: Path) -> None:
    options = Options(names=["table2"], repeats=6, jobs=1, out=tmp_path / "one")
    one = reproduce(options)
    two = reproduce(replace(options, jobs=2, out=tmp_path / "two"))
    assert one["tables"] == two["tables"]
    files = [tmp_path / out / "table2.csv" for out in ("one", "two")]
    assert files[0].read_text() == files[1].read_text()


@pytest.mark.usefixtures("in_this_process")
def test_numbers_depend_on_the_seed(tmp_path: Path) -> None:
    options = Options(names=["table2"], repeats=1)
    first, other = (reproduce(replace(options, seed=s, out=tmp_path / f"{s}")) for s in (0, 1))
    assert first["tables"] != other["tables"]


# -- files ---------------------------------------------------------------------------------------


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    write(path, "old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OutputError, match="No space left"):
        write(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match=r"cannot write to the output folder .*choose another"):
        prepare_folder(tmp_path / "file" / "out")


# -- summaries -----------------------------------------------------------------------------------


def test_distances_are_in_the_papers_standard_deviations() -> None:
    cell = compare([1.0, 2.0, 3.0], [1.0, 0.5])
    assert cell == {"mean": 2.0, "sd": 1.0, "n": 3, "paper": 1.0, "paper_sd": 0.5, "z": 2.0}
    assert "z" not in compare([1.0], [1.0, 0.0])
    assert compare([1.0], None) == {"mean": 1.0, "sd": 0.0, "n": 1}


def test_only_printed_rows_count_for_the_verdict() -> None:
    cell = {"test": {"z": 0.0}}
    far = {"test": {"z": 3.0}}
    table = {
        "glass": {"ELM": far, "RELM": cell, "ELM-RCC": cell, "ELM-KMPE": cell},
        "glass_unscaled": dict.fromkeys(ELM_METHODS, far),
    }
    assert verdict("table8", table) == {"within": 3, "of": 4}


def test_the_verdict_on_figures_asks_for_the_lowest_error_from_20_on() -> None:
    lines = {method: {"10": {"mean": 1.0}, "20": {"mean": 2.0}} for method in PCA_METHODS}
    lines["PCA-KMPE"] = {"10": {"mean": 3.0}, "20": {"mean": 1.5}}
    table, data = {"15": {"all": lines}}, {"yale": None}
    assert verdict("fig3", table, data) == {"lowest": True}
    lines["PCA-L1"] = {"10": {"mean": 1.0}, "20": {"mean": 1.4}}
    assert verdict("fig3", table, data) == {"lowest": False}


def test_the_paper_claims_nothing_about_stand_in_faces() -> None:
    assert verdict("fig3", {"15": {"all": {}}}) is None


def test_cells_are_coloured_by_their_distance() -> None:
    near = {"mean": 1.0, "sd": 0.1, "paper": 1.1, "paper_sd": 0.5, "z": -0.2}
    far = {"mean": 3.0, "sd": 0.1, "paper": 1.0, "paper_sd": 0.5, "z": 4.0}
    html = cells.stacked_table({"m = 5": {"PCA": near, "HQ-PCA": far}}, ("PCA", "HQ-PCA"), (), 2)
    assert '<td class="ours z0"' in html
    assert '<td class="ours best z3" title="+4.00 of the paper&#x27;s standard deviations">' in html
    assert '<td class="paper best">1.10 ± 0.50</td>' in html
    side = cells.scores_table({"a": {"PCA": near}, "b": {}}, {}, ("PCA",), (), "", 2, best="low")
    assert "not here" in side


def test_settings_are_written_as_a_reader_would() -> None:
    rows = {"servo": {m: row_of("servo").machines[m].entry() for m in ELM_METHODS}}
    html = cells.machines_table(rows, {"servo": "Servo"}, "Data set")
    assert "<td>1×10⁻⁵</td>" in html
    assert "<td>0.8</td>" in html


def test_cells_that_count_and_miss_are_listed() -> None:
    far = {"mean": 3.0, "sd": 0.1, "paper": 1.0, "paper_sd": 0.5, "z": 4.0}
    near = far | {"z": 1.0}
    rows = {method: {"test": near} for method in ELM_METHODS}
    table8 = {"glass": rows | {"ELM": {"test": far}}, "glass_unscaled": {"ELM": far}}
    assert misses("table8", table8, {"glass": "Glass"}) == {
        "glass": ["Glass, ELM: 3.00 against 1.00 ± 0.50 (+4.0)"]
    }
    assert list(misses("table9", {"50": {"PCA": far}}, {})) == ["m = 50"]
    table10 = {"20": {"NMI": {"PCA": far, "HQ-PCA": near}}}
    assert misses("table10", table10, {}) == {
        "m = 20, NMI": ["m = 20, NMI, PCA: 3.0000 against 1.0000 ± 0.5000 (+4.0)"]
    }
    assert misses("table2", {}, {}) == {}


# -- a whole run, on the data that packages carry --------------------------------------------------


@pytest.fixture(scope="session")
def whole_run(tmp_path_factory: pytest.TempPathFactory, testrun_uid: str) -> tuple[Path, Any]:
    """Run everything once, fewer components than the paper; workers of the tests share it."""
    out = tmp_path_factory.getbasetemp().parent / f"whole-{testrun_uid}"
    out.mkdir(exist_ok=True)
    fewer = {"components": [5, 10, 20], "reconstruction": 20}
    with (out / "lock").open("w") as lock, pytest.MonkeyPatch.context() as patch:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the second worker waits, and then finds all parts done
        patch.delenv("KMPE_DATA", raising=False)
        patch.setenv("KMPE_CACHE", str(out / "cache"))
        patch.setattr(
            run, "load", lambda name, data_dir: load(name, data_dir=data_dir, download=False)
        )
        patch.setattr(parts, "_in_processes", here)
        for name, value in fewer.items():
            patch.setitem(settings()["faces"], name, value)
        patch.setitem(settings()["stand_in"]["face_clusters"], "components", [10, 20])
        patch.setitem(settings()["stand_in"]["digits"], "components", [5, 10])
        return out, reproduce(Options(repeats=2, out=out))


def test_a_machine_without_data_gets_every_table_and_figure(whole_run: tuple[Path, Any]) -> None:
    out, results = whole_run
    page = (out / "report.html").read_text()
    assert all(f'id="{item.name}"' in page for item in ARTEFACTS)
    assert set(results["missing"]) == {"user_knowledge", "leaf", "yale", "mnist"}
    assert all(sentence in page.replace("&#x27;", "'") for sentence in results["missing"].values())
    assert json.loads((out / "results.json").read_text()) == json.loads(json.dumps(results))


def test_stand_ins_have_no_printed_numbers_beside_them(whole_run: tuple[Path, Any]) -> None:
    out, results = whole_run
    tables = results["tables"]
    assert all("paper" not in cell for row in tables["table9"].values() for cell in row.values())
    assert "71.83" not in (out / "table9.csv").read_text()
    page = (out / "report.html").read_text()
    assert page.count("<b>Stand-in.</b>") == 8  # five figures of faces, one of digits, two tables


def test_the_page_needs_no_network(whole_run: tuple[Path, Any]) -> None:
    page = (whole_run[0] / "report.html").read_text()
    for word in ("<script", "<link", "src=", "url(http", "@import"):
        assert word not in page


def test_each_table_has_a_csv_file(whole_run: tuple[Path, Any]) -> None:
    out, _ = whole_run
    for i in range(1, 11):
        lines = (out / f"table{i}.csv").read_text().splitlines()
        assert len(lines) > 2
        assert len({line.count(",") for line in lines}) == 1


def test_a_browser_shows_every_table_and_figure(whole_run: tuple[Path, Any]) -> None:
    browser = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if browser is None:
        pytest.skip("no Chromium here to look at the report with")
    out, _ = whole_run
    flags = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={out / 'profile'}"]
    shown = subprocess.run(
        [browser, *flags, "--dump-dom", (out / "report.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    sections = dict(
        re.findall(r'<section class="artefact" id="(\w+)">(.*?)</section>', shown, re.DOTALL)
    )
    assert set(sections) == {item.name for item in ARTEFACTS}
    for name, section in sections.items():
        if name.startswith("table"):
            assert section.count("<td") >= 8
        else:
            assert "</svg>" in section
            assert "<image" in section or section.count("<path") > 20
