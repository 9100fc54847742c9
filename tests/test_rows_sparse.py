"""Sparse rows that are dense when they are asked for."""

import numpy as np
from scipy.sparse import random_array

from kmpe.rows.sparse import Dense


def test_slices_and_numbers_of_rows_are_dense():
    X = random_array((30, 5), density=0.3, format="csr", rng=np.random.default_rng(0))
    rows = Dense(X)
    assert (len(rows), rows.shape, rows.dtype) == (30, (30, 5), X.dtype)
    np.testing.assert_array_equal(rows[3:7], X.toarray()[3:7])
    np.testing.assert_array_equal(rows[np.array([9, 2])], X.toarray()[[9, 2]])
