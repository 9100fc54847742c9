"""From a file to a report in one command, and the report as a browser sees it."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

import kmpe
from browser import look
from kmpe import cli, io
from kmpe.datasets import load

REFERENCE = Path(__file__).parent / "reference"


def boston_like(folder: Path) -> Path:
    """Housing prices with gaps, words, dates and a slip of the pen."""
    data = load("housing", download=False)
    frame = pd.DataFrame(data.X, columns=list(data.feature_names))
    rng = np.random.default_rng(0)
    frame["RIVER"] = np.where(frame.pop("CHAS") == 1, "river", "land")
    frame.loc[rng.choice(506, 25, replace=False), "RM"] = np.nan
    frame.loc[::60, "RIVER"] = None
    frame["SOLD"] = pd.date_range("2020-01-01", periods=506).astype(str)
    frame["REMARK"] = [f"<b>number {i}</b>" for i in range(506)]
    frame["MEDV"] = data.y
    frame.loc[3, "MEDV"], frame.loc[10, "MEDV"] = 240.0, np.nan
    frame.to_csv(folder / "boston.csv", index=False)
    return folder / "boston.csv"


def flowers(folder: Path) -> Path:
    iris = load_iris(as_frame=True)
    frame = iris.data.assign(species=np.array(iris.target_names)[iris.target])
    frame.loc[:7, "species"] = "virginica"
    frame.to_csv(folder / "iris.csv", index=False)
    return folder / "iris.csv"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders with what the command has written."""
    folder = tmp_path_factory.mktemp("made")
    asked = {
        "stackloss": ["fit", str(REFERENCE / "stackloss.csv"), "--target", "stack.loss"],
        "stars": ["fit", str(REFERENCE / "stars.csv"), "--target", "log.light"],
        "boston": ["fit", str(boston_like(folder)), "--target", "MEDV"],
        "iris": ["fit", str(flowers(folder)), "--target", "species"],
        "components": ["pca", str(folder / "boston.csv")],
    }
    for name, arguments in asked.items():
        assert cli.main([*arguments, "--out", str(folder / name), "--quiet"]) == 0
    return {name: folder / name for name in asked}


PICTURES = {"stackloss": 6, "stars": 6, "boston": 6, "iris": 2, "components": 4}


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("width", [390, 1280])
def test_the_report_in_a_browser(
    name: str, width: int, made: dict[str, Path], tmp_path: Path
) -> None:
    page = (made[name] / "report.html").read_text(encoding="utf-8")
    seen = look(page, width, tmp_path)
    assert seen.requests == []
    assert seen.errors == []
    assert seen.found["wide"] == []
    assert seen.found["scroll"] <= seen.found["width"]
    assert seen.found["pictures"] >= PICTURES[name]
    assert seen.found["unnamed"] == 0
    assert seen.found["headings"][0] == "H1"
    assert seen.found["headings"].count("H1") == 1


@pytest.mark.parametrize("name", PICTURES)
def test_nothing_is_cut_off_in_print(name: str, made: dict[str, Path], tmp_path: Path) -> None:
    page = (made[name] / "report.html").read_text(encoding="utf-8")
    assert "@media print" in page
    # On paper nothing scrolls: tables must fit between the margins, 718 px of A4.
    printed = page.replace("@media print", "@media all").replace('class="scroll"', 'class="paper"')
    seen = look(printed.replace(".scroll", ".paper"), 718, tmp_path)
    assert seen.found["wide"] == []


def test_the_browser_would_have_noticed(made: dict[str, Path], tmp_path: Path) -> None:
    page = (made["stars"] / "report.html").read_text(encoding="utf-8")
    bad = '<img src="https://example.org/x.png"><script>no()</script><hr style="min-width:9999px">'
    seen = look(page.replace("</main>", f"{bad}</main>"), 1280, tmp_path)
    assert seen.requests == ["https://example.org/x.png"]
    assert len(seen.errors) == 1
    assert seen.found["wide"]


@pytest.mark.parametrize("name", PICTURES)
def test_the_page_names_no_other_place(name: str, made: dict[str, Path]) -> None:
    page = (made[name] / "report.html").read_text(encoding="utf-8")
    assert not re.search(r"(?:src|href)=[\"'](?!#|data:)(?!xlink)", page.replace("xlink:href", "x"))
    assert "url(http" not in page
    assert len(page) < 2_000_000


