"""Some rows that stand for all, in an order of their own and inputs in one unit."""

from typing import NamedTuple

import numpy as np

from kmpe.arrays import Array, Index
from kmpe.losses.scale import middle, quantile
from kmpe.rows.arranged import falls
from kmpe.rows.kernel_nodes import Scaling
from kmpe.rows.sample import strata
from kmpe.rows.source import Block, Rows, is_sparse

__all__ = ["Some", "gathered", "scaling_of"]


class Some(NamedTuple):
    """Some rows in an order of their own: inputs, targets, and counts of mean 1."""

    X: Array
    Y: Array
    a: Array


def gathered(rows: Rows) -> tuple[Some, float, Index | None]:
    """Return at most 2000 rows that stand for all, the unit of the weights, and places of all rows.

    Equal rows are one that counts as often: given twice they tell no more than once.
    """
    # A covariance of 2000 rows is factored in a second; inputs of theirs take 64 MB at most.
    most = int(np.clip((64 << 20) // (8 * rows.n_features), 100, 2000))
    if rows.n_counted > most:
        # The places rise, and the rows at them come in their order.
        at = rows.at(strata(most))
        first = np.flatnonzero(np.append(True, at[1:] != at[:-1]))
        order, counts = at[first], np.diff(np.append(first, most)).astype(np.float64)
    else:
        order = rows.order
        counts = rows.a[order]
    block = rows.block(order)
    if falls(block.T[:, -1], counts):
        # Nodes are taken in this order where rows are as good as each other: -y has that of y.
        turn = np.lexsort((np.arange(len(order)), *-block.T.T))
        order, counts = order[turn], counts[turn]
        block = Block(block.H[turn], block.T[turn], block.a[turn])
    X = block.H.toarray() if is_sparse(block.H) else block.H
    changes = np.any(X[1:] != X[:-1], axis=1) | np.any(block.T[1:] != block.T[:-1], axis=1)
    first = np.flatnonzero(np.append(True, changes))
    counts = np.add.reduceat(counts, first)
    unit = float(counts.mean())
    some = Some(X[first], block.T[first], counts / unit)
    if rows.n_counted > most:
        return some, rows.n / rows.n_counted, None
    place = np.zeros(len(rows), dtype=np.intp)
    place[order] = np.cumsum(np.append(False, changes))
    return some, unit, place


def scaling_of(some: Some, *, sparse: bool) -> Scaling:
    """Return the map by medians and interquartile ranges.

    A column of which half of the values are equal is measured by the median deviation of the
    others: dummies become 0 and 1.
    """
    X, a = some.X, some.a
    d = X.shape[1]
    centre, per = np.zeros(d), np.zeros(d)
    for j in range(d):
        x = X[:, j]
        if not sparse:
            centre[j] = middle(x, a)
            x = x - centre[j]
        # Twice the interquartile range: minus the values have quartiles of their own.
        ranges = sum(quantile(v, 0.75, a) - quantile(v, 0.25, a) for v in (x, -x))
        size = 0.0 if sparse else float(ranges) / 2 / 1.349
        away = x != 0
        if size <= 0 and away.any():
            size = quantile(np.abs(x[away]), 0.5, a[away])
        if size > 1e-12 * abs(centre[j]):  # less is rounding
            per[j] = 1 / size
    return Scaling(centre, per)
