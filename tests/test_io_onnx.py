"""ONNX graphs give what the estimators give."""

from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)

from kmpe import KMPE, PCAL1, ELMClassifier, ELMRegressor, RobustLinearRegression, RobustPCA
from kmpe.io import to_onnx
from kmpe.rows.hidden_layer import ACTIVATIONS

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 4)) * [1, 3, 0.2, 1]
NEW = RNG.normal(size=(500, 4)) * [2, 6, 0.4, 2]
y = np.sin(X[:, 0]) + X[:, 1] + RNG.standard_t(2, size=200)
Y = np.column_stack([y, X[:, 2] - y])


def run(model: Any, rows: Any = NEW, **options: Any) -> dict[str, Any]:
    graph = to_onnx(model, **options)
    session = onnxruntime.InferenceSession(
        graph.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(None, {"X": rows}), strict=True))


def assert_close(found: Any, expected: Any) -> None:
    """At most 1e-9 of the largest value."""
    assert found.dtype == np.float64
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-9 * np.abs(expected).max()


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_machines_with_every_activation(activation: str) -> None:
    model = ELMRegressor(KMPE(p=2), activation=activation, alpha=1e-3, random_state=0).fit(X, y)
    assert_close(run(model)["prediction"], model.predict(NEW))


@pytest.mark.parametrize("target", [y, Y], ids=["one", "two"])
@pytest.mark.parametrize(
    "model",
    [
        RobustLinearRegression(),
        RobustLinearRegression(fit_intercept=False),
        ELMRegressor(random_state=0),
    ],
    ids=["linear", "no intercept", "machine"],
)
def test_predictions_and_intervals(model: Any, target: Any) -> None:
    model.fit(X, target)
    found = run(model, interval=0.8)
    predicted, low, high = model.predict(NEW, return_interval=0.8)
    assert list(found) == ["prediction", "interval"]
    assert_close(found["prediction"], predicted)
    assert_close(found["interval"], np.stack([low, high], axis=-1))


@pytest.mark.parametrize(
    "labels",
    [
        np.digitize(y, [-1, 1]),
        np.array(["low", "middle", "high"])[np.digitize(y, [-1, 1])],
        np.array(["no", "yes"])[(y > 0).astype(int)],
        y > 0,
    ],
    ids=["numbers", "words", "two words", "bool"],
)
def test_classifiers_give_labels_and_decisions(labels: Any) -> None:
    model = ELMClassifier(random_state=0).fit(X, labels)
    found = run(model)
    assert_close(found["decision"], model.decision_function(NEW))
    np.testing.assert_array_equal(found["label"].astype(model.classes_.dtype), model.predict(NEW))


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("kind", [RobustPCA, PCAL1])
def test_pca(kind: Any, whiten: bool) -> None:
    model = kind(2, whiten=whiten).fit(X)
    assert_close(run(model)["scores"], model.transform(NEW))


@pytest.mark.parametrize("whiten", [False, True])
def test_a_pca_of_scaled_columns(whiten: bool) -> None:
    model = RobustPCA(2, scale="mad", whiten=whiten).fit(X * [1, 100, 1e-3, 7])
    assert_close(run(model)["scores"], model.transform(NEW))


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_mean=False),
        StandardScaler(with_std=False),
        RobustScaler(),
        MinMaxScaler((-1, 1)),
        MinMaxScaler(clip=True),
        MaxAbsScaler(),
        "passthrough",
        RobustPCA(3),
    ],
    ids=str,
)
def test_pipelines(scaler: Any) -> None:
    model = make_pipeline(scaler, ELMRegressor(random_state=0)).fit(X, y)
    assert_close(run(model)["prediction"], model.predict(NEW))


@pytest.mark.parametrize("scaler", [StandardScaler(), MinMaxScaler(), MaxAbsScaler()], ids=str)
def test_one_column_and_one_node_stay_in_double_precision(scaler: Any) -> None:
    nodes = [ELMRegressor(KMPE(), n_hidden=1, alpha=1e-3, activation=a) for a in ACTIVATIONS]
    for last in (RobustLinearRegression(), *nodes):
        model = make_pipeline(scaler, last).fit(X[:, 1:2], y)
        assert_close(run(model, NEW[:, 1:2])["prediction"], model.predict(NEW[:, 1:2]))


def test_single_rows_and_none() -> None:
    model = make_pipeline(StandardScaler(), RobustLinearRegression()).fit(X, y)
    assert_close(run(model, NEW[:1])["prediction"], model.predict(NEW[:1]))
    assert run(model, NEW[:0])["prediction"].shape == (0,)


def test_a_graph_is_written(tmp_path: Path) -> None:
    model = RobustLinearRegression().fit(X, y)
    to_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    assert_close(session.run(None, {"X": NEW})[0], model.predict(NEW))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Ridge(), "Ridge cannot be written"),
        (
            make_pipeline(PolynomialFeatures(), RobustLinearRegression()),
            "PolynomialFeatures cannot",
        ),
        (ELMRegressor(activation=np.tanh), "the activation .* cannot be written"),
    ],
)
def test_what_cannot_be_written_is_refused(model: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        to_onnx(model.fit(X, y))


def test_what_has_no_intervals_or_no_fit_is_refused() -> None:
    with pytest.raises(ValueError, match="RobustPCA has no prediction intervals"):
        to_onnx(RobustPCA(2).fit(X), interval=0.9)
    with pytest.raises(NotFittedError):
        to_onnx(RobustLinearRegression())
