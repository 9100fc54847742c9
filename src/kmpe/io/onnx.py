"""Fitted models as ONNX graphs in double precision.

An ONNX graph is a list of operations on named arrays. Each step of a pipeline adds its operations,
in the order in which the estimator computes them: results differ by rounding alone.
"""

from functools import singledispatch
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

import kmpe
from kmpe.estimators.elm import ELMClassifier, ELMRegressor
from kmpe.estimators.linear import RobustLinearRegression
from kmpe.estimators.projection import Projection
from kmpe.io.graph import Graph, onnx_package
from kmpe.io.onnx_layers import hidden

__all__ = ["to_onnx"]

# The oldest that has every operation in double precision, for the sake of older runtimes.
_OPSET, _IR_VERSION = 17, 8


def to_onnx(estimator: Any, path: Any = None, *, interval: float | None = None) -> Any:
    """Return a fitted model as an ONNX graph.

    The input is ``X``, double precision, of shape (n, d). The outputs are ``prediction`` of a
    regressor, of shape (n,) or (n, q); ``label`` and ``decision`` of a classifier, as `predict`
    and `decision_function` give them; ``scores`` of a PCA.

    Parameters
    ----------
    estimator : estimator
        `ELMRegressor`, `ELMClassifier`, `RobustLinearRegression`, `RobustPCA`, `PCAL1`, or a
        pipeline of such and of scikit-learn's StandardScaler, MinMaxScaler, MaxAbsScaler and
        RobustScaler, fitted.
    path : path, optional
        Where to write the graph as well.
    interval : float, optional
        Coverage, such as 0.9, of prediction intervals. They are a second output, ``interval``, of
        shape (n, 2) or (n, q, 2): lower and upper ends.

    Returns
    -------
    onnx.ModelProto

    See Also
    --------
    save : A file for Python, with all that was fitted.

    Examples
    --------
    >>> from kmpe import RobustLinearRegression
    >>> from kmpe.io import to_onnx
    >>> X = np.arange(20.0)[:, None]
    >>> model = RobustLinearRegression().fit(X, 3 * X[:, 0] + np.sin(X[:, 0]))
    >>> [output.name for output in to_onnx(model, interval=0.9).graph.output]
    ['prediction', 'interval']
    """
    onnx = onnx_package()
    check_is_fitted(estimator)
    steps = (
        [step for _, step in estimator.steps] if isinstance(estimator, Pipeline) else [estimator]
    )
    steps = [step for step in steps if step is not None and step != "passthrough"]
    graph = Graph()
    name = "X"
    for step in steps[:-1]:
        name = _transformed(step, graph, name)
    last = steps[-1]
    if interval is not None and not isinstance(last, (RobustLinearRegression, ELMRegressor)):
        raise ValueError(f"{type(last).__name__} has no prediction intervals: leave out interval")
    outputs = _outputs(last, graph, name, interval)
    helper, double = onnx.helper, onnx.TensorProto.DOUBLE
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "kmpe",
            [helper.make_tensor_value_info("X", double, ["n", steps[0].n_features_in_])],
            [helper.make_tensor_value_info(*output) for output in outputs],
            [onnx.numpy_helper.from_array(value, key) for key, value in graph.constants.items()],
        ),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION,
        producer_name="kmpe",
        producer_version=kmpe.__version__,
    )
    onnx.checker.check_model(model, full_check=True)
    if path is not None:
        onnx.save_model(model, path)
    return model


# -- steps before the last ---------------------------------------------------------------------


@singledispatch
def _transformed(step: Any, graph: Graph, name: str) -> str:  # noqa: ARG001
    raise TypeError(
        f"{type(step).__name__} cannot be written as ONNX: pipelines of StandardScaler, "
        "MinMaxScaler, MaxAbsScaler, RobustScaler, RobustPCA or PCAL1 and an estimator can"
    )


@_transformed.register(StandardScaler)
def _standard(step: Any, graph: Graph, name: str) -> str:
    name = graph("Sub", name, step.mean_) if step.with_mean else name
    return graph.scaled(name, 1 / step.scale_) if step.with_std else name


@_transformed.register(RobustScaler)
def _robust(step: Any, graph: Graph, name: str) -> str:
    name = graph("Sub", name, step.center_) if step.with_centering else name
    return graph.scaled(name, 1 / step.scale_) if step.with_scaling else name


@_transformed.register(MaxAbsScaler)
def _max_abs(step: Any, graph: Graph, name: str) -> str:
    name = graph.scaled(name, 1 / step.scale_)
    return _clipped(graph, name, -1.0, 1.0) if getattr(step, "clip", False) else name