def test_what_cells_hold_is_never_taken_for_html(made: dict[str, Path]) -> None:
    page = (made["boston"] / "report.html").read_text(encoding="utf-8")
    assert "<b>number" not in page
    assert "&lt;b&gt;number" in page


def test_what_was_done_is_said(made: dict[str, Path]) -> None:
    page = (made["boston"] / "report.html").read_text(encoding="utf-8")
    for said in (
        "1 of 506 rows have no MEDV and were set aside",
        "missing values become the median, and are marked",
        "days since 1970-01-01",
        "2020-01-01 to 2021-05-20",
        "506 different texts",
        "empty cells are the category (missing)",
        "RIVER = river",
        "RM is missing",
        "MEDV is",
        "Ridge",
        "the median",
    ):
        assert said in page, said


def test_the_python_lines_repeat_it(made: dict[str, Path]) -> None:
    page = (made["stackloss"] / "report.html").read_text(encoding="utf-8")
    lines = page.partition('<pre tabindex="0"><code>')[2].partition("</code>")[0]
    code = lines.replace("&#39;", "'").replace("&#34;", '"')
    here: dict[str, Any] = {}
    exec(code.replace("print(", "said = ("), here)
    X = here["fitted"].X
    np.testing.assert_array_equal(here["fitted"].model.predict(X), here["model"].predict(X))
    assert "Air.Flow" in page


@pytest.mark.parametrize("name", PICTURES)
def test_the_model_is_loaded_without_a_flag(name: str, made: dict[str, Path]) -> None:
    model = io.load(made[name] / "model.skops")
    assert model.steps[0][0] == "inputs"
    rows = pd.read_csv(made[name] / "rows.csv")
    assert rows["row"].iloc[0] == 1
    assert rows["outlier"].dtype == bool


