"""Validation of inputs: as a whole if they are in memory, otherwise block by block.

Inputs may be anything with a shape and row slices, such as a memory map, an HDF5 or a zarr array.
"""

import numbers
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeGuard

import numpy as np
import numpy.typing as npt
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    check_consistent_length,
    validate_data,
)

from kmpe.arrays import Array
from kmpe.estimators.collections import is_dask
from kmpe.estimators.devices import is_dispatched, is_foreign, library_name
from kmpe.foreign import Foreign
from kmpe.losses import Loss
from kmpe.rows.checks import check_range, check_some_size, check_some_weight, check_weight_range
from kmpe.rows.files import Reader

__all__ = [
    "RobustnessWarning",
    "all_or_nothing",
    "check_loss",
    "check_number",
    "check_targets",
    "check_verbose",
    "check_weights",
    "check_whole_number",
    "is_read_by_block",
    "is_whole",
    "read",
    "read_with_targets",
    "refuse_elsewhere",
    "set_parameters",
]

_PRECISIONS = [np.float64, np.float32]


class RobustnessWarning(UserWarning):
    """A fit could not guard against something, or fell back to a more cautious answer."""


@contextmanager
def all_or_nothing(estimator: BaseEstimator) -> Iterator[None]:
    """Restore an estimator if what is done to it fails or is interrupted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


def read(estimator: BaseEstimator, X: Any, *, reset: bool, **checks: Any) -> Any:
    """Return X checked, or a reader that checks its blocks; ``checks`` as in check_array."""
    if isinstance(X, Foreign):
        return X
    refuse_elsewhere(estimator, X)
    if is_read_by_block(X):
        return validate_data(estimator, Reader(X), reset=reset, skip_check_array=True)
    return validate_data(estimator, X, reset=reset, dtype=_PRECISIONS, **checks)


def read_with_targets(
    estimator: BaseEstimator, X: Any, y: Any, *, numeric: bool, reset: bool
) -> tuple[Any, npt.NDArray[Any]]:
    """Return X as `read` does, and y checked; numeric targets may have several columns."""
    refuse_elsewhere(estimator, X, y)
    if is_read_by_block(X):
        X = read(estimator, X, reset=reset)
        y = _check_y(y, multi_output=numeric, y_numeric=numeric, estimator=estimator)
        check_consistent_length(X, y)
        return X, y
    X, y = validate_data(
        estimator,
        X,
        y,
        accept_sparse="csr",
        dtype=_PRECISIONS,
        multi_output=numeric,
        y_numeric=numeric,
        reset=reset,
    )
    return X, y


def refuse_elsewhere(estimator: BaseEstimator, *given: Any) -> None:
    """Refuse Dask collections and device arrays where they would have to be read into memory."""
    for some in filter(is_dispatched, given):
        raise ValueError(
            f"{type(estimator).__name__} computes with NumPy here, and was given an array of "
            f"{library_name(some)} under array_api_dispatch: give it as a NumPy array"
        )
    if any(is_dask(some) for some in given):
        raise ValueError(
            f"{type(estimator).__name__} takes rows in memory or in files here, and was given a "
            "Dask collection, which is never converted silently: give X.compute(), or a part of it"
        )


def is_read_by_block(X: object) -> bool:
    """Return whether X is to be read by slices; arrays, sparse matrices and data frames are not."""
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap) and X.ndim == 2
    if issparse(X) or hasattr(X, "columns") or is_foreign(X):
        return False
    sliceable = hasattr(X, "shape") and hasattr(X, "__getitem__")
    return sliceable and len(X.shape) == 2  # type: ignore[attr-defined]


def check_targets(y: npt.NDArray[Any]) -> Array:
    """Return numeric targets as an array of shape (n, q) whose squares are numbers."""
    T = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
    check_range(T, "y", "rescale y")
    check_some_size(T, "y")
    return T


def check_weights(sample_weight: npt.ArrayLike | None, X: Any) -> Array:
    """Return the sample weights, all 1 if none are given."""
    n = X.shape[0]
    if sample_weight is None:
        return np.broadcast_to(np.float64(1.0), n)
    check_some_weight(np.asarray(sample_weight))
    a = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return check_weight_range(np.asarray(a))


def is_whole(value: object) -> TypeGuard[int]:
    """Return whether this is an integer other than True and False."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def check_loss(loss: object) -> None:
    """Refuse anything that is neither a loss nor "adaptive"."""
    if not (isinstance(loss, Loss) or (isinstance(loss, str) and loss == "adaptive")):
        raise ValueError(f'loss={loss!r} must be "adaptive" or a loss such as kmpe.KMPE(p=2)')


def set_parameters(self: Any, **params: Any) -> Any:
    """Set parameters of an estimator that has a loss; those of the loss as ``loss__p``."""
    loss = params.get("loss", self.get_params(deep=False)["loss"])
    of_loss = [name for name in params if name.startswith("loss__")]
    if of_loss and not isinstance(loss, Loss):
        raise ValueError(
            f"{of_loss[0]!r} is a parameter of a loss, and loss={loss!r} is none: give one, as in "
            f"{type(self).__name__}(loss=kmpe.KMPE())"
        )
    return BaseEstimator.set_params(self, **params)


def check_whole_number(name: str, value: object, *, auto: bool = False) -> None:
    """Refuse anything but an integer of at least 1, or "auto" where that is allowed."""
    if auto and isinstance(value, str) and value == "auto":
        return
    if not is_whole(value) or value < 1:
        or_auto = ' or "auto"' if auto else ""
        raise ValueError(f"{name}={value!r} must be a whole number of at least 1{or_auto}")


def check_verbose(verbose: object) -> None:
    """Refuse anything but an integer of at least 0."""
    if not (isinstance(verbose, bool) or (is_whole(verbose) and verbose >= 0)):
        raise ValueError(f"verbose={verbose!r} must be 0, for silence, or 1")


def check_number(name: str, value: object, *, zero: bool = False, auto: bool = False) -> None:
    """Refuse anything but a finite number above 0 (or 0), or "auto" where that is allowed."""
    if auto and isinstance(value, str) and value == "auto":
        return
    real = isinstance(value, numbers.Real) and 0 <= float(value) < np.inf
    if not real or (value == 0 and not zero):
        least = "0 or above" if zero else "above 0"
        or_auto = ', or "auto"' if auto else ""
        raise ValueError(f"{name}={value!r} must be a number {least}{or_auto}")
