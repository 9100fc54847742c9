"""The distinct rows of a table in a canonical order.

Sums of the same numbers in another order differ in their last digits, and where a loss has several
minima these digits may decide which of them is found. A small table is therefore put into a
canonical form before it is fitted: rows are sorted by their targets and inputs, and equal rows
become one row whose weight is the sum of theirs. So the order of the rows, and whether a row is
repeated or weighted, changes no digit of a fit; nor does the container, as a small sparse table is
made dense.
"""

from typing import Any, NamedTuple

import numpy as np

from kmpe.arrays import Array, Index, Mask
from kmpe.rows.source import BLOCK_BYTES, is_sparse

__all__ = ["Arranged", "arranged", "falls", "ordered"]


class Arranged(NamedTuple):
    """A table in canonical form.

    Parameters
    ----------
    X, T, a
        Inputs, targets and weights of distinct rows.
    X0, T0
        Inputs and targets of the rows without weight.
    back : array of int, or slice
        The position of each given row among the former followed by the latter.
    """

    X: Any
    T: Array
    a: Array
    X0: Array
    T0: Array
    back: Index | slice


def arranged(X: Any, T: Array, a: Array) -> Arranged:
    """Return the distinct rows in canonical order, and separately those of weight 0.

    A table of more than one block stays as it is: sorting would copy all of it, and samples of it
    do not depend on the order of its rows (`kmpe.rows.sample`).
    """
    n, d = X.shape
    if 8 * n * d > BLOCK_BYTES:
        return Arranged(X, T, a, np.empty((0, d)), T[:0], slice(None))
    X = np.ascontiguousarray(X.toarray() if is_sparse(X) else X[:])
    order = np.argsort(T[:, -1], kind="stable")
    new = np.append(True, np.diff(T[order, -1]) > 0)
    counted = order[a[order] > 0]
    turned = falls(T[counted, -1], a[counted])
    if not (new.all() and a.all()):
        order, new = _told_apart(X, -T if turned else T, a)
    elif turned:
        order = order[::-1]
    back = np.empty(n, dtype=np.intp)
    back[order] = np.cumsum(new) - 1
    first = np.flatnonzero(new)
    a, kept = np.add.reduceat(a[order], first), order[first]
    counted, idle = kept[a > 0], kept[a == 0]
    return Arranged(X[counted], T[counted], a[a > 0], X[idle], T[idle], back)


def ordered(X: Any, a: Array) -> tuple[Index | slice, Index | slice]:
    """Return the canonical order of rows without targets, and its inverse permutation."""
    n, d = X.shape
    if not isinstance(X, np.ndarray) or 8 * n * d > BLOCK_BYTES:
        return slice(None), slice(None)
    order, _ = _told_apart(np.ascontiguousarray(X), np.zeros((n, 1)), a)
    return order, np.argsort(order)


def falls(t: Array, a: Array) -> bool:
    """Whether targets, given in increasing order, are put into decreasing order.

    The half of their range with fewer of them comes last. Then -y has the same order as y, and
    subsets that are drawn by index have the same rows.
    """
    first = np.flatnonzero(np.append(True, np.diff(t) > 0))
    counts = np.add.reduceat(a, first)
    above = t[first] - t[0]
    return bool(np.sum(counts * above) > 0.5 * np.sum(counts) * above[-1])


def _told_apart(X: Array, T: Array, a: Array) -> tuple[Index, Mask]:
    """Return the order of rows with ties among the targets, and which differ from the one before.

    A fixed linear combination of the inputs tells nearly all of them apart and is as fast to sort
    as one column.
    """
    # Not by BLAS: there the order of additions depends on the position of a row.
    mixture = np.einsum("ij,j->i", X, np.sqrt(np.arange(2.0, X.shape[1] + 2.0)))
    order = np.lexsort((a, mixture, *T.T, a == 0))
    new = _new(X, T, a, order)
    if np.any(new & ~_new(mixture[:, None], T, a, order)):
        order = np.lexsort((a, *X.T, *T.T, a == 0))
        new = _new(X, T, a, order)
    return order, new


def _new(X: Array, T: Array, a: Array, order: Index) -> Mask:
    """Return which rows differ from the one before in an order; those of weight 0 all do."""
    T = T[order]
    new = np.append(True, np.any(T[1:] != T[:-1], axis=1) | (a[order[1:]] == 0))
    alike = np.flatnonzero(~new)
    new[alike] = np.any(X[order[alike]] != X[order[alike - 1]], axis=1)
    return new
