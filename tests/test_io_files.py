"""Models come back from files to the bit, and a file runs nothing when it is read."""

import importlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.base import BaseEstimator, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import kmpe
from every_loss import LOSSES
from kmpe import (
    KMPE,
    PCAL1,
    ConformalRegressor,
    ELMClassifier,
    ELMRegressor,
    Formula,
    RobustClassifier,
    RobustImputer,
    RobustLinearRegression,
    RobustPCA,
    RobustRegressor,
    io,
)
from kmpe.io import ModelFileError
from kmpe.io.files import TYPES

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 3))
y = X @ [1.0, 2.0, 3.0] + RNG.standard_t(2, size=90)

FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(
    g=pd.Categorical(RNG.choice(["u", "v"], 90)), h=RNG.choice([1, 2, 5], 90)
)

ESTIMATORS = [
    RobustLinearRegression(),
    RobustLinearRegression(KMPE(p=3)),
    ELMRegressor(random_state=0),
    ELMRegressor(random_state=np.random.RandomState(0), activation="rbf", n_hidden="auto"),
    ELMRegressor(random_state=0, activation=np.tanh),
    ELMClassifier(random_state=0),
    RobustPCA(2, random_state=0, whiten=True),
    RobustPCA(2, scale="mad"),
    RobustImputer(2),
    PCAL1(2),
    Formula("poly(a, 2) * g + np.exp(b) + bs(c, df=4) + C(h, contr.sum)"),
    ConformalRegressor(RobustLinearRegression(), cv=3),
    ConformalRegressor(Ridge(), cv=3),
    RobustRegressor(Ridge(), cv=3),
    RobustClassifier(LogisticRegression(), cv=3),
    make_pipeline(StandardScaler(), RobustPCA(2, random_state=0), ELMRegressor(random_state=0)),
    TransformedTargetRegressor(RobustLinearRegression(), transformer=StandardScaler()),
]


def answers(model: Any) -> list[Any]:
    """Return all that a model says of some rows."""
    names = ("predict", "predict_proba", "decision_function", "transform", "score_samples")
    rows = FRAME if isinstance(model, Formula) else X
    found = [np.asarray(getattr(model, name)(rows)) for name in names if hasattr(model, name)]
    if isinstance(
        model, (RobustLinearRegression, ELMRegressor, ConformalRegressor, RobustRegressor)
    ):
        found += model.predict(X, return_interval=0.9)
    return found


def there_and_back(model: Any, folder: Path) -> Any:
    io.save(model, folder / "model.skops")
    assert [path.name for path in folder.iterdir()] == ["model.skops"]
    return io.load(folder / "model.skops")


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda m: type(m).__name__)
def test_every_estimator_predicts_the_same_bits(model: Any, tmp_path: Path) -> None:
    rows = FRAME if isinstance(model, Formula) else X
    model.fit(rows, y > 0 if is_classifier(model) else y)
    again = there_and_back(model, tmp_path)
    for one, other in zip(answers(model), answers(again), strict=True):
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    if not isinstance(model.get_params().get("random_state"), np.random.RandomState):
        assert str(again.get_params()) == str(model.get_params())


def test_every_public_estimator_is_among_them() -> None:
    public = {
        name
        for name in kmpe.__all__
        if isinstance(value := getattr(kmpe, name), type) and issubclass(value, BaseEstimator)
    }
    assert public == {type(m).__name__ for m in ESTIMATORS} & public


def test_every_listed_type_exists() -> None:
    for name in TYPES:
        module, _, kind = name.rpartition(".")
        assert isinstance(getattr(importlib.import_module(module), kind), type)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_loss_comes_back(loss: Any, tmp_path: Path) -> None:
    again = there_and_back(RobustLinearRegression(loss), tmp_path)
    assert str(again.loss) == str(loss)


def test_a_stream_goes_on_after_loading(tmp_path: Path) -> None:
    for model, target in (
        (ELMRegressor(random_state=0), y),
        (ELMClassifier(random_state=0), y > 0),
    ):
        for start in range(0, 60, 30):
            model.partial_fit(X[start : start + 30], target[start : start + 30])
        again = io_copy(model, tmp_path)
        for one in (model, again):
            one.partial_fit(X[60:], target[60:])
        np.testing.assert_array_equal(model.predict(X), again.predict(X))


def io_copy(model: Any, folder: Path) -> Any:
    io.save(model, folder / "model.skops")
    return io.load(folder / "model.skops")


def test_a_summary_comes_back(tmp_path: Path) -> None:
    model = RobustLinearRegression().fit(X, y)
    assert there_and_back(model, tmp_path).summary() == model.summary()


