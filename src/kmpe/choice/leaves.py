"""Which rows a boosted fit should leave out: those far from it that no tree predicts.

A redescending loss about the current fit never learns a group of good rows that begins far from it
(targets that are 0 in one row of twenty-five), nor rows whose turn comes late. So rows with
residuals beyond σ are suspects, and are tried, as in cross-validation, while the fit learns. In
each round half of them are drawn to be held out: their gradient is 0. The others have a bounded
one, Huber's, from which a tree learns where they are. Rows whose prediction changes by the same
step are in the same leaf, so the next predictions show the tree. A suspect is cleared if

- most rows of its leaf agree with it, their residuals being within σ of its own, and
- more do than by chance: by three standard errors above the share of all rows that agree with it.

Suspects that the tree has seen do not count, since it may have grouped what is only alike by
chance; those held out count for both halves. A suspect that is cleared has its full weight in the
rounds in which it is not held out. Near rows have Tukey's biweight of their residuals about the
univariate MCD (Rousseeuw and Leroy 1987), which withstands rows moved in one direction.

A few suspects remain in any fit: the tail of what it has not learnt yet. Leaving them out costs at
most what they contribute to the squared error, and so does keeping gross errors, without a limit.
So suspects are left out only if their sum of squares exceeds that of all other rows about the
start: more than any fit could explain. Otherwise the round is one of least squares.
"""

from dataclasses import dataclass, field

import numpy as np

from kmpe.arrays import Array, Index, Mask
from kmpe.losses import Huber, Tukey
from kmpe.losses.scale import centred_scale

__all__ = ["LeafJudge", "agreeing", "leaves_of"]


@dataclass(eq=False)
class LeafJudge:
    """Weights of the rows in the rounds of one fit.

    Parameters
    ----------
    squares : array of shape (n,)
        Squares of the targets about the start.
    """

    squares: Array
    #: Beyond which residuals are far.
    sigma: float = 0.0
    centre: float = 0.0
    #: Rows that are left out, and those that are far, cleared or not.
    out: Mask = field(init=False)
    far: Mask = field(init=False)
    _predicted: Array | None = None
    _counts: Array = field(init=False)
    _rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def __post_init__(self) -> None:
        self.out = self.far = np.zeros(len(self.squares), dtype=bool)
        self._counts = np.ones(len(self.squares))

    def judge(self, r: Array, predicted: Array, a: Array) -> None:
        """Look at the residuals, and at the tree between these predictions and those before."""
        self.centre, scale = centred_scale(r, a)
        self.sigma = Tukey.efficient * scale
        far = np.abs(r - self.centre) > self.sigma
        out = far.copy()
        if self._predicted is not None and far.any():
            leaf = leaves_of(predicted, self._predicted)
            out[far] = ~_cleared(leaf, r, a, self._counts, self.sigma, far)
        gross = float(a[out] @ r[out] ** 2) > float(a[~out] @ self.squares[~out])
        self.far, self.out = far & gross, out & gross
        self._predicted = predicted.copy()  # boosters may write the next ones to the same place

    def derivatives(self, r: Array, trial: bool) -> tuple[Array, Array]:
        """Return slope and curvature of each row; in a trial half of the far rows are held out."""
        held = self.far & (self._rng.random(len(r)) < 0.5) if trial else self.out
        self._counts = np.where(self.far, np.where(held, 2.0, 0.0), 1.0)
        w = np.ones(len(r))
        if self.far.any():
            w = np.where(self.far, 1.0, Tukey(self.sigma).weight((r - self.centre) ** 2))
        most = Huber.efficient / Tukey.efficient * self.sigma
        slope = np.where(self.out, np.clip(r, -most, most), w * r)
        return np.where(held, 0.0, -slope), np.where(held, 0.0, w)


def leaves_of(after: Array, before: Array) -> Index:
    """Return the leaf of each row, from 0 on: rows whose predictions changed alike.

    Predictions may be rounded to single precision.

    Examples
    --------
    >>> leaves_of(np.array([1.5, 2.5, 4.0]), np.array([1.0, 2.0, 3.0]))
    array([0, 0, 1])
    """
    step = after - before
    order = np.argsort(step, kind="stable")
    digit = 4 * float(np.finfo(np.float32).eps) * float(np.abs(after).max())
    leaf = np.empty(len(step), dtype=np.intp)
    leaf[order] = np.concatenate([[0], np.cumsum(np.diff(step[order]) > digit)])
    return leaf


def agreeing(leaf: Index, r: Array, counts: Array, reach: float, rows: Mask) -> tuple[Array, Array]:
    """Return how many other rows of its leaf agree with each of some rows, and how many there are.

    Examples
    --------
    >>> leaf, r = np.array([0, 0, 0, 1]), np.array([1.0, 1.5, 9.0, 1.0])
    >>> agreeing(leaf, r, np.ones(4), 1.0, r < 9)
    (array([1., 1., 0.]), array([2., 2., 0.]))
    """
    # Residuals of each leaf have a range of their own, so that one search serves all leaves.
    place = r - r.min()
    place += leaf * (float(place.max()) + 3 * reach)
    order = np.argsort(place, kind="stable")
    total = np.concatenate([[0.0], np.cumsum(counts[order])])
    first = np.searchsorted(place[order], place[rows] - reach, "left")
    last = np.searchsorted(place[order], place[rows] + reach, "right")
    mates = np.bincount(leaf, counts)[leaf[rows]]
    return total[last] - total[first] - counts[rows], mates - counts[rows]


def _cleared(leaf: Index, r: Array, a: Array, counts: Array, reach: float, far: Mask) -> Mask:
    """Return which of the far rows agree with their leaf, beyond chance."""
    alike, others = agreeing(leaf, r, a * counts, reach, far)
    everywhere = agreeing(np.zeros_like(leaf), r, a, reach, far)
    share = everywhere[0] / everywhere[1]
    squares = a * counts**2
    variance = (np.bincount(leaf, squares)[leaf] - squares)[far] * share * (1 - share)
    # One row held out counts for two: what a single one adds is no evidence.
    excess = alike - 2 - share * others
    return (alike > others / 2) & (excess > 3 * np.sqrt(variance))
