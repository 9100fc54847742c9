"""What weights are multiples of, and which values can be squared."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmpe.rows.checks import (
    LARGEST,
    check_range,
    check_some_size,
    check_weight_range,
    counted_weights,
    repeats,
)


@given(
    counts=st.lists(st.integers(0, 5), min_size=2, max_size=20).filter(lambda c: 1 in c),
    unit=st.floats(1e-6, 1e6),
)
def test_repeats_in_any_unit_are_counted(counts, unit):
    a = unit * np.array(counts, dtype=float)
    np.testing.assert_array_equal(counted_weights(a)[0], counts)


@pytest.mark.parametrize(("ratio", "unit"), [((2, 3), 1.0), ((4, 6, 10), 2.0), ((5, 6), 1.0)])
def test_weights_in_the_ratio_of_small_numbers_are_repeats(ratio, unit):
    assert counted_weights(np.array(ratio, dtype=float))[1] == pytest.approx(unit)


def test_of_other_weights_the_mean_is_the_unit():
    a = np.array([0.0, 1.0, np.pi, np.e])
    assert counted_weights(a)[1] == pytest.approx(a[1:].mean())


def test_weights_must_not_all_be_zero():
    with pytest.raises(ValueError, match="every sample_weight is zero"):
        check_weight_range(np.zeros(3))
    np.testing.assert_array_equal(check_weight_range(np.array([0.0, 1.0])), [0, 1])


@pytest.mark.parametrize("unit", [1e200, 1e-200, 1e308, 5e-324])
def test_weights_in_a_unit_that_squares_do_not_hold_are_refused(unit):
    with pytest.raises(ValueError, match=r"sample_weight has values as large as .* divide it"):
        check_weight_range(np.array([0.0, unit, unit]))


def test_weights_of_rounding_size_beside_others_are_zero():
    a = np.array([1e12, 1e-12, 1.0, 0.0])
    np.testing.assert_array_equal(check_weight_range(a), [1e12, 0, 1.0, 0.0])


def test_weights_too_far_apart_to_be_counts_are_no_repeats():
    a = np.array([1.0, 3.0 + 1e-3, 1e9])
    assert repeats(a) is None
    assert counted_weights(a)[1] == a.mean()


@pytest.mark.parametrize("value", [1e-160, -1e-200, 5e-324])
def test_values_that_all_vanish_when_squared_are_refused(value):
    with pytest.raises(ValueError, match=r"y has no value above .*: rescale y"):
        check_some_size(np.array([0.0, value]), "y")
    check_some_size(np.array([1.0, value]), "y")
    check_some_size(np.zeros(2), "y")


@pytest.mark.parametrize("value", [2 * LARGEST, -2 * LARGEST, np.nan, np.inf])
def test_values_that_overflow_when_squared_are_refused(value):
    with pytest.raises(ValueError, match=r"X has values as large as .*: rescale X"):
        check_range(np.array([1.0, value]), "X", "rescale X")
    check_range(np.array([LARGEST, -LARGEST]), "X", "rescale X")


def test_targets_whose_squares_overflow_in_the_unit_of_the_weights_are_refused():
    T = np.full((3, 1), 1e120)
    assert counted_weights(np.full(3, 1e20), T)[1] == 1e20
    with pytest.raises(ValueError, match=r"y, times the root of sample_weight, has values as lar"):
        counted_weights(np.full(3, 1e100), T)


def test_weights_are_the_same_in_every_unit():
    rng = np.random.default_rng(0)
    for a in rng.uniform(0.5, 2, (1000, 400)):
        np.testing.assert_array_equal(counted_weights(7.3 * a)[0], counted_weights(a)[0])
