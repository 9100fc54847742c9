"""The target, and the weight of each row."""

import numpy as np
import numpy.typing as npt
import pandas as pd

from kmpe.table.columns import numbers
from kmpe.table.errors import TableError

__all__ = ["row_weights", "targets"]


def targets(values: pd.Series, name: str, *, linear: bool) -> tuple[pd.Series, str, list[str]]:
    """Return the targets of the rows that have one, the task, and what was decided."""
    if values.isna().all():
        raise TableError(f"the target {name!r} has no values")
    found, said = numbers(values)
    is_words = found is None or bool(pd.api.types.is_bool_dtype(values))
    two = found is not None and found.nunique() == 2 and bool((found.dropna() % 1 == 0).all())
    notes = [f"{name}: {said}."] if said and not is_words else []
    if found is None or is_words or (two and not linear):
        if linear and found is None:
            raise TableError(f"the target {name!r} contains words: a linear model predicts numbers")
        task = "classification"
        y = values.dropna()
        y = y.map(lambda cell: str(cell).strip()) if is_words else y
        counts = y.value_counts()
        if len(counts) > max(20, len(y) / 10):
            raise TableError(
                f"the target {name!r} has {len(counts)} different words in {len(y)} rows: "
                "each category needs about ten rows"
            )
        if two and not is_words:
            notes.append(f"{name} has only two values and was treated as a category.")
    else:
        task = "regression"
        y = found.where(np.isfinite(found)).dropna()
    aside = len(values) - len(y)
    if aside:
        notes.append(f"{aside} of {len(values)} rows have no {name} and were set aside.")
    # With fewer than five the robust start cannot tell a good row from a bad one.
    if len(y) < 5:
        raise TableError(f"{len(y)} rows with a {name!r} are too few: 5 are needed")
    if y.nunique() == 1:
        raise TableError(
            f"the target {name!r} is always {y.iloc[0]!s}: there is nothing to predict"
        )
    return y, task, notes


def row_weights(values: pd.Series, name: str) -> npt.NDArray[np.float64]:
    """Return sample weights, or refuse a column that cannot be such."""
    found, _ = numbers(values)
    if found is None or found.isna().any() or (found < 0).any() or not np.isfinite(found).all():
        raise TableError(f"the weights {name!r} must be numbers, none missing and none below 0")
    if not (found > 0).any():
        raise TableError(f"the weights {name!r} are all 0")
    return found.to_numpy()