def predicted(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[pd.DataFrame, str]:
    from io import StringIO

    capsys.readouterr()
    assert cli.main(["predict", *arguments]) == 0
    told = capsys.readouterr()
    return pd.read_csv(StringIO(told.out)), told.err


def test_predictions_are_those_of_the_fit(
    made: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model, table = str(made["boston"] / "model.skops"), made["boston"].parent / "boston.csv"
    found, said = predicted([model, str(table)], capsys)
    rows = pd.read_csv(made["boston"] / "rows.csv")
    for column in ("prediction", "low", "high"):
        np.testing.assert_allclose(found[column], rows[column], rtol=1e-12)
    assert "not needed: REMARK, MEDV" in said
    some = pd.read_csv(table).iloc[[400, 2]]  # few rows, another order of columns
    some[some.columns[::-1]].to_csv(tmp_path / "some.csv", index=False)
    few, _ = predicted([model, str(tmp_path / "some.csv")], capsys)
    np.testing.assert_allclose(few["prediction"], rows["prediction"].iloc[[400, 2]], rtol=1e-12)


def test_new_tables_may_have_gaps_and_unseen_words(
    made: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model, table = str(made["boston"] / "model.skops"), made["boston"].parent / "boston.csv"
    frame = pd.read_csv(table).head(5)
    frame["RIVER"] = ["sea", "river", "land", "sea", None]
    frame["TAX"] = [1, None, 3, 4, 5]
    frame.to_csv(tmp_path / "new.csv", index=False)
    found, said = predicted([model, str(tmp_path / "new.csv")], capsys)
    assert np.isfinite(found.to_numpy()).all()
    assert "RIVER: unknown category: 'sea'; predicted as the commonest one" in said
    assert "TAX: 1 cells are empty and were replaced by the median" in said
    quiet = cli.main(["predict", model, str(tmp_path / "new.csv"), "--quiet"])
    assert quiet == 0
    assert capsys.readouterr().err == ""


def test_a_column_that_is_missing_is_told_by_name(
    made: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = pd.read_csv(made["boston"].parent / "boston.csv").rename(columns={"TAX": "TAXES"})
    table.to_csv(tmp_path / "new.csv", index=False)
    model = made["boston"] / "model.skops"
    assert cli.main(["predict", str(model), str(tmp_path / "new.csv")]) == 2
    assert "lacks the column 'TAX': is it 'TAXES'?" in capsys.readouterr().err


def test_classes_and_components_are_predicted_too(
    made: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    iris = made["iris"].parent / "iris.csv"
    found, _ = predicted([str(made["iris"] / "model.skops"), str(iris)], capsys)
    assert (
        found["prediction"].tolist()
        == pd.read_csv(made["iris"] / "rows.csv")["prediction"].tolist()
    )
    boston = made["components"].parent / "boston.csv"
    out = tmp_path / "scores.csv"
    model = str(made["components"] / "model.skops")
    assert cli.main(["predict", model, str(boston), "--out", str(out)]) == 0
    scores = pd.read_csv(out)["component 1"]
    np.testing.assert_allclose(scores, pd.read_csv(made["components"] / "rows.csv")["component 1"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["predict", "nothing.skops", "x.csv"], "cannot be read"),
        (["predict", "{stars}", "x.csv"], "is not a model written by kmpe.io.save"),
        (["pca", "{stars}", "--components", "9"], "9 components are too many"),
        (["pca", "{stars}", "--drop", "log.Te"], "PCA needs two"),
        (["pca", "{stars}", "--drop", "log.Tee"], "is it 'log.Te'?"),
        (["fit", "{stars}", "--target", "log.light", "--weights", "w"], "has no column 'w'"),
    ],
)
def test_wrong_requests_get_a_sentence(
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    filled = [a.format(stars=REFERENCE / "stars.csv") for a in arguments]
    assert cli.main(filled) == 2
    told = capsys.readouterr().err
    assert message in told
    assert len(told.splitlines()) == 1


def test_a_full_disk_ends_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(io, "save", fail)
    asked = ["fit", str(REFERENCE / "stars.csv"), "--target", "log.light", "--out", str(tmp_path)]
    assert cli.main(asked) == 2
    assert "No space left on device" in capsys.readouterr().err


def test_numbers_that_cannot_be_computed_with_get_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    x = np.arange(30.0)
    pd.DataFrame({"x": x * 1e200, "y": np.sin(x)}).to_csv(tmp_path / "big.csv", index=False)
    asked = ["fit", str(tmp_path / "big.csv"), "--target", "y", "--out", str(tmp_path / "out")]
    assert cli.main(asked) == 2
    assert "rescale" in capsys.readouterr().err


def test_a_model_of_arrays_is_not_for_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    X = np.arange(20.0)[:, None]
    io.save(kmpe.RobustLinearRegression().fit(X, np.sin(X[:, 0])), tmp_path / "model.skops")
    assert cli.main(["predict", str(tmp_path / "model.skops"), "x.csv"]) == 2
    assert "contains a model for arrays" in capsys.readouterr().err


def test_the_verdict_is_printed_unless_quiet(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ["fit", str(REFERENCE / "stars.csv"), "--target", "log.light", "--model", "linear"]
    assert cli.main([*asked, "--out", str(tmp_path)]) == 0
    told = capsys.readouterr()
    assert told.out.startswith("6 of 47 rows")
    assert "report.html, model.skops and rows.csv written" in told.out
    assert cli.main([*asked, "--out", str(tmp_path), "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")


def test_the_version_and_the_module() -> None:
    told = subprocess.run(
        [sys.executable, "-m", "kmpe", "--version"], capture_output=True, text=True, check=True
    )
    assert told.stdout == f"kmpe {kmpe.__version__}\n"


@pytest.mark.parametrize("extra", ["pandas", "jinja2", "pyarrow", "skops", "matplotlib"])
def test_a_missing_part_of_the_extra_is_named(extra: str, tmp_path: Path) -> None:
    code = f"import sys; sys.modules[{extra!r}] = None; from kmpe.cli import main; sys.exit(main())"
    asked = ["fit", str(REFERENCE / "stars.csv"), "--target", "log.light", "--out", str(tmp_path)]
    ended = subprocess.run([sys.executable, "-c", code, *asked], capture_output=True, text=True)
    assert ended.returncode == 2
    assert "pip install 'kmpe[" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1
    assert json.dumps(extra)[1:-1] in ended.stderr
