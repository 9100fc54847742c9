"""Hidden layers as operations of an ONNX graph."""

from collections.abc import Callable

import numpy as np

from kmpe.io.graph import Graph
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.kernel_nodes import KernelNodes

__all__ = ["hidden"]


def hidden(layer: HiddenLayer | KernelNodes, graph: Graph, name: str) -> str:
    """Add the features of the inputs ``name``; return the name of the result."""
    if isinstance(layer, KernelNodes):
        return _kernel_nodes(layer, graph, name)
    activation = layer.activation
    if callable(activation) or activation not in _ACTIVATIONS:
        raise TypeError(
            f"the activation {activation!r} cannot be written as ONNX: choose one of "
            f"{', '.join(_ACTIVATIONS)}"
        )
    W, b = layer.W.astype(np.float64), layer.b.astype(np.float64)
    if activation == "rbf":
        squares = graph("ReduceSum", graph("Mul", name, name), np.array([1]), keepdims=1)
        z = graph("Add", graph("MatMul", name, -2 * W), squares)
        z = graph("Max", graph("Add", z, (W * W).sum(axis=0)), np.float64(0.0))
        z = graph.scaled(z, b)
    else:
        z = graph("Add", graph("MatMul", name, W), b)
    H = _ACTIVATIONS[activation](graph, z)
    return graph.scaled(H, np.full(len(b), np.sqrt(2.0))) if activation == "fourier" else H


def _kernel_nodes(layer: KernelNodes, graph: Graph, name: str) -> str:
    kernel, d = layer.kernel, layer.nodes.shape[1]
    # asinh u = ± log(|u| + √(u² + 1)), as runtimes have no Asinh in double precision.
    u = graph.scaled(graph("Sub", name, layer.scaling.centre), layer.scaling.per / 4)
    root = graph("Sqrt", graph("Add", graph("Mul", u, u), np.float64(1.0)))
    size = graph("Log", graph("Add", graph("Abs", u), root))
    Z = graph.scaled(graph("Mul", graph("Sign", u), size), np.full(d, 4.0))
    A, B = graph.scaled(Z, kernel.scales), layer.nodes * kernel.scales
    squares = graph("ReduceSum", graph("Mul", A, A), np.array([1]), keepdims=1)
    D2 = graph("Add", graph("MatMul", A, -2 * B.T), squares)
    D2 = graph("Max", graph("Add", D2, (B * B).sum(axis=1)), np.float64(0.0))
    nodes = np.ones(len(B))
    smooth = graph("Exp", graph.scaled(D2, -0.5 * nodes))
    apart = graph("Abs", graph("Sub", graph("Unsqueeze", A, np.array([1])), B))
    D1 = graph("ReduceSum", apart, np.array([2]), keepdims=0)
    rough = graph("Exp", graph.scaled(D1, -kernel.ratio / np.sqrt(d) * nodes))
    K = graph(
        "Add",
        graph.scaled(smooth, kernel.smooth * nodes),
        graph.scaled(rough, kernel.rough * nodes),
    )
    # The constant as 0 times an input plus √10, which has the number of rows of the input.
    first = graph("Gather", Z, np.array([0]), axis=1)
    constant = graph("Add", graph("MatMul", first, np.zeros((1, 1))), np.full(1, np.sqrt(10.0)))
    if kernel.linear == 0:
        return graph("Concat", K, constant, axis=1)
    line = graph.scaled(Z, np.full(d, np.sqrt(kernel.linear / d)))
    return graph("Concat", K, line, constant, axis=1)


def _hard_limit(graph: Graph, z: str) -> str:
    below = graph("Less", z, np.float64(0.0))
    return graph("Where", below, np.float64(0.0), np.float64(1.0))


_ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "sigmoid": lambda graph, z: graph("Sigmoid", z),
    "tanh": lambda graph, z: graph("Tanh", z),
    "relu": lambda graph, z: graph("Relu", z),
    "sine": lambda graph, z: graph("Sin", z),
    "hard_limit": _hard_limit,
    "rbf": lambda graph, z: graph("Exp", graph("Neg", z)),
    "fourier": lambda graph, z: graph("Cos", z),
}