def test_a_pipeline_with_a_formula_predicts_the_same_bits(tmp_path: Path) -> None:
    model = make_pipeline(Formula("a + g:b"), RobustLinearRegression()).fit(FRAME, y)
    again = there_and_back(model, tmp_path)
    np.testing.assert_array_equal(again.predict(FRAME[:7]), model.predict(FRAME[:7]))


# -- files that are refused ----------------------------------------------------------------------


def test_a_formula_of_a_file_runs_no_code(tmp_path: Path) -> None:
    model = Formula("a").fit(FRAME)
    model.formula = "a + eval('1')"
    again = there_and_back(model, tmp_path)
    with pytest.raises(ValueError, match="may not use"):
        again.transform(FRAME)


def test_a_file_with_another_type_is_refused_and_nothing_of_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mark = tmp_path / "it ran"
    (tmp_path / "harm.py").write_text(
        "from pathlib import Path\n"
        "class Step:\n"
        "    def fit(self, X, y=None): return self\n"
        "    def transform(self, X): return X\n"
        "    def __setstate__(self, state):\n"
        f"        Path({str(mark)!r}).touch()\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    harm = importlib.import_module("harm")
    model = make_pipeline(harm.Step(), RobustLinearRegression()).fit(X, y)
    file = tmp_path / "model.skops"
    io.save(model, file)
    source = (tmp_path / "harm.py").read_text()
    (tmp_path / "harm.py").write_text(
        f"from pathlib import Path\nPath({str(mark)!r}).touch()\n{source}"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from kmpe import io; "
    code += f"io.load({str(file)!r}"
    run = [sys.executable, "-c"]
    refused = subprocess.run([*run, f"{code})"], capture_output=True, text=True)
    assert "contains the type harm.Step, which may run any code" in refused.stderr
    assert not mark.exists()
    subprocess.run([*run, f"{code}, trusted=['harm.Step'])"], check=True)
    assert mark.exists()  # the test could have failed


@pytest.mark.parametrize("function", ["os.system", "builtins.eval", "operator.methodcaller"])
def test_functions_that_run_code_are_refused(function: str, tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    io.save(make_pipeline(FunctionTransformer(np.abs), RobustLinearRegression()), file)
    module, _, name = function.rpartition(".")
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    schema = members["schema.json"].decode()
    assert '"absolute"' in schema or '"abs"' in schema
    changed = schema.replace('"absolute"', f'"{name}"').replace('"abs"', f'"{name}"')
    changed = changed.replace('"__module__": "numpy"', f'"__module__": "{module}"')
    members["schema.json"] = changed.encode()
    with zipfile.ZipFile(file, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    with pytest.raises(ModelFileError, match="model"):
        io.load(file)


def rewritten(file: Path, **about: Any) -> None:
    with zipfile.ZipFile(file) as archive:
        members = {member: archive.read(member) for member in archive.namelist()}
    members["kmpe.json"] = json.dumps({**json.loads(members["kmpe.json"]), **about}).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)


def test_a_file_of_a_later_version_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    io.save(RobustLinearRegression().fit(X, y), file)
    rewritten(file, format=2, kmpe="9.1")
    with pytest.raises(
        ModelFileError, match=r"written by kmpe 9\.1 in format 2; .*pip install --upgrade kmpe"
    ):
        io.load(file)
    rewritten(file, format="soon")
    with pytest.raises(ModelFileError, match="is not a model"):
        io.load(file)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.skops"
    with pytest.raises(FileNotFoundError):
        io.load(file)
    for content in (b"", b"words", skops.io.dumps(Ridge())):
        file.write_bytes(content)
        with pytest.raises(ModelFileError, match="is not a model written by kmpe"):
            io.load(file)
    io.save(RobustLinearRegression().fit(X, y), file)
    with zipfile.ZipFile(file) as archive:
        about = archive.read("kmpe.json")
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("kmpe.json", about)
        archive.writestr("schema.json", '{"__class__": 3}')
    with pytest.raises(ModelFileError, match="is damaged"):
        io.load(file)


def test_a_file_is_written_whole_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.skops"
    io.save(Ridge(alpha=3), file)

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="No space"):
        io.save(Ridge(alpha=4), file)
    assert io.load(file).alpha == 3
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize(("module", "extra"), [("skops", "io"), ("onnx", "onnx")])
def test_a_missing_extra_is_named(module: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, f"{module}.io", None)
    with pytest.raises(ImportError, match=rf"pip install 'kmpe\[{extra}\]'"):
        io.save(Ridge(), "x") if extra == "io" else io.to_onnx(Ridge())
