"""The verdict: how many rows are outliers, and how they affect least squares."""

from typing import Any

import numpy as np

from kmpe.table.fitting import Fitted
from kmpe.table.written import written

__all__ = ["coefficient_rows", "share", "verdict"]


def verdict(fitted: Fitted) -> str:
    """Return a summary of a fit in a few sentences."""
    outliers = fitted.model[-1].outliers_
    n, k = len(outliers), int(outliers.sum())
    if fitted.task == "classification":
        against = int((outliers & (fitted.predicted != fitted.y)).sum())
        said = f"{share(against, n, 'has', 'have')} a {fitted.target} that similar rows contradict."
        more = k - against
        verb = "is" if more == 1 else "are"
        return (
            f"{said} {more:,} more {verb} close to the border between two classes."
            if more
            else said
        )
    said = f"{share(k, n)} not fit the others." if k else f"All {n:,} rows fit each other."
    if "linear" not in fitted.models:
        return said
    linear = fitted.models["linear"][-1].outliers_
    if fitted.chosen != "linear":
        said += f" {share(int(linear.sum()), n)} not fit a linear model."
    return f"{said} {_least_squares(fitted)}"


def share(k: int, n: int, one: str = "does", several: str = "do") -> str:
    """Return how many of the rows these are, and the verb that goes with them.

    Examples
    --------
    >>> share(1, 50), share(4, 50)
    ('1 of 50 rows (2.0%) does', '4 of 50 rows (8.0%) do')
    """
    return f"{k:,} of {n:,} rows ({k / n:.1%}) {one if k == 1 else several}"


def _least_squares(fitted: Fitted) -> str:
    robust, plain = (fitted.models[name][-1] for name in ("linear", "least squares"))
    inputs = fitted.prepared
    errors = np.sqrt(np.diagonal(robust.coef_cov_))[: len(robust.coef_)]
    with np.errstate(divide="ignore", invalid="ignore"):
        moved = np.nan_to_num((plain.coef_ - robust.coef_) / errors, posinf=0.0, neginf=0.0)
    j = int(np.argmax(np.abs(moved)))
    wide = _typical(fitted.y - plain.predict(inputs)) / _typical(fitted.y - robust.predict(inputs))
    if not robust.outliers_.any():
        return (
            "The slopes of least squares differ from the robust ones by at most "
            f"{abs(moved[j]):.1f} standard errors."
        )
    tail = f", and its median error {wide:.2g} times that of the robust fit" if wide > 0 else ""
    return (
        f"Least squares gives them full weight: its slope of “{fitted.names[j]}” is "
        f"{written(plain.coef_[j], 3)} instead of {written(robust.coef_[j], 3)}, "
        f"{abs(moved[j]):.1f} standard errors away{tail}."
    )


def _typical(residuals: Any) -> float:
    return float(np.median(np.abs(residuals))) or float("nan")


def coefficient_rows(fitted: Fitted) -> list[dict[str, Any]]:
    """Return robust coefficients beside those of least squares, for a table."""
    if "linear" not in fitted.models:
        return []
    both = []
    for name in ("linear", "least squares"):
        model = fitted.models[name][-1]
        limits = model.confidence_intervals()
        both.append([*zip([*model.coef_, model.intercept_], *limits.T, strict=True)])
    names = [*fitted.names, "intercept"]
    return [
        {"name": name, "robust": robust, "plain": plain}
        for name, robust, plain in zip(names, *both, strict=True)
    ]
