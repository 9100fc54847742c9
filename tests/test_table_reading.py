"""Files as people have them: a right fit or one sentence each, and never a traceback."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kmpe import cli
from kmpe.table import TableError, fit, read_table

RNG = np.random.default_rng(0)
N = 40
A, B = RNG.normal(size=(2, N)).round(4) * [[1000], [1]]
GROUP = np.array(["Zürich", "Genève"])[RNG.integers(2, size=N)]
Y = (2 * A - 300 * B + 50 * (GROUP == "Zürich") + RNG.standard_t(3, size=N)).round(3)
CLEAN = pd.DataFrame({"a": A, "b": B, "group": GROUP, "y": Y})


def text(frame: pd.DataFrame = CLEAN, **options: Any) -> str:
    return frame.to_csv(index=False, **options)


def grouped(value: float) -> str:
    return f"{value:,.4f}"


def comma(value: float) -> str:
    return f"{value:.4f}".replace(".", ",")


def german(value: float) -> str:
    """Return 1234.5 as 1.234,5."""
    return f"{value:,.4f}".translate(str.maketrans(",.", ".,"))


def changed(**columns: Any) -> pd.DataFrame:
    return CLEAN.assign(**columns)


# Files whose fit must be that of the clean one.
RIGHT: dict[str, bytes] = {
    "Windows-1252": text().encode("cp1252"),
    "byte order mark": text().encode("utf-8-sig"),
    "UTF-16": text().encode("utf-16"),
    "semicolons": text(sep=";").encode(),
    "tabs": text(sep="\t").encode(),
    "bars": text(sep="|").encode(),
    "decimal commas": text(changed(a=CLEAN.a.map(comma), y=CLEAN.y.map(comma)), sep=";").encode(),
    "1.234,5": text(changed(a=CLEAN.a.map(german), y=CLEAN.y.map(german)), sep=";").encode(),
    "1,234.5": text(changed(a=CLEAN.a.map(grouped), y=CLEAN.y.map(grouped))).encode(),
    "1 234.5": text(changed(a=CLEAN.a.map(lambda v: grouped(v).replace(",", " ")))).encode(),
    "carriage returns": text(lineterminator="\r\n").encode(),
    "everything quoted": text(quoting=1).encode(),
    "blanks around cells": text().replace(",", " , ").encode(),
    "blank lines at the end": text().encode() + b"\n\n\n",
    "no end of the last line": text().rstrip("\n").encode(),
    "a column without values": text(changed(nothing=None)).encode(),
    "a column that never changes": text(changed(same=7, word="x")).encode(),
    "a column of texts": text(changed(note=[f"remark {i}" for i in range(N)])).encode(),
    "a cell with line breaks": text(changed(note=[f"one\ntwo, {i}" for i in range(N)])).encode(),
    "a long text": text(changed(note=[f"{i}" + "x" * 100_000 for i in range(N)])).encode(),
    "a column that counts the rows": CLEAN.to_csv().encode(),
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_file_in_another_dress_has_the_same_fit(name: str, tmp_path: Path) -> None:
    path = tmp_path / "data.csv"
    path.write_bytes(RIGHT[name])
    (tmp_path / "clean.csv").write_text(text(), encoding="utf-8")
    found, clean = (fit(p, "y", model="linear") for p in (path, tmp_path / "clean.csv"))
    assert found.names == clean.names
    np.testing.assert_allclose(found.model[-1].coef_, clean.model[-1].coef_, rtol=1e-6)


def parquet(frame: pd.DataFrame) -> bytes:
    return frame.to_parquet()


def excel(frame: pd.DataFrame, **options: Any) -> bytes:
    file = io.BytesIO()
    frame.to_excel(file, index=False, **options)
    return file.getvalue()


@pytest.mark.parametrize("write", [parquet, excel])
def test_parquet_and_excel_are_told_by_their_content(
    write: Callable[[pd.DataFrame], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "data.csv"  # the ending does not matter
    path.write_bytes(write(CLEAN))
    frame = read_table(path).frame
    assert list(frame.columns) == list(CLEAN.columns)
    # Excel keeps 15 digits.
    np.testing.assert_allclose(frame[["a", "b", "y"]], CLEAN[["a", "b", "y"]], rtol=1e-14)
    assert frame.index[0] == 1


LINES = text().splitlines()
# Files that cannot be fitted, and what is said.
WRONG: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "is empty"),
    "blank": (b"\n \n\n", "is empty"),
    "names alone": (b"a,b,y\n", "no rows"),
    "no names": (
        "\n".join(",".join(map(str, r)) for r in CLEAN[["a", "b", "y"]].to_numpy()).encode(),
        "has no names",
    ),
    "one column": (b"y\n1\n2\n3\n", "only one column"),
    "a cell too many": (
        "\n".join([*LINES[:6], LINES[6] + ",9", *LINES[7:]]).encode(),
        "line 7: 5 cells where the first line has 4",
    ),
    "a cell too few": (
        "\n".join([*LINES[:9], "1,2,x", *LINES[9:]]).encode(),
        "line 10: 3 cells where",
    ),
    "a name twice": (text().replace("a,b,", "a,a,", 1).encode(), "the column 'a' more than once"),
    "a picture": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20, "binary file"),
    "zeros": (text().encode() + b"\0\0\0", "binary file"),
    "control characters": (bytes(range(1, 32)) * 99, "binary file"),
    "half of UTF-16": (b"\xff\xfe\x00\xd8\x00", "UTF-16"),
    "a quotation mark left open": (text().replace("Zürich", '"Zürich', 1).encode(), "data.csv"),
    "a huge cell": (b"a,b,y\n1,2," + b"x" * 200_000 + b"\n", "characters"),
    "Parquet cut off": (parquet(CLEAN)[:-50], "damaged Parquet"),
    "a zip file": (b"PK\x03\x04" + bytes(200), "no Excel file"),
    "Excel cut off": (excel(CLEAN)[:3000], "no Excel file"),
    "an empty sheet": (excel(pd.DataFrame()), "is empty"),
    "an old Excel file": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500), "save it as .xlsx"),
    "a target without values": (text(changed(y=None)).encode(), "'y' has no values"),
    "a target that never changes": (text(changed(y=3)).encode(), "always 3"),
    "a target of texts": (
        text(changed(y=[f"word {i}" for i in range(N)])).encode(),
        "40 different words",
    ),
    "four rows": ("\n".join(LINES[:5]).encode(), "4 rows with a 'y' are too few"),
    "no inputs": (b"y,z\n" + b"".join(b"%d,5\n" % i for i in range(20)), "no column to predict"),
    "another name": (text().replace(",y", ",Y value", 1).encode(), "no column 'y'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_fitted_gets_one_sentence_and_code_2(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, message = WRONG[name]
    path = tmp_path / "data.csv"
    path.write_bytes(content)
    code = cli.main(["fit", str(path), "--target", "y", "--out", str(tmp_path / "out")])
    told = capsys.readouterr()
    assert code == 2
    assert message in told.err
    assert told.err.startswith("kmpe: ")
    assert len(told.err.splitlines()) == 1
    assert list((tmp_path / "out").iterdir()) == []


def test_a_file_that_is_not_there_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(TableError, match="No such file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(TableError, match="cannot be read"):
        read_table(tmp_path)


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    class Input:
        buffer = io.BytesIO(text().encode())

    monkeypatch.setattr("sys.stdin", Input())
    table = read_table("-")
    assert table.name == "standard input"
    assert len(table.frame) == N


def test_numbers_may_turn_into_words_after_many_rows(tmp_path: Path) -> None:
    rows = 600_000  # beyond the first block
    lines = [f"{i % 7},{i % 5}.5,w" for i in range(rows)]
    lines[-1], lines[-2] = "x,3.5,w", "2.5,none,w"
    (tmp_path / "data.csv").write_text("a,b,c\n" + "\n".join(lines))
    frame = read_table(tmp_path / "data.csv").frame
    assert frame["a"].iloc[-1] == "x"
    assert frame["a"].iloc[-2] == "2.5"
    assert np.isnan(frame["b"].iloc[-2])


def test_sheets_beside_the_first_are_told(tmp_path: Path) -> None:
    with pd.ExcelWriter(tmp_path / "data.xlsx") as writer:
        CLEAN.to_excel(writer, sheet_name="one", index=False)
        CLEAN.to_excel(writer, sheet_name="two", index=False)
    assert read_table(tmp_path / "data.xlsx").notes == ("Of 2 sheets the first was read, 'one'.",)


@pytest.mark.parametrize("asked", ["stak.loss", "STACK.LOSS", "nothing like it"])
def test_a_name_that_is_not_there_is_told_with_the_nearest(asked: str) -> None:
    with pytest.raises(TableError, match=r"stack\.loss"):
        fit(Path(__file__).parent / "reference" / "stackloss.csv", asked)
