"""Columns are what a reader would take them for, and what is done to them is said."""

import numpy as np
import pandas as pd
import pytest

from kmpe.table.columns import MISSING, cleaned, describe, display_names, numbers, preparation


def kind(values: list) -> tuple[str, str]:
    (column,) = describe(pd.DataFrame({"x": values}))
    return column.kind, column.done


@pytest.mark.parametrize(
    ("values", "expected", "said"),
    [
        ([1, 2, 3], "number", "as it is"),
        ([1.5, np.nan, 3], "number", "missing values become the median"),
        ([True, False, True], "number", "0 and 1"),
        (["1", "2", "3.5"], "number", "as it is"),
        (["1,234", "5", "2,000,000"], "number", "thousands separators removed (1,234 is 1234)"),
        (["1,5", "2,25", "3"], "number", "decimal marks (1,5 is 1.5)"),
        (["1.234,5", "2,25"], "number", "decimal marks (1.234,5 is 1234.5)"),
        ([*map(str, range(30)), "n.k."], "number", "1 value is not a number ('n.k.')"),
        ([1.0, np.inf, 2.0], "number", "1 infinite values count as missing"),
        (["a", "b", "a"], "category", "but the commonest, a"),
        (["a", None, "a"], "category", MISSING),
        (["1", "b", "c"], "category", ""),
        ([f"word {i}" for i in range(50)], "left out", "text"),
        ([*"abcdefghijklmnopqrstuvwxyz"] * 4, "category", "the rarest of 26 are merged"),
        ([None, None], "left out", "no values"),
        ([np.inf, np.inf], "left out", "no finite values"),
        ([3, 3, 3], "left out", "always the same"),
        (["a", "a"], "left out", "always the same"),
        ([pd.Timestamp("2020-01-01"), pd.Timestamp("2021-05-01")], "date", "days since 1970-01-01"),
        ([pd.Timedelta(days=1), pd.Timedelta(hours=12)], "number", "days"),
    ],
)
def test_kinds(values: list, expected: str, said: str) -> None:
    found, done = kind(values)
    assert found == expected
    assert said in done


def test_dates_are_days_whatever_their_zone() -> None:
    days, _ = numbers(pd.Series(pd.to_datetime(["1970-01-02", "1970-01-03T12:00"], format="mixed")))
    assert days is not None
    assert days.tolist() == [1.0, 2.5]
    zoned, _ = numbers(pd.Series(pd.to_datetime(["1970-01-02T01:00+01:00"])))
    assert zoned is not None
    assert zoned.tolist() == [1.0]


def test_cleaning_has_no_memory() -> None:
    frame = pd.DataFrame({"a": ["1,000", "x", "3"], "b": ["u ", None, "v"]})
    whole = cleaned(frame, ["a"], ["b"])
    assert whole["b"].tolist() == ["u", MISSING, "v"]
    assert np.isnan(whole["a"]).all()  # two of three are no numbers, or nearly
    np.testing.assert_array_equal(cleaned(frame.iloc[[0]], ["a"], ["b"])["a"], [1000.0])


def test_prepared_columns_have_names_in_words() -> None:
    frame = pd.DataFrame({"a": [1.0, np.nan, 3.0, 4.0], "a_b": ["u", "v", "u", "w"]})
    prepared = preparation(frame, ["a"], ["a_b"])
    values = prepared.fit_transform(frame)
    assert display_names(prepared, ["a_b"]) == ["a", "a is missing", "a_b = v", "a_b = w"]
    np.testing.assert_array_equal(values[1], [3, 1, 1, 0])
