"""The promises. Each is a function of a case and its fitted model, and raises when it is broken.

`ALWAYS` are looked at in every fit; of `PAIRED`, which compare two fits, each case has one.
"""

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.abuse.cases import Case
from benchmarks.abuse.containers import CONTAINERS
from benchmarks.abuse.fitting import BrokenError, EdgeError, Fits, Promise
from kmpe import MPE

_FINITE = (
    "coef_",
    "intercept_",
    "components_",
    "mean_",
    "explained_variance_",
    "weights_",
    "trust_",
    "history_",
    "scale_",
    "alpha_",
)
# Predictions of two fits that should be equal differ by less than this share of the spread of the
# targets: rounding that iterations enlarge.
_EQUAL = 1e-4
# Where loss or penalty were chosen in turns with the fit, by less than this share of the noise.
_CHOSEN = 0.1


def finite(case: Case, model: Any, _: Fits) -> None:
    """Check that the numbers of the model, and its predictions, are finite."""
    for name in _FINITE:
        value = getattr(model, name, None)
        if value is not None and not np.isfinite(value).all():
            raise BrokenError(f"finite or a sentence: {name} is not finite")
    if not np.isfinite(_output(model, case.X)).all():
        raise BrokenError("finite or a sentence: predictions are not finite")


def cost_never_rises(case: Case, model: Any, _: Fits) -> None:  # noqa: ARG001
    """Check that no step raises the cost."""
    history = np.asarray(getattr(model, "history_", []))
    rises = np.diff(history) > 1e-12 * np.abs(history[:-1]) if len(history) else []
    if np.any(rises):
        raise BrokenError(f"cost never rises: it does at step {int(np.argmax(rises)) + 1}")


def intervals_have_a_width(case: Case, model: Any, _: Fits) -> None:
    """Check that intervals have a width unless the fit is exact."""
    if case.estimator not in ("linear", "elm"):
        return
    residuals = np.abs(case.y - _output(model, case.X))
    size = np.abs(case.y).max(initial=0.0)
    counted = np.ones(len(case.X), bool) if case.a is None else case.a > 0
    typical = np.median(residuals[counted])
    if not typical > 1e-9 * size:
        return
    _, low, high = model.predict(case.inputs(), return_interval=0.9)
    if not np.all(high - low > 0):
        raise BrokenError("intervals have a width: a prediction interval has none")
    if np.any(np.diagonal(getattr(model, "coef_cov_", np.eye(1)), axis1=-2, axis2=-1) == 0):
        raise BrokenError("intervals have a width: a confidence interval has none")


def same_in_any_container(case: Case, model: Any, fits: Fits) -> None:
    """Check that the container of X does not matter."""
    if case.container != "array" and CONTAINERS[case.container].exact:
        _same_digits(case, fits, model, fits.fit(case.plain()), "same in any container")


def row_order(case: Case, model: Any, fits: Fits) -> None:
    """Check that the order of the rows, in a stream of those of each batch, does not matter."""
    order = np.random.default_rng(case.seed).permutation(len(case.X))
    if case.batch is not None:
        order = order[np.argsort(case.batch[order], kind="stable")]
    if case.estimator != "conformal":  # whose folds are drawn by position
        _same_digits(case, fits, model, fits.fit(case.plain().rows(order)), "row order")


def unit_of_weights(case: Case, model: Any, fits: Fits) -> None:
    """Check that the unit of the weights does not matter, but beside a given penalty."""
    if case.a is not None and "alpha" not in case.options and case.estimator != "stream":
        other = fits.fit(replace(case.plain(), a=7.3 * case.a))
        _same_digits(case, fits, model, other, "unit of weights")


def weights_are_repeats(case: Case, model: Any, fits: Fits) -> None:
    """Check that a row of weight 2 is two equal rows."""
    if case.weights not in ("counts", "counts and zeros") or case.estimator == "conformal":
        return
    if 1 not in case.a:  # only ratios of weights matter
        return
    repeats = np.repeat(np.arange(len(case.X)), case.a.astype(int))
    other = replace(case.plain().rows(repeats), a=None)
    if case.estimator == "classifier" and len(np.unique(other.y)) < len(np.unique(case.y)):
        return
    _same_digits(case, fits, model, fits.fit(other), "weights are repeats")


