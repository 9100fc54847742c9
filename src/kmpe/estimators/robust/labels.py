"""Which labels a classifier should believe: those that fits without their row find most probable.

Iterative trimming by predictions of rows left out (Brodley and Friedl 1999; Shen and Sanghavi
2019): if predictions are right more often than labels, the rows where both agree have better labels
than all, and the fits to them are better again. Thresholds for each class (confident learning,
Northcutt, Jiang and Chuang 2021) were tried: with classes of unequal size, of which equal shares
are flipped, they let the larger one be overrun by its own flipped rows.

A learner that follows every label, such as boosted trees, judges labels badly: with 40% of two
classes flipped its cross-validated predictions are right for two rows in three. The mean over fits
to small subsamples (subagging, Bühlmann and Yu 2002) is a smooth version of any learner, and right
for three rows in four or more. It serves as the judge if it agrees with more of the labels than
cross-validation does; on few rows, where a subsample teaches too little, it does not.

A round is compared with the plain fit by the likelihood of the labels. A share ε of them is taken
to be wrong, another class at random, so that label j of K has the probability

    (1 - ε) pⱼ + ε (1 - pⱼ) / (K - 1),

with ε by maximum likelihood.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

from kmpe.arrays import Array, Index

__all__ = ["LabelRound", "believed", "trimming"]

Probabilities = Callable[[Array], Array]


@dataclass(frozen=True, eq=False)
class LabelRound:
    """Weights of the rows, why they are so, and the probabilities of fits with them."""

    weights: Array
    #: By how much another class was more probable than the label to those who gave the weights.
    margins: Array
    #: Of the classes, by fits without the row, shape (n, K).
    probabilities: Array
    #: -log likelihood of each label.
    surprise: Array
    #: Of labels that look wrong.
    share: float

    @classmethod
    def of(cls, w: Array, margins: Array, P: Array, codes: Index, a: Array) -> "LabelRound":
        """Return the round of weights and probabilities."""
        p = P[np.arange(len(codes)), codes]

        def surprise(share: float) -> Array:
            likelihood = (1 - share) * p + share * (1 - p) / (P.shape[1] - 1)
            return np.asarray(-np.log(np.maximum(likelihood, np.finfo(np.float64).tiny)))

        most = 1 - 1 / P.shape[1]  # labels that are pure chance
        share = minimize_scalar(
            lambda share: float(np.average(surprise(share), weights=a)),
            bounds=(0.0, most),
            method="bounded",
        ).x
        return cls(w, margins, P, surprise(float(share)), float(share))

    def beats(self, other: "LabelRound", a: Array) -> bool:
        """Return whether labels are more likely than by another round, by two standard errors.

        One would bring back more with 40% of a few hundred labels flipped, but leaves out good rows
        of tables with right labels, such as iris with nearest neighbours.
        """
        gain = other.surprise - self.surprise
        mean = float(np.average(gain, weights=a))
        variance = float(np.average((gain - mean) ** 2, weights=a)) / float(a.sum())
        return mean > 2 * float(np.sqrt(variance))

    def record(self, a: Array) -> dict[str, object]:
        """Return what is kept of the round."""
        return {
            "surprise": float(np.average(self.surprise, weights=a)),
            "wrong": self.share,
            "left_out": float(np.average(self.weights == 0, weights=a)),
        }

    def describe(self, a: Array) -> str:
        """Return the round in words."""
        kept = self.record(a)
        return (
            f"surprise {kept['surprise']:.3f}, {self.share:.0%} of the labels look wrong, "
            f"{kept['left_out']:.0%} left out"
        )


def trimming(
    codes: Index,
    a: Array,
    folds: Index,
    alone: Probabilities,
    committee: Probabilities,
    max_rounds: int,
) -> Iterator[LabelRound]:
    """Yield the rounds: all rows, then those whose labels the judge finds most probable.

    It ends at once where less than one label looks wrong.

    Parameters
    ----------
    codes : array of int of shape (n,)
        Labels, from 0 to K - 1.
    a : array of shape (n,)
        How often each row counts.
    folds : array of int of shape (n,)
        The fold of each row.
    alone, committee : callable
        From weights of shape (n,) to probabilities of the classes by fits without the row: by
        cross-validation, and by the mean over fits to small subsamples.
    max_rounds : int
        The most rounds after the first.
    """
    w = np.ones(len(codes))
    P = alone(w)
    margins = _margins(P, codes)
    this = LabelRound.of(w, margins, P, codes, a)
    yield this
    if this.share * a.sum() < 1:
        return
    # A third of the rows should have ten of a class, on average.
    judged_alone = bool(np.sum(a > 0) < 30 * P.shape[1])
    if not judged_alone:
        by_committee = _margins(committee(w), codes)
        judged_alone = bool(a @ (margins <= 0) >= a @ (by_committee <= 0))
        margins = margins if judged_alone else by_committee
    for k in range(max_rounds):
        if k > 0:
            P = this.probabilities if judged_alone else committee(this.weights)
            margins = _margins(P, codes)
        w = _kept(margins, codes, a, folds)
        if np.array_equal(w, this.weights):
            return
        this = LabelRound.of(w, margins, alone(w), codes, a)
        yield this


def _margins(P: Array, codes: Index) -> Array:
    """Return by how much the most probable other class is more probable than the label."""
    rows = np.arange(len(codes))
    others = P.copy()
    others[rows, codes] = -np.inf
    return np.asarray(others.max(axis=1) - P[rows, codes])


def _kept(margins: Array, codes: Index, a: Array, folds: Index) -> Array:
    """Return weight 1 of the rows whose labels are most probable, else 0.

    A class of which hardly a row would be left, or rows of one fold only, keeps all of them.
    """
    w = (margins <= 0).astype(np.float64)
    for k in np.unique(codes):
        mine = (codes == k) & (a > 0)
        left = mine & (w > 0)
        if left.sum() < 0.1 * mine.sum() or len(np.unique(folds[left])) < 2:
            w[mine] = 1.0
    return w


def believed(rounds: list[LabelRound], a: Array) -> LabelRound:
    """Return the last round that the best one does not beat, if that beats the plain one."""
    best = min(rounds, key=lambda this: float(np.average(this.surprise, weights=a)))
    if not best.beats(rounds[0], a):
        return rounds[0]
    return [this for this in rounds if not best.beats(this, a)][-1]
