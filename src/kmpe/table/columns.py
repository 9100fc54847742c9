"""The types of the columns of a table: numbers, dates, categories, or not usable.

Cleaning has no memory: a number is a number in any table. What was learnt from the rows (medians,
categories) is in the pipeline that `preparation` returns.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder

from kmpe.table.written import written

__all__ = [
    "MISSING",
    "Column",
    "cleaned",
    "describe",
    "display_names",
    "numbers",
    "preparation",
]

#: The category of cells that are empty.
MISSING = "(missing)"
# Categories beyond so many are put together: each costs a coefficient.
_MOST_CATEGORIES = 20
_THOUSANDS = r"[+-]?\d{1,3}(?:[,' \u00a0\u202f]\d{3})+(?:\.\d+)?"
_DECIMAL_COMMA = r"[+-]?\d{1,3}(?:\.\d{3})*,\d+|[+-]?\d+,\d+"


@dataclass(frozen=True)
class Column:
    """A column and what becomes of it.

    Parameters
    ----------
    name : str
        Its name.
    kind : {"number", "date", "category", "left out"}
        What it is.
    missing : int
        How many of its cells are empty.
    values : str
        What its values are like.
    done : str
        What was done to it.
    """

    name: str
    kind: str
    missing: int
    values: str
    done: str

    @property
    def is_input(self) -> bool:
        """Whether the models see it."""
        return self.kind != "left out"


def numbers(values: pd.Series) -> tuple[pd.Series | None, str]:
    """Return a column as numbers, and what was assumed; None if it does not hold numbers."""
    if pd.api.types.is_bool_dtype(values):
        return values.astype(np.float64), "no and yes are 0 and 1"
    if pd.api.types.is_datetime64_any_dtype(values):
        days = (values - pd.Timestamp(0, tz=values.dt.tz)) / pd.Timedelta(days=1)
        return days.astype(np.float64), "days since 1970-01-01"
    if pd.api.types.is_numeric_dtype(values):
        return values.astype(np.float64), ""
    if pd.api.types.is_timedelta64_dtype(values):
        return values.dt.total_seconds() / 86400, "days"
    return _numbers_in_words(values)


def _numbers_in_words(values: pd.Series) -> tuple[pd.Series | None, str]:
    """Return words as numbers where nearly all of them are; how thousands and decimals look."""
    words = values.map(lambda cell: cell if pd.isna(cell) else str(cell).strip())
    words = words.replace("", None)
    here = words.dropna()
    if here.empty:
        return None, ""
    plain = pd.to_numeric(here, errors="coerce")
    odd = here[plain.isna()].astype(str)
    commas, grouped = odd.str.fullmatch(_DECIMAL_COMMA), odd.str.fullmatch(_THOUSANDS)
    said = []
    if commas.any() and not (grouped & ~commas).any() and (commas & ~grouped).any():
        mended = odd[commas].str.replace(".", "", regex=False).str.replace(",", ".", regex=False)
        plain[mended.index] = pd.to_numeric(mended)
        said.append(
            f"commas are decimal marks ({odd[commas].iloc[0]} is {plain[mended.index[0]]:g})"
        )
    elif grouped.any():
        mended = odd[grouped].str.replace(r"[,' \u00a0\u202f]", "", regex=True)
        plain[mended.index] = pd.to_numeric(mended)
        said.append(
            f"thousands separators removed ({odd[grouped].iloc[0]} is {plain[mended.index[0]]:g})"
        )
    slips = here[plain.isna()]
    if len(slips) > 0.1 * len(here):  # fewer are typing errors in a column of numbers
        return None, ""
    if len(slips):
        some = "value is not a number" if len(slips) == 1 else "values are not numbers"
        said.append(f"{len(slips)} {some} ({str(slips.iloc[0])[:20]!r}) and count as missing")
    return plain.reindex(values.index).astype(np.float64), "; ".join(said)


def describe(frame: pd.DataFrame) -> list[Column]:
    """Return the type of each column."""
    return [_describe(str(name), frame[name]) for name in frame.columns]


def _describe(name: str, values: pd.Series) -> Column:
    missing = int(values.isna().sum())
    if missing == len(values):
        return Column(name, "left out", missing, "", "no values")
    found, said = numbers(values)
    if found is not None:
        found = found.where(np.isfinite(found))
        infinite = int((found.isna() & ~values.isna()).sum()) if "missing" not in said else 0
        if infinite:
            said = "; ".join(filter(None, [said, f"{infinite} infinite values count as missing"]))
        missing = int(found.isna().sum())
        if missing == len(values):
            return Column(name, "left out", missing, "", "no finite values")
        is_date = pd.api.types.is_datetime64_any_dtype(values)
        shown = "{} ({} to {})".format(*map(written, (found.median(), found.min(), found.max())))
        shown = f"{values.min():%Y-%m-%d} to {values.max():%Y-%m-%d}" if is_date else shown
        if found.nunique() == 1:
            return Column(name, "left out", missing, shown, "always the same")
        if re.fullmatch(r"column 1|Unnamed: 0", name) and (found.diff().iloc[1:] == 1).all():
            return Column(name, "left out", missing, shown, "counts the rows")
        if missing:
            said = "; ".join(
                filter(None, [said, "missing values become the median, and are marked"])
            )
        return Column(name, "date" if is_date else "number", missing, shown, said or "as it is")
    return _describe_words(name, values, missing)


def _describe_words(name: str, values: pd.Series, missing: int) -> Column:
    words = values.dropna().map(str)
    counts = words.value_counts()
    levels = len(counts)
    some = ", ".join(f"{str(level)[:24]} ({count})" for level, count in counts.head(3).items())
    shown = f"{some}, ..." if levels > 3 else some
    if levels == 1 and not missing:
        return Column(name, "left out", missing, shown, "always the same")
    if levels > _MOST_CATEGORIES and levels > len(words) / 2:
        return Column(name, "left out", missing, f"{levels} different texts", "text")
    done = f"a coefficient for each category but the commonest, {str(counts.index[0])[:24]}"
    if levels > _MOST_CATEGORIES:
        done += f"; the rarest of {levels} are merged"
    if missing:
        done += f"; empty cells are the category {MISSING}"
    return Column(name, "category", missing, shown, done)


def cleaned(
    frame: pd.DataFrame, number_columns: Sequence[str], category_columns: Sequence[str]
) -> pd.DataFrame:
    """Return columns of numbers as floating-point, and categories as words without gaps."""
    parts: dict[str, Any] = {}
    for name in number_columns:
        found, _ = numbers(frame[name])
        if found is None:
            found = pd.Series(np.nan, frame.index)
        parts[name] = found.where(np.isfinite(found))
    for name in category_columns:
        words = frame[name].map(lambda cell: MISSING if pd.isna(cell) else str(cell).strip())
        parts[name] = words.astype(object)
    return pd.DataFrame(parts, index=frame.index)


def preparation(
    inputs: pd.DataFrame, number_columns: Sequence[str], category_columns: Sequence[str]
) -> ColumnTransformer:
    """Return the step that makes numbers of cleaned inputs, not fitted.

    Missing numbers become the median, with an indicator where the rows at hand lack some. A
    category is 0 or 1 for each but the commonest; one that was never seen counts as one of the rare
    ones, or as the commonest where there are none.
    """
    steps: list[Any] = []
    if number_columns:
        filler = SimpleImputer(strategy="median", add_indicator=True)
        steps.append(("numbers", filler, list(number_columns)))
    if category_columns:
        commonest = [inputs[name].value_counts().index[0] for name in category_columns]
        encoder = OneHotEncoder(
            drop=np.array(commonest, dtype=object),
            handle_unknown="infrequent_if_exist",
            max_categories=_MOST_CATEGORIES,
            sparse_output=False,
        )
        steps.append(("categories", encoder, list(category_columns)))
    return ColumnTransformer(steps)


def display_names(prepared: ColumnTransformer, category_columns: Sequence[str]) -> list[str]:
    """Return what the prepared columns are, in words."""
    return [_display(str(name), category_columns) for name in prepared.get_feature_names_out()]


def _display(name: str, category_columns: Sequence[str]) -> str:
    step, _, rest = name.partition("__")
    if step == "categories":
        column = max((c for c in category_columns if rest.startswith(f"{c}_")), key=len)
        level = rest[len(column) + 1 :]
        return f"{column} = {'any rare one' if level == 'infrequent_sklearn' else level}"
    if rest.startswith("missingindicator_"):
        return f"{rest.removeprefix('missingindicator_')} is missing"
    return rest
