"""NumPy's functions that are no ufuncs, in the words of the array API standard.

Each takes one of the foreign arrays that it is called with, which knows the library, and then what
NumPy's function takes.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["FUNCTIONS"]


def _einsum(one: Any, what: str, A: Any, B: Any) -> Any:
    A, B = one.raw(A), one.raw(B)
    if what == "ij,j->i":
        return A @ B
    axes = {"ij,ij->i": -1, "ij,ij->j": -2}
    if what not in axes:
        raise TypeError(f"einsum {what!r} has no counterpart in the array API")
    return one.library.xp.vecdot(A, B, axis=axes[what])


def _where(one: Any, condition: Any, x: Any, y: Any) -> Any:
    xp, x, y = one.library.xp, one.raw(x), one.raw(y)
    kinds = [value.dtype for value in (x, y) if not isinstance(value, int | float)]
    kind = kinds[0] if kinds else xp.float64
    x, y = (one.scalar(v, kind) if isinstance(v, int | float) else v for v in (x, y))
    return xp.where(one.raw(condition), x, y)


def _clip(one: Any, x: Any, low: float, high: float) -> Any:
    return one.library.xp.clip(one.raw(x), float(low), float(high))


def _nan_to_num(one: Any, x: Any) -> Any:
    most = float(np.finfo(np.float64).max)
    return _where(one, np.isnan(x), 0.0, np.clip(x, -most, most))


def _concatenate(one: Any, arrays: Sequence[Any], axis: int = 0) -> Any:
    return one.library.xp.concat(one.operands(arrays, mixed=True), axis=axis)


def _column_stack(one: Any, arrays: Sequence[Any]) -> Any:
    return _concatenate(one, [a[:, None] if a.ndim == 1 else a for a in arrays], axis=1)


def _vstack(one: Any, arrays: Sequence[Any]) -> Any:
    return _concatenate(one, [a[None, :] if a.ndim == 1 else a for a in arrays], axis=0)


def _hstack(one: Any, arrays: Sequence[Any]) -> Any:
    return _concatenate(one, arrays, axis=1)


def _full_like(one: Any, x: Any, value: float) -> Any:
    return one.library.xp.full_like(x.values, value)


def _ones_like(one: Any, x: Any) -> Any:
    return _full_like(one, x, 1.0)


def _zeros_like(one: Any, x: Any) -> Any:
    return _full_like(one, x, 0.0)


def _empty_like(one: Any, x: Any, dtype: npt.DTypeLike, shape: tuple[int, ...]) -> Any:  # noqa: ARG001
    xp = one.library.xp
    return xp.empty(shape, dtype=getattr(xp, np.dtype(dtype).name), device=one.library.device)


def _method(name: str) -> Callable[..., Any]:
    """Return the function that is a method of the array."""

    def call(one: Any, x: Any, axis: int | None = None) -> Any:  # noqa: ARG001 - one for all
        return getattr(x, name)(axis=axis).values

    return call


def _sort(one: Any, x: Any, axis: int = -1) -> Any:
    return one.library.xp.sort(x.values, axis=axis)


def _cumsum(one: Any, x: Any, axis: int) -> Any:
    return one.library.xp.cumulative_sum(x.values, axis=axis)


def _count_nonzero(one: Any, x: Any, axis: int) -> Any:
    xp = one.library.xp
    return xp.sum(xp.astype(x._mask, xp.int64), axis=axis)


def _take_along_axis(one: Any, x: Any, where: Any, axis: int) -> Any:
    return one.library.xp.take_along_axis(one.raw(x), one.raw(where), axis=axis)


def _norm(one: Any, x: Any, axis: int) -> Any:
    return one.library.xp.linalg.vector_norm(x.values, axis=axis)


def _solve(one: Any, A: Any, B: Any) -> Any:
    return one.library.xp.linalg.solve(one.raw(A), one.raw(B))


def _median(one: Any, x: Any) -> Any:
    ordered = one.library.xp.sort(x.values)
    return (ordered[(len(x) - 1) // 2] + ordered[len(x) // 2]) / 2


FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.einsum: _einsum,
    np.where: _where,
    np.clip: _clip,
    np.nan_to_num: _nan_to_num,
    np.concatenate: _concatenate,
    np.column_stack: _column_stack,
    np.full_like: _full_like,
    np.ones_like: _ones_like,
    np.zeros_like: _zeros_like,
    np.empty_like: _empty_like,
    np.hstack: _hstack,
    np.vstack: _vstack,
    np.sum: _method("sum"),
    np.all: _method("all"),
    np.argmax: _method("argmax"),
    np.sort: _sort,
    np.cumsum: _cumsum,
    np.count_nonzero: _count_nonzero,
    np.take_along_axis: _take_along_axis,
    np.linalg.norm: _norm,
    np.linalg.solve: _solve,
    np.median: _median,
}
