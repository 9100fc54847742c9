"""Qn: the quantile of all distances, and the numbers of R's robustbase."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kmpe.losses.qn import _smallest_distance, qn

X = np.array([2.1, -0.3, 4.5, 1.1, 0.2, 7.7, -2.5, 3.3, 1.9, 0.05, 12.1, -3.3, 0.7])
# robustbase 0.99: Qn(x[1:n]) for n = 2 to 13.
ROBUSTBASE = (2.126944497216, 5.2921163064, 2.73332361456, 1.8729763514, 3.2605380192)
ROBUSTBASE += (4.19260788716, 3.56800430448, 3.29508559072, 3.03637381124, 3.74860235596)
ROBUSTBASE += (4.03402370448, 3.7043289460116)


@pytest.mark.parametrize("n", range(2, 14))
def test_few_values_have_the_scale_of_robustbase(n):
    assert qn(X[:n]) == pytest.approx(ROBUSTBASE[n - 2], rel=1e-12)


def test_many_values_have_the_scale_of_robustbase():
    i = np.arange(1, 201.0)
    y = 3 * np.sin(i) + i**2 / 5000
    assert qn(y) == pytest.approx(3.25895102053897, rel=1e-12)
    assert qn(y[:101]) == pytest.approx(2.20951724672514, rel=1e-12)


@settings(max_examples=60)
@given(x=arrays(np.float64, st.integers(2, 60), elements=st.floats(-1e6, 1e6)), data=st.data())
def test_it_is_the_kth_of_all_distances_with_ties_and_without(x, data):
    distances = np.sort(np.abs(x[:, None] - x)[np.triu_indices(len(x), 1)])
    k = data.draw(st.integers(1, len(distances)))
    assert _smallest_distance(np.sort(x), k) == distances[k - 1]


def test_half_of_the_values_may_be_anywhere():
    x = np.random.default_rng(0).standard_normal(1000)
    assert qn(x) == pytest.approx(1, abs=0.05)
    x[:490] = 1e9 * np.arange(490)
    assert qn(x) < 10
    assert qn(np.array([3.0])) == qn(np.full(9, 3.0)) == 0
