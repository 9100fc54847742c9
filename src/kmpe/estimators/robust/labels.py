"""Which labels a classifier should believe: those that fits without their row find most probable.

Iterative trimming by cross-validated predictions (Brodley and Friedl 1999; Shen and Sanghavi 2019):
if predictions are right more often than labels, the rows where both agree have better labels than
all, and the fits to them are better again. Thresholds for each class (confident learning,
Northcutt, Jiang and Chuang 2021) were tried: with classes of unequal size, of which equal shares
are flipped, they let the larger one be overrun by its own flipped rows.

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
    """Weights of the rows, and the probabilities of fits with them."""

    weights: Array
    #: Of the classes, by fits without the row, shape (n, K).
    probabilities: Array
    #: By how much another class is more probable than the label.
    margins: Array
    #: -log likelihood of each label.
    surprise: Array
    #: Of labels that look wrong.
    share: float

    @classmethod
    def of(cls, w: Array, P: Array, codes: Index, a: Array) -> "LabelRound":
        """Return the round of weights and probabilities."""
        rows = np.arange(len(codes))
        p = P[rows, codes]
        others = P.copy()
        others[rows, codes] = -np.inf

        def surprise(share: float) -> Array:
            likelihood = (1 - share) * p + share * (1 - p) / (P.shape[1] - 1)
            return np.asarray(-np.log(np.maximum(likelihood, np.finfo(np.float64).tiny)))

        most = 1 - 1 / P.shape[1]  # labels that are pure chance
        share = minimize_scalar(
            lambda share: float(np.average(surprise(share), weights=a)),
            bounds=(0.0, most),
            method="bounded",
        ).x
        return cls(w, P, others.max(axis=1) - p, surprise(float(share)), float(share))

    def beats(self, other: "LabelRound", a: Array) -> bool:
        """Return whether labels are more likely than by another round, by two standard errors."""
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
    codes: Index, a: Array, folds: Index, probabilities: Probabilities, max_rounds: int
) -> Iterator[LabelRound]:
    """Yield the rounds: all rows, then those whose labels the round before found most probable.

    A class of which hardly a row would be left, or rows of one fold only, keeps all of them.

    Parameters
    ----------
    codes : array of int of shape (n,)
        Labels, from 0 to K - 1.
    a : array of shape (n,)
        How often each row counts.
    folds : array of int of shape (n,)
        The fold of each row.
    probabilities : callable
        From weights of shape (n,) to probabilities of the classes by fits without the row.
    max_rounds : int
        The most rounds after the first.
    """
    w = np.ones(len(codes))
    this = LabelRound.of(w, probabilities(w), codes, a)
    yield this
    for _ in range(max_rounds):
        w = (this.margins <= 0).astype(np.float64)
        for k in range(this.probabilities.shape[1]):
            mine = (codes == k) & (a > 0)
            left = mine & (w > 0)
            if left.sum() < 0.1 * mine.sum() or len(np.unique(folds[left])) < 2:
                w[mine] = 1.0
        if np.array_equal(w, this.weights):
            return
        this = LabelRound.of(w, probabilities(w), codes, a)
        yield this


def believed(rounds: list[LabelRound], a: Array) -> LabelRound:
    """Return the last round if any beats the plain one, which is the first, else that."""
    return rounds[-1] if any(this.beats(rounds[0], a) for this in rounds[1:]) else rounds[0]
