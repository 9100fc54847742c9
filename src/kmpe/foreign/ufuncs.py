"""NumPy's ufuncs in the words of the array API standard, by their names."""

import operator
from collections.abc import Callable
from typing import Any

__all__ = ["IN_PLACE", "OPERATORS", "UFUNCS"]


def _square(x: Any) -> Any:
    return x * x


def _divide(x: Any, y: Any) -> Any:
    # PyTorch takes two passes for 1 / y, the second of which multiplies by 1.
    if isinstance(x, int | float) and x == 1 and hasattr(y, "reciprocal"):
        return y.reciprocal()
    return x / y


def _cbrt(xp: Any, x: Any) -> Any:
    return xp.sign(x) * xp.abs(x) ** (1 / 3)


def _heaviside(xp: Any, x: Any, at_zero: Any) -> Any:
    return xp.where(x == 0, at_zero, xp.astype(x > 0, x.dtype))


#: Those that are operators, which take numbers beside arrays.
OPERATORS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": _divide,
    "power": operator.pow,
    "matmul": operator.matmul,
    "negative": operator.neg,
    "absolute": operator.abs,
    "square": _square,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "invert": operator.invert,
}
#: Those that can write their result over the first operand.
IN_PLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
}


def _named(name: str) -> Callable[..., Any]:
    def call(xp: Any, *values: Any) -> Any:
        return getattr(xp, name)(*values)

    return call


_SAME_NAMES = (
    *("sqrt", "exp", "expm1", "log", "log1p", "log2", "tanh", "sin", "cos"),
    *("floor", "isnan", "isfinite", "maximum", "minimum"),
)
#: The others: functions of a namespace and of arrays.
UFUNCS: dict[str, Callable[..., Any]] = {name: _named(name) for name in _SAME_NAMES}
UFUNCS |= {"cbrt": _cbrt, "arcsinh": _named("asinh"), "heaviside": _heaviside}