def targets_in_eighths(case: Case, model: Any, fits: Fits) -> None:
    """Check that no digit changes where the unit of y is eight times as large or as small.

    MPE has no σ: it takes powers of other numbers, which are rounded otherwise. So are the
    logarithms of densities that the choice of a loss compares: nine digits there.
    """
    if isinstance(case.loss, MPE):
        return
    if case.estimator in ("linear", "elm", "stream") and _scale_free(case):
        factor = 0.125 if np.abs(case.y).max(initial=0.0) > 1 else 8.0
        other = fits.fit(replace(case.plain(), y=factor * case.y))
        if case.loss == "default":
            _same(case, fits, model, other, "targets in eighths", lambda P: P / factor, close=1e-9)
        else:
            _same_digits(case, fits, model, other, "targets in eighths", factor)


def targets_in_any_unit(case: Case, model: Any, fits: Fits) -> None:
    """Check that predictions follow where y becomes ay + b."""
    if case.estimator not in ("linear", "elm") or not _scale_free(case):
        return
    shift = case.estimator == "linear" and case.options.get("fit_intercept", True)
    size = float(np.abs(case.y).max(initial=0.0)) or 1.0
    factor, b = -3.7, 0.9 * size if shift else 0.0
    other = fits.fit(replace(case.plain(), y=factor * case.y + b))
    _same(case, fits, model, other, "targets in any unit", lambda P: (P - b) / factor)


def inputs_in_any_basis(case: Case, model: Any, fits: Fits) -> None:
    """Check that predictions of a linear regression are the same where X becomes XA.

    Where rows are enough to tell bad leverage from good, to a tenth of the noise: the directions
    along which a start looks for it are those of the inputs.
    """
    n, d = case.X.shape
    if case.estimator != "linear" or "alpha" in case.options or not case.benign or n < 10 * d:
        return
    A = np.random.default_rng(case.seed).normal(size=(d, d)) + 2 * np.eye(d)
    if np.linalg.cond(A) < 100:
        # XA has digits that a small type does not hold.
        other = fits.fit(replace(case, X=case.X @ A, container="array"))
        close = _EQUAL if case.loss != "default" and case.loss.convex else None
        _same(case, fits, model, other, "inputs in any basis", X=case.X @ A, close=close)


def rotation_and_scale(case: Case, model: Any, fits: Fits) -> None:
    """Check that a PCA turns with its rows, and grows with them unless σ has a unit."""
    n, d = case.X.shape
    if case.estimator != "pca" or not case.benign or d < 2 or n < 5 * d:
        return
    Q = np.linalg.qr(np.random.default_rng(case.seed).normal(size=(d, d)))[0]
    unit = 1e3 if _scale_free(case) else 1.0
    other = fits.fit(replace(case, X=unit * case.X @ Q, container="array"))
    if other.n_components_ != model.n_components_:
        raise BrokenError("rotation and scale: the number of components changes")
    shares = [m.explained_variance_.sum() for m in (model, other)]
    if not np.isclose(shares[1], unit**2 * shares[0], rtol=0.1):
        raise BrokenError(f"rotation and scale: variances {shares[0]:.3g} and {shares[1]:.3g}")


def unchanged_by_a_failure(case: Case, model: Any, fits: Fits) -> None:
    """Check that a fit that fails leaves the model as it was."""
    before = _output(model, case.X)
    spoilt = case.X.copy()
    spoilt[-1, -1] = np.inf
    fits.count += 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if case.batch is not None:
                model.partial_fit(spoilt, case.y)
            else:
                model.fit(spoilt) if case.y is None else model.fit(spoilt, case.y)
    except ValueError:
        if not np.array_equal(_output(model, case.X), before):
            raise BrokenError("unchanged by a failure: predictions differ") from None
        return
    raise BrokenError("unchanged by a failure: infinity was accepted")


ALWAYS: tuple[Promise, ...] = (finite, cost_never_rises, intervals_have_a_width)
PAIRED: tuple[Promise, ...] = (
    same_in_any_container,
    row_order,
    unit_of_weights,
    weights_are_repeats,
    targets_in_eighths,
    targets_in_any_unit,
    inputs_in_any_basis,
    rotation_and_scale,
    unchanged_by_a_failure,
)


