"""Arrays of other libraries that answer to NumPy's functions, on the device where they are.

A pass over the rows is written in NumPy's words: losses, feature maps, and sums over a block. A
`Foreign` array takes part in it by NumPy's own protocols (NEP 13 for ufuncs, NEP 18 for functions)
and hands each operation to its own library, which follows the array API standard. So everything
that is of the length of the data is computed there. NumPy arrays beside it, such as
coefficients, are small and are copied to the device. What has no counterpart raises a TypeError,
and nothing is brought to NumPy unless `to_numpy` is called.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from kmpe.foreign.functions import FUNCTIONS
from kmpe.foreign.ufuncs import IN_PLACE, OPERATORS, UFUNCS

__all__ = ["Foreign", "Library", "asarray", "self_product", "to_numpy"]


@dataclass(frozen=True)
class Library:
    """An array library, and a device of it.

    Parameters
    ----------
    xp : module
        The namespace of the array API standard.
    device : object
        Where arrays are made.
    """

    xp: Any
    device: Any

    def array(self, values: npt.ArrayLike) -> Any:
        """Return an array of this library, on its device, with the values of one of NumPy."""
        values = np.ascontiguousarray(values)
        # PyTorch shares memory with NumPy, and warns of memory that may not be written to.
        values = values if values.flags.writeable else values.copy()
        return self.xp.asarray(values, device=self.device)

    def foreign(self, values: npt.ArrayLike) -> "Foreign":
        """Return the same as a `Foreign` array."""
        return Foreign(self.array(values), self)

    @property
    def on_cpu(self) -> bool:
        """Whether the memory of the device is that of this process."""
        return str(self.device).lower() in ("cpu", "cpu_device")

    def is_float(self, values: Any) -> bool:
        """Whether these are an array of floating-point numbers."""
        scalar = isinstance(values, int | float)
        return not scalar and bool(self.xp.isdtype(values.dtype, "real floating"))


def self_product(Y: Any) -> Any:
    """Return YᵀY of an array of NumPy, or of a `Foreign` one.

    NumPy computes one half of the symmetric matrix. PyTorch computes both, but its memory on the
    CPU is also NumPy's: a PCA takes 1.2 to 1.4 instead of 1.3 to 1.7 times as long as in NumPy
    (`python -m benchmarks devices`).
    """
    shared = Y.shared() if isinstance(Y, Foreign) else None
    return Y.T @ Y if shared is None else Y.library.foreign(shared.T @ shared)


def to_numpy(values: Any) -> npt.NDArray[Any]:
    """Return an array of any library as one of NumPy; the standard has no name for it."""
    if hasattr(values, "detach"):  # PyTorch
        return np.asarray(values.detach().cpu().numpy())
    if hasattr(values, "get"):  # CuPy
        return np.asarray(values.get())
    if hasattr(values, "to_device") and not isinstance(values, np.ndarray):
        xp = values.__array_namespace__()
        first = getattr(xp, "Device", None)  # array-api-strict, whose devices are made up
        values = values.to_device("cpu" if first is None else first("CPU_DEVICE"))
    return np.asarray(values)


def asarray(values: Any, dtype: npt.DTypeLike | None = None) -> npt.NDArray[Any]:
    """Return values as an array: of NumPy, unless they are a `Foreign` one already."""
    if isinstance(values, Foreign):
        kept: Any = values if dtype is None else values.astype(dtype, copy=False)
        return cast("npt.NDArray[Any]", kept)  # it answers to all that is asked of one in a pass
    return np.asarray(values, dtype)


class Foreign(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of another library.

    Parameters
    ----------
    values : array
        The array.
    library : Library
        What it is of.
    is_view : bool
        Whether what is written to it is written to another array as well.
    """

    __slots__ = ("is_view", "library", "values")

    def __init__(self, values: Any, library: Library, *, is_view: bool = False) -> None:
        self.values = values
        self.library = library
        self.is_view = is_view

    # -- what NumPy calls ------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        name, out = ufunc.__name__, options.pop("out", None)
        known = name in OPERATORS or name in UFUNCS
        if method != "__call__" or not known or options:
            return NotImplemented
        if out is not None and out[0] is inputs[0] and name in IN_PLACE:
            IN_PLACE[name](out[0].values, self._like(inputs[1], out[0].values))
            return out[0]
        values = self.operands(inputs, mixed=name in OPERATORS)
        if name in OPERATORS:
            found = OPERATORS[name](*values)
        else:
            found = UFUNCS[name](self.library.xp, *values)
        if out is None:
            return Foreign(found, self.library)
        if out[0].is_view or out[0].values.dtype != found.dtype:
            out[0].values[...] = found
        else:
            out[0].values = found  # no one else sees the values that were there
        return out[0]

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        work = FUNCTIONS.get(function)
        if work is None:
            return NotImplemented
        return Foreign(work(self, *args, **options), self.library)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Refuse: nothing is brought to NumPy silently."""
        raise ValueError(
            f"this fit needs a value of every row in NumPy, and X is an array of "
            f"{self.library.xp.__name__.rpartition('.')[2]}: give it as a NumPy array"
        )

    def operands(self, inputs: Sequence[Any], *, mixed: bool) -> list[Any]:
        """Return operands as arrays of the library, all floating if one is; scalars as they are.

        Functions take no scalars in older editions of the standard, operators do (``mixed``).
        """
        values = [self.raw(value) for value in inputs]
        double = self.library.xp.float64
        if mixed and all(isinstance(v, int | float) or v.dtype == double for v in values):
            return values
        floats = any(isinstance(v, float) or self.library.is_float(v) for v in values)
        if floats:
            values = [self._floating(value) for value in values]
            kinds = [value.dtype for value in values if not isinstance(value, int | float)]
            if any(kind != kinds[0] for kind in kinds):  # PyTorch has no products of two precisions
                values = [self._double(value) for value in values]
        if not mixed and len(values) > 1:
            kind = next(value.dtype for value in values if not isinstance(value, int | float))
            values = [self.scalar(v, kind) if isinstance(v, int | float) else v for v in values]
        return values

    def raw(self, value: Any) -> Any:
        """Return a value as the library takes it: an array of it, or a number."""
        if isinstance(value, Foreign):
            return value.values
        if isinstance(value, bool | int | float) and not isinstance(value, np.generic):
            return value
        value = np.asarray(value)
        return value.item() if value.ndim == 0 else self.library.array(value)

    def _floating(self, value: Any) -> Any:
        if isinstance(value, int | float) or self.library.is_float(value):
            return value
        return self._double(value)

    def _double(self, value: Any) -> Any:
        if isinstance(value, int | float):
            return value
        return self.library.xp.astype(value, self.library.xp.float64, copy=False)

    def scalar(self, value: float, kind: Any) -> Any:
        """Return a number as an array of the library."""
        return self.library.xp.asarray(value, dtype=kind, device=self.library.device)

    def _like(self, value: Any, other: Any) -> Any:
        """Return an operand as floating as another one is."""
        value = self.raw(value)
        return self._floating(value) if self.library.is_float(other) else value

    # -- what an array has -----------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        """The numbers of rows and columns."""
        return tuple(int(size) for size in self.values.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.values.ndim)

    @property
    def size(self) -> int:
        """The number of values."""
        return math.prod(self.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values, in NumPy's words."""
        return np.dtype(str(self.values.dtype).rpartition(".")[2])

    @property
    def T(self) -> "Foreign":  # noqa: N802 - NumPy's name
        """The transposed matrix."""
        return Foreign(self.values.T, self.library, is_view=True)

    def __len__(self) -> int:
        return self.shape[0]

    def __float__(self) -> float:
        return float(self.values)

    def __bool__(self) -> bool:
        return bool(self.values)

    def __getitem__(self, where: Any) -> "Foreign":
        if isinstance(where, Foreign | np.ndarray):
            return Foreign(self._some(self.raw(where)), self.library)
        if isinstance(where, tuple) and isinstance(where[-1], np.ndarray):  # some columns
            rows = self[where[:-1]]
            columns = self.library.xp.take(rows.values, self.raw(where[-1]), axis=len(where) - 1)
            return Foreign(columns, self.library)
        return Foreign(self.values[self._places(where)], self.library, is_view=True)

    def __setitem__(self, where: Any, values: Any) -> None:
        self.values[self._places(where)] = self._like(values, self.values)

    def _some(self, where: Any) -> Any:
        """Return some rows, by their numbers or by a mask; or the values that a mask is true of."""
        xp = self.library.xp
        if xp.isdtype(where.dtype, "bool"):
            if where.ndim == self.ndim:
                return self.values[where]
            where = xp.nonzero(where)[0]
        return xp.take(self.values, where, axis=0)

    def _places(self, where: Any) -> Any:
        if isinstance(where, Foreign | np.ndarray):
            return self.raw(where)
        where = where if isinstance(where, tuple) else (where,)
        # The standard wants every dimension named.
        missing = self.ndim - sum(i is not None for i in where)
        return (*where, *[slice(None)] * missing)

    def astype(self, dtype: npt.DTypeLike, copy: bool = True) -> "Foreign":
        """Return the values in another type."""
        xp, name = self.library.xp, np.dtype(dtype).name
        kind = getattr(xp, name)
        if self.values.dtype == kind and not copy:
            return self
        return Foreign(xp.astype(self.values, kind, copy=copy), self.library)

    def sum(self, axis: int | None = None, keepdims: bool = False) -> "Foreign":
        """Return sums of the values; of a mask, how many are true."""
        floating = self._floating(self.values)
        return Foreign(self.library.xp.sum(floating, axis=axis, keepdims=keepdims), self.library)

    def max(
        self, axis: int | None = None, keepdims: bool = False, initial: float | None = None
    ) -> Any:
        """Return the largest values; beside an initial number, the larger of both as a number."""
        if initial is not None:
            return max(float(self.max()), initial) if self.size else initial
        return Foreign(self.library.xp.max(self.values, axis=axis, keepdims=keepdims), self.library)

    def min(self, initial: float | None = None) -> Any:
        """Return the smallest value; beside an initial number, the smaller of both as a number."""
        if initial is not None:
            return min(float(self.min()), initial) if self.size else initial
        return Foreign(self.library.xp.min(self.values), self.library)

    def argmax(self, axis: int) -> "Foreign":
        """Return where the largest values are."""
        return Foreign(self.library.xp.argmax(self.values, axis=axis), self.library)

    def any(self, axis: int | None = None) -> "Foreign":
        """Return whether any value is not 0."""
        return Foreign(self.library.xp.any(self._mask, axis=axis), self.library)

    def all(self, axis: int | None = None) -> "Foreign":
        """Return whether no value is 0."""
        return Foreign(self.library.xp.all(self._mask, axis=axis), self.library)

    @property
    def _mask(self) -> Any:
        values = self.values
        return values if self.library.xp.isdtype(values.dtype, "bool") else values != 0

    def reshape(self, *shape: int) -> "Foreign":
        """Return the values in another shape."""
        values = self.library.xp.reshape(self.values, shape)
        return Foreign(values, self.library, is_view=True)

    def shared(self) -> npt.NDArray[Any] | None:
        """Return the values in NumPy without a copy, or None where they are not in its memory."""
        if not self.library.on_cpu or not hasattr(self.values, "__dlpack__"):
            return None
        try:
            return np.from_dlpack(self.values)
        except (BufferError, RuntimeError, TypeError):
            return None

    def to_numpy(self) -> npt.NDArray[Any]:
        """Return the values in NumPy."""
        return to_numpy(self.values)
