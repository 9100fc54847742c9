"""Arrays of other libraries given to estimators, under scikit-learn's ``array_api_dispatch``.

Passes over the rows run in the library of X, on its device, and so does a prediction. Arrays that a
fit leaves are of that library as well. y and sample weights follow X, wherever they are.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from sklearn import config_context, get_config
from sklearn.base import BaseEstimator, clone
from sklearn.utils._array_api import get_namespace_and_device
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

from kmpe.arrays import Array
from kmpe.foreign import Foreign, Library, to_numpy
from kmpe.rows.checks import (
    check_range,
    check_some_size,
    check_some_weight,
    check_weight_range,
    counted_weights,
)
from kmpe.rows.device import DeviceRows
from kmpe.rows.source import Block

__all__ = [
    "GivenArrays",
    "check_same_library",
    "given_arrays",
    "in_numpy",
    "is_dispatched",
    "is_foreign",
    "library_name",
    "named",
    "on_device",
]


def is_foreign(X: object) -> bool:
    """Return whether X is an array of another library than NumPy."""
    known = hasattr(X, "__dlpack__") or hasattr(X, "__array_namespace__")
    return known and not isinstance(X, np.ndarray | np.generic)


def library_name(array: object) -> str:
    """Return the name of the library that an array is of."""
    return type(array).__module__.partition(".")[0]


def check_same_library(method: Callable[..., Any]) -> None:
    """Refuse inputs of NumPy for a model of another library, as scikit-learn does."""
    estimator = method.__self__  # type: ignore[attr-defined]
    for value in vars(estimator).values():
        if is_foreign(value):
            raise ValueError(
                f"{type(estimator).__name__}.{method.__name__}() must use the same namespace as "
                f"fit, {library_name(value)}: give X as an array of it, under array_api_dispatch"
            )


def is_dispatched(X: object) -> bool:
    """Return whether X is an array of another library, and is to be computed with there."""
    return is_foreign(X) and bool(get_config().get("array_api_dispatch", False))


class GivenArrays(NamedTuple):
    """Rows of arrays of a library: raw inputs, the unit of their weights, and labels of classes."""

    rows: DeviceRows
    unit: float
    classes: npt.NDArray[Any] | None
    weights: Array | None

    def are_few(self, least: int) -> bool:
        """Whether the rows are no more than a sample of others would be."""
        return self.rows.n_counted < max(20_000, least)

    def in_memory(self) -> tuple[npt.NDArray[Any], Array, Array | None]:
        """Return inputs, targets and sample weights of all rows, where they are few."""
        rows = self.rows.fetched()
        return rows.X, rows.T, self.weights

    def lazy(self, values: npt.NDArray[Any], X: Any) -> Any:  # noqa: ARG002 - as of collections
        """Return a value of each row that was computed in memory."""
        return values

    def of_rows(
        self,
        facts: Callable[[Block], npt.NDArray[Any]],
        features: Any,  # noqa: ARG002 - as of collections
        X: Any,  # noqa: ARG002
        y: Any,  # noqa: ARG002
        sample_weight: Any,  # noqa: ARG002
        centre: npt.NDArray[Any] | float = 0.0,
        unit: float = 1.0,  # noqa: ARG002
        *,
        kept: Any = None,
    ) -> Any:
        """Return what ``facts`` says of each row; targets less a centre.

        Features and weights are those of the rows that were fitted, ``kept``, which have them.
        """
        rows: DeviceRows = self.rows if kept is None else kept
        return replace(rows, T=self.rows.T - centre).values(facts)

    def finish(self, estimator: BaseEstimator) -> None:
        """Make the arrays that a fit has left arrays of the library."""
        library: Library = self.rows.X.library
        for name, value in vars(estimator).items():
            if isinstance(value, Foreign):
                setattr(estimator, name, value.values)
            elif isinstance(value, np.ndarray):
                setattr(estimator, name, _out(value, library))


def given_arrays(
    estimator: BaseEstimator, X: Any, y: Any, sample_weight: Any, *, labels: bool = False
) -> GivenArrays:
    """Check arrays of a library, and return them for a fit."""
    inputs = _checked(estimator, X, reset=True)
    check_range(inputs, "X", "rescale X")
    library, n, classes = inputs.library, len(inputs), None
    if y is None:
        T = inputs[:, :0].astype(np.float64)
    elif labels:
        classes, codes = np.unique(_checked_column(y, numeric=False), return_inverse=True)
        T = (library.foreign(codes)[:, None] == np.arange(len(classes))).astype(np.float64)
    else:
        T = _targets(y, library)
        check_range(T, "y", "rescale y")
        check_some_size(T, "y")
    if len(T) != n:
        raise ValueError(f"X has {n} rows, and y has {len(T)}: they must be equally many")
    if sample_weight is None:
        return GivenArrays(DeviceRows(inputs, T, library.foreign(np.ones(n))), 1.0, classes, None)
    # One column, which is looked at once.
    with config_context(array_api_dispatch=False):
        given = check_some_weight(_host(sample_weight))
        a = _check_sample_weight(given, np.broadcast_to(0.0, (n, 1)), ensure_non_negative=True)
    a = check_weight_range(np.asarray(a, dtype=np.float64))
    counts, unit = counted_weights(a, T)
    return GivenArrays(DeviceRows(inputs, T, library.foreign(counts)), unit, classes, a)


def on_device(method: Callable[..., Any], X: Any, *options: Any) -> Any:
    """Return what a method of a fitted estimator returns for X, in the library of X."""
    estimator = method.__self__  # type: ignore[attr-defined]
    scores = method.__name__ == "inverse_transform"
    inputs = _as_foreign(X) if scores else _checked(estimator, X, reset=False)
    found = getattr(in_numpy(estimator), method.__name__)(inputs, *options)
    if not isinstance(found, tuple):
        return _out(found, inputs.library)
    values = [_out(value, inputs.library) for value in found]
    return type(found)(*values) if hasattr(found, "_fields") else tuple(values)


def in_numpy(estimator: Any) -> Any:
    """Return an estimator with the arrays of its fit in NumPy; itself if they are there."""
    if not any(is_foreign(value) for value in vars(estimator).values()):
        return estimator
    twin = clone(estimator)
    for name, value in vars(estimator).items():
        setattr(twin, name, to_numpy(value) if is_foreign(value) else value)
    return twin


def named(classes: npt.NDArray[Any], codes: Any) -> npt.NDArray[Any]:
    """Return the labels of codes, in the library of the codes if that has such labels."""
    if not isinstance(codes, Foreign):
        return np.asarray(classes[codes])
    numbers = classes.dtype.kind in "bif"
    labels: Any = codes.library.foreign(classes)[codes] if numbers else classes[codes.to_numpy()]
    return cast("npt.NDArray[Any]", labels)


def _checked(estimator: BaseEstimator, X: Any, *, reset: bool) -> Any:
    """Return inputs as scikit-learn has checked them, as a `Foreign` array."""
    xp, _, _ = get_namespace_and_device(X)
    return _as_foreign(validate_data(estimator, X, reset=reset, dtype=(xp.float64, xp.float32)))


def _as_foreign(X: Any) -> Foreign:
    """Return an array as a `Foreign` one, if its device has double precision."""
    xp, _, device = get_namespace_and_device(X)
    try:
        xp.zeros(1, dtype=xp.float64, device=device)
    except (TypeError, ValueError, RuntimeError) as error:
        raise ValueError(
            f"sums are taken in double precision, which the device {device} does not have: give X "
            "on the CPU"
        ) from error
    return Foreign(X, Library(xp, device))


def _targets(y: Any, library: Library) -> Any:
    """Return numeric targets of shape (n, q) in a library."""
    if not is_foreign(y):
        y = library.array(np.asarray(_checked_column(y, numeric=True), dtype=np.float64))
    elif get_namespace_and_device(y)[::2] != (library.xp, library.device):
        y = library.array(to_numpy(y))
    T = Foreign(y, library).astype(np.float64, copy=False)
    if not np.isfinite(T).all():
        raise ValueError("Input y contains NaN or infinity")
    return T.reshape(len(T), -1)


def _checked_column(y: Any, *, numeric: bool) -> npt.NDArray[Any]:
    """Return targets in NumPy, checked by scikit-learn."""
    with config_context(array_api_dispatch=False):
        checked: npt.NDArray[Any] = _check_y(_host(y), multi_output=numeric, y_numeric=numeric)
    return checked


def _host(values: Any) -> npt.NDArray[Any]:
    return to_numpy(values) if is_foreign(values) else np.asarray(values)


def _out(value: Any, library: Library) -> Any:
    """Return what a method gives as an array of the library, if that has such numbers."""
    if isinstance(value, Foreign):
        return value.values
    if isinstance(value, np.ndarray) and value.dtype.kind in "bif":
        return library.array(value)
    return value
