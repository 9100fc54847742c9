"""ONNX graphs as they are built: operations and constants, and names for them."""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Graph", "onnx_package"]


class Graph:
    """Operations and constants, and names for them."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[str, npt.NDArray[Any]] = {}

    def __call__(self, operation: str, *inputs: Any, out: str = "", **attributes: Any) -> str:
        """Add an operation on names and arrays; return the name of its result."""
        names = [name if isinstance(name, str) else self._constant(name) for name in inputs]
        out = out or f"{operation.lower()}{len(self.nodes)}"
        self.nodes.append(onnx_package().helper.make_node(operation, names, [out], **attributes))
        return out

    def scaled(self, name: str, factors: Any, out: str = "") -> str:
        """Multiply columns by factors.

        onnxruntime moves a single factor into a neighbouring MatMul, and rounds it to single
        precision on the way. As a matrix of one entry it stays where it is.
        """
        factors = np.asarray(factors, dtype=np.float64)
        if factors.size == 1:
            return self("MatMul", name, factors.reshape(1, 1), out=out)
        return self("Mul", name, factors, out=out)

    def _constant(self, value: Any) -> str:
        value = np.asarray(value)
        if value.dtype.kind == "f":
            value = value.astype(np.float64)
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name


def onnx_package() -> Any:
    """Return the package, or say how to get it."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX graphs need onnx: pip install 'kmpe[onnx]'", name="onnx") from error
    return onnx
