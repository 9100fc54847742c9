"""Rows at places of the order of all rows: the answer of one sort, whatever the parts are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmpe.rows import selection
from kmpe.rows.selection import are_tied, merged, ordered, select


class AtOnce:
    """Tasks that are done when they are asked for."""

    def start(self, values):
        return list(values)

    def map(self, work, *references):
        return [work(*some) for some in zip(*references, strict=True)]

    def fetch(self, references):
        return list(references)


def by_one_sort(keys, a, positions):
    whole = ordered(keys, a)
    at = np.searchsorted(whole.reached, positions * whole.reached[-1], side="right")
    return whole.keys[np.minimum(at, len(whole.keys) - 1)]


@settings(deadline=None, max_examples=30)
@given(
    n=st.integers(1, 20_000),
    distinct=st.integers(1, 1000),
    parts=st.integers(1, 8),
    places=st.integers(1, 50),
    seed=st.integers(0, 1000),
)
def test_selection_is_that_of_one_sort(n, distinct, parts, places, seed):
    rng = np.random.default_rng(seed)
    keys = np.column_stack(
        [rng.integers(0, distinct, n), rng.integers(0, 5, n), np.arange(n)]
    ).astype(float)
    a = rng.integers(0, 4, n).astype(float)
    a[0] = 1
    cuts = np.sort(rng.integers(0, n + 1, parts - 1))
    divided = [ordered(*part) for part in zip(np.split(keys, cuts), np.split(a, cuts), strict=True)]
    positions = rng.uniform(size=places)
    found = select(AtOnce(), divided, positions)
    np.testing.assert_array_equal(found, by_one_sort(keys, a, positions))


@pytest.mark.parametrize("value", [0.0, -3.5])
def test_of_equal_rows_the_number_decides(value):
    n = 50_000
    keys = np.column_stack([np.full(n, value), np.arange(float(n))])
    divided = [ordered(part, np.ones(len(part))) for part in np.array_split(keys, 3)]
    positions = np.array([0.0, 0.25, 0.9999])
    found = select(AtOnce(), divided, positions)
    np.testing.assert_array_equal(found[:, 1], np.floor(positions * n))


@pytest.mark.parametrize("most", [700, 2500, 10_000])
@pytest.mark.parametrize("distinct", [3, 10_000])
def test_merged_parts_select_as_one_sort_does(most, distinct, monkeypatch):
    rng = np.random.default_rng(0)
    n = 5000
    keys = np.column_stack([rng.integers(0, distinct, n), rng.integers(0, 9, n), np.arange(n)])
    keys, a = keys.astype(float), rng.integers(0, 3, n) * 0.37
    divided = [ordered(*part) for part in zip(np.split(keys, 10), np.split(a, 10), strict=True)]
    monkeypatch.setattr(selection, "MOST_KEPT", 8 * 4 * most)
    fewer = merged(AtOnce(), divided, [500] * 10, 3)
    assert len(fewer) == -(-n // (most // 500 * 500))
    positions = rng.uniform(size=40)
    np.testing.assert_array_equal(
        select(AtOnce(), fewer, positions), by_one_sort(keys, a, positions)
    )


def test_ties_are_found_within_and_between_parts():
    parts = [
        ordered(np.column_stack([t, np.arange(3.0) + i]), np.ones(3))
        for i, t in ((0, [1.0, 2.0, 2.0]), (3, [3.0, 1.0, 4.0]))
    ]
    for value, tied in ((1.0, True), (2.0, True), (3.0, False), (4.0, False)):
        assert are_tied(AtOnce(), parts, np.array([value, value])) == tied