def _output(model: Any, X: np.ndarray) -> np.ndarray:
    """Return what a model makes of rows: predictions, class scores, or distances of a PCA."""
    with warnings.catch_warnings():
        # An array has not the names of the columns that a data frame had.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for name in ("decision_function", "predict", "reconstruction_errors"):
            if hasattr(model, name):
                return np.asarray(getattr(model, name)(X))
    raise TypeError(f"{model} says nothing of rows")


def _scale_free(case: Case) -> bool:
    """Whether nothing that was given has a unit."""
    if isinstance(case.options.get("alpha"), float) and case.options["alpha"] > 0:
        return False
    if case.estimator == "stream":  # has a penalty of 0.001
        return case.loss == "default"
    return case.loss == "default" or case.loss.has_rule or case.loss == type(case.loss)()


def _same_digits(
    case: Case, fits: Fits, one: Any, other: Any, promise: str, factor: float = 1.0
) -> None:
    """Compare the digits of the predictions of two fits, of which one is a factor larger.

    A PCA does not put equal rows together, and reads sparse matrices and files as they are: there
    it is the same but for rounding.
    """
    by_block = case.container in ("csr", "csc", "coo", "memory map")
    if case.y is None and (promise != "row order" or by_block):
        _same(case, fits, one, other, promise)
        return
    P, Q = _output(one, case.X), _output(other, case.X) / factor
    if not np.array_equal(P, Q):
        difference, size = float(np.abs(P - Q).max(initial=0.0)), _size(case)
        raise BrokenError(f"{promise}: predictions differ by {difference:.2g}, of {size:.2g}")


def _same(
    case: Case,
    fits: Fits,
    one: Any,
    other: Any,
    promise: str,
    back: Any = None,
    X: Any = None,
    close: Any = _EQUAL,
) -> None:
    """Compare the predictions of two fits, or with a ``close`` of None their distance in noise.

    Not where one says that it has not ended.
    """
    if any(issubclass(warning.category, ConvergenceWarning) for warning in fits.warned):
        return
    fits.compared += 1
    P, Q = _output(one, case.X), _output(other, case.X if X is None else X)
    rounding = 1e-9 * max(np.abs(P).max(initial=0.0), np.abs(Q).max(initial=0.0))
    Q = Q if back is None else back(Q)
    size = _size(case)
    if close is None:
        size, close = float(one.scale_), _CHOSEN
    difference = float(np.abs(P - Q).max(initial=0.0))
    if difference <= max(close * size, rounding):
        return
    sentence = f"{promise}: predictions differ by {difference:.2g}, of {size:.2g}"
    if _moved_by_rounding(case, fits, P, difference):
        raise EdgeError(sentence)
    raise BrokenError(sentence)


def _moved_by_rounding(case: Case, fits: Fits, P: np.ndarray, difference: float) -> bool:
    """Return whether the last digit of the data moves the predictions by a tenth as much.

    Then a choice lies on an edge, such as which of two minima of equal cost is found, or whether a
    row is trimmed, and no arithmetic of so many digits could promise more. How many fits do is in
    the closing table.
    """
    rng = np.random.default_rng(case.seed)
    for k in range(10):
        if case.y is None:
            other = replace(case.plain(), X=_rounded_otherwise(case.X, rng, own=k % 2 == 0))
        else:
            other = replace(case.plain(), y=_rounded_otherwise(case.y, rng, own=k % 2 == 0))
        moved = np.abs(_output(fits.fit(other), case.X) - P).max(initial=0.0)
        if moved >= 0.1 * difference:
            return True
    return False


def _rounded_otherwise(values: np.ndarray, rng: np.random.Generator, *, own: bool) -> np.ndarray:
    """Return values, each of them a unit in its own last place away, or in that of the largest."""
    size = np.abs(values) if own else np.abs(values).max(initial=0.0)
    return values + np.finfo(np.float64).eps * size * rng.integers(-1, 2, values.shape)


def _size(case: Case) -> float:
    """Return the spread of the targets, of a PCA that of the rows."""
    if case.y is None:
        return float(np.linalg.norm(case.X - case.X.mean(axis=0), axis=1).max())
    if case.estimator == "classifier":
        return 1.0
    return float(np.ptp(case.y, axis=0).max()) or float(np.abs(case.y).max())
