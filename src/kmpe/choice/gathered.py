"""A sample of the rows in canonical order, and the scaling of its inputs."""

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
    """Some rows in canonical order: inputs, targets, and weights of mean 1."""

    X: Array
    Y: Array
    a: Array


def gathered(rows: Rows) -> tuple[Some, float, Index | None]:
    """Return a sample of at most 2000 rows, the unit of the weights, and the positions of all rows.

    Equal rows are merged into one with the sum of their weights.
    """
    # A covariance of 2000 rows is factorised in a second; their inputs take at most 64 MB.
    most = int(np.clip((64 << 20) // (8 * rows.n_features), 100, 2000))
    if rows.n_counted > most:
        # The positions increase, so that the rows come in their order.
        at = rows.at(strata(most))
        first = np.flatnonzero(np.append(True, at[1:] != at[:-1]))
        order, counts = at[first], np.diff(np.append(first, most)).astype(np.float64)
    else:
        order = rows.order
        counts = rows.a[order]
    block = rows.block(order)
    if falls(block.T[:, -1], counts):
        # Ties among candidates for nodes are broken by this order, which is the same for y and -y.
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
    """Return the scaling by medians and interquartile ranges.

    If half of the values of a column are equal, its size is the median deviation of the others:
    dummy variables become 0 and 1.
    """
    X, a = some.X, some.a
    d = X.shape[1]
    centre, per = np.zeros(d), np.zeros(d)
    for j in range(d):
        x = X[:, j]
        if not sparse:
            centre[j] = middle(x, a)
            x = x - centre[j]
        # Twice the interquartile range, computed symmetrically for x and -x.
        ranges = sum(quantile(v, 0.75, a) - quantile(v, 0.25, a) for v in (x, -x))
        size = 0.0 if sparse else float(ranges) / 2 / 1.349
        away = x != 0
        if size <= 0 and away.any():
            size = quantile(np.abs(x[away]), 0.5, a[away])
        if size > 1e-12 * abs(centre[j]):  # smaller sizes are rounding errors
            per[j] = 1 / size
    return Scaling(centre, per)