@_transformed.register(MinMaxScaler)
def _min_max(step: Any, graph: Graph, name: str) -> str:
    name = graph("Add", graph.scaled(name, step.scale_), step.min_)
    return _clipped(graph, name, *step.feature_range) if step.clip else name


def _clipped(graph: Graph, name: str, low: float, high: float) -> str:
    return graph("Min", graph("Max", name, np.float64(low)), np.float64(high))


@_transformed.register(Projection)
def _projected(step: Any, graph: Graph, name: str, out: str = "") -> str:
    W = step.components_ if step.scale_ is None else step.components_ / step.scale_
    scores = graph("MatMul", name, np.asarray(W, dtype=np.float64).T)
    centre = np.asarray(step.mean_ @ W.T)
    if not step.whiten:
        return graph("Sub", scores, centre, out=out)
    return graph.scaled(graph("Sub", scores, centre), 1 / step._deviations(), out=out)


# -- the last step -----------------------------------------------------------------------------

Output = tuple[str, int, list[Any]]


@singledispatch
def _outputs(step: Any, graph: Graph, name: str, interval: float | None) -> list[Output]:  # noqa: ARG001
    raise TypeError(
        f"{type(step).__name__} cannot be written as ONNX: ELMRegressor, ELMClassifier, "
        "RobustLinearRegression, RobustPCA and PCAL1 can"
    )


@_outputs.register(Projection)
def _pca(step: Any, graph: Graph, name: str, interval: float | None) -> list[Output]:  # noqa: ARG001
    _projected(step, graph, name, out="scores")
    return [("scores", onnx_package().TensorProto.DOUBLE, ["n", step.n_components_])]


@_outputs.register(RobustLinearRegression)
def _linear(step: Any, graph: Graph, name: str, interval: float | None) -> list[Output]:
    product = graph("MatMul", name, np.atleast_2d(step.coef_).T)
    Y = graph("Add", product, np.atleast_1d(step.intercept_))
    return _regression(step, graph, Y, interval)


@_outputs.register(ELMRegressor)
def _elm_regressor(step: Any, graph: Graph, name: str, interval: float | None) -> list[Output]:
    coef = step.coef_.reshape(-1, step.hidden_layer_.n_features).T
    return _regression(
        step, graph, graph("MatMul", hidden(step.hidden_layer_, graph, name), coef), interval
    )


@_outputs.register(ELMClassifier)
def _elm_classifier(step: Any, graph: Graph, name: str, interval: float | None) -> list[Output]:  # noqa: ARG001
    types = onnx_package().TensorProto
    two = len(step.classes_) == 2
    coef = step.coef_.T
    scores = graph(
        "MatMul", hidden(step.hidden_layer_, graph, name), coef, out="" if two else "decision"
    )
    if two:
        first, second = (graph("Gather", scores, np.int64(i), axis=1) for i in (0, 1))
        decision = graph("Sub", second, first, out="decision")
        above = graph("Greater", decision, np.float64(0.0))
        codes = graph("Cast", above, to=types.INT64)
    else:
        codes = graph("ArgMax", scores, axis=1, keepdims=0)
    words = step.classes_.dtype.kind not in "iub"
    classes = step.classes_.astype(str).astype(object) if words else step.classes_.astype(np.int64)
    graph("Gather", classes, codes, out="label", axis=0)
    return [
        ("label", types.STRING if words else types.INT64, ["n"]),
        ("decision", types.DOUBLE, ["n"] if two else ["n", len(step.classes_)]),
    ]


def _regression(step: Any, graph: Graph, Y: str, interval: float | None) -> list[Output]:
    """Return prediction and interval from the predictions of shape (n, q)."""
    double = onnx_package().TensorProto.DOUBLE
    single = step.coef_.ndim == 1
    shape: list[Any] = ["n"] if single else ["n", len(step.coef_)]
    if single:
        Y = graph("Squeeze", Y, np.array([1]), out="prediction")
    else:
        Y = graph("Identity", Y, out="prediction")
    if interval is None:
        return [("prediction", double, shape)]
    # Half widths do not depend on the row: those of any row are those of all.
    predicted, _, high = step.predict(np.zeros((1, step.n_features_in_)), return_interval=interval)
    half = np.asarray(high - predicted)[0]
    ends = [graph(sign, Y, half) for sign in ("Sub", "Add")]
    apart = [graph("Unsqueeze", end, np.array([-1])) for end in ends]
    graph("Concat", *apart, out="interval", axis=-1)
    return [("prediction", double, shape), ("interval", double, [*shape, 2])]
