"""Which labels a classifier should believe: those that fits without their row find most probable.

Iterative trimming by predictions of rows left out (Brodley and Friedl 1999; Shen and Sanghavi
2019): if predictions are right more often than labels, the rows where both agree have better labels
than all, and the fits to them are better again. Thresholds for each class (confident learning,
Northcutt, Jiang and Chuang 2021) were tried: with classes of unequal size, of which equal shares
are flipped, they let the larger one be overrun by its own flipped rows.

A learner that follows every label, such as boosted trees, judges labels badly: with 40% of two
classes flipped its cross-validated predictions are right for two rows in three. The mean over fits
to small subsamples (subagging, Bühlmann and Yu 2002) is a smooth version of any learner, and right
for three rows in four or more. It serves as the judge if it finds the labels more likely than
cross-validation does; on few rows, where a subsample teaches too little, it does not.

Labels are likely or not under a model in which a share ε of them is wrong, another class at random,
so that label j of K has the probability

    (1 - ε) pⱼ + ε (1 - pⱼ) / (K - 1),

with ε by maximum likelihood. Rows are left out on one of two grounds. Either the judge finds most
of the labels that it would leave out wrong; for this, its probabilities are calibrated by a power
(temperature scaling, Guo, Pleiss, Sun and Weinberger 2017), as learners are too sure or not sure
enough. Or cross-validation finds the labels more likely after rows have been left out. A further
round follows if the judge, without the rows left out, finds the labels more likely.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import ndtri, softmax

from kmpe.arrays import Array, Index

__all__ = ["LabelRound", "believed", "calibrated", "trimming"]

Probabilities = Callable[[Array], Array]

_ONE_SIDED = -float(ndtri(0.05))
# Powers of the probabilities: from learners that are far too sure to means of many that are not.
_POWERS = tuple(2.0**k for k in range(-3, 6))


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
    #: Whether the judge finds most of the labels wrong that are left out.
    evident: bool = False

    @classmethod
    def of(cls, w: Array, margins: Array, P: Array, codes: Index, a: Array) -> "LabelRound":
        """Return the round of weights and probabilities."""
        p = P[np.arange(len(codes)), codes]
        share = _likeliest_share(p, P.shape[1], a)
        return cls(w, margins, P, _surprise(p, share, P.shape[1]), share)

    def beats(self, other: "LabelRound", a: Array) -> bool:
        """Return whether labels are more likely than by another round, by a test at 5%."""
        gain = other.surprise - self.surprise
        mean = float(np.average(gain, weights=a))
        variance = float(np.average((gain - mean) ** 2, weights=a)) / float(a.sum())
        return mean > _ONE_SIDED * float(np.sqrt(variance))

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
    plain = LabelRound.of(w, _margins(P, codes), P, codes, a)
    yield plain
    if plain.share * a.sum() < 1:
        return
    # A third of the rows should have ten of a class, on average.
    judge, judged, (surprise, share) = alone, P, calibrated(P, codes, a)
    if np.sum(a > 0) >= 30 * P.shape[1]:
        by_committee = committee(w)
        if (other := calibrated(by_committee, codes, a)) < (surprise, share):
            judge, judged, (surprise, share) = committee, by_committee, other
    this = plain
    for k in range(max_rounds):
        if k > 0:
            before, judged = surprise, this.probabilities if judge is alone else judge(w)
            surprise = calibrated(judged, codes, a)[0]
            if surprise >= before:
                return
        kept = _kept(_margins(judged, codes), codes, a, folds)
        if np.array_equal(kept, w):
            return
        w = kept
        this = LabelRound.of(w, _margins(judged, codes), alone(w), codes, a)
        this = replace(this, evident=bool(share > 0.5 * np.average(w == 0, weights=a)))
        yield this


def calibrated(P: Array, codes: Index, a: Array) -> tuple[float, float]:
    """Return the mean surprise of the labels and their share of wrong ones.

    Probabilities may be too sure or not sure enough: they are taken to the power that makes the
    labels most likely.

    Parameters
    ----------
    P : array of shape (n, K)
        Probabilities of the classes, by fits without the row.
    codes : array of int of shape (n,)
        Labels, from 0 to K - 1.
    a : array of shape (n,)
        How often each row counts.
    """
    log_p = np.log(np.maximum(P, np.finfo(np.float64).eps))
    best = (np.inf, 0.0)
    for power in _POWERS:
        p = softmax(power * log_p, axis=1)[np.arange(len(codes)), codes]
        share = _likeliest_share(p, P.shape[1], a)
        surprise = _surprise(p, share, P.shape[1])
        best = min(best, (float(np.average(surprise, weights=a)), share))
    return best


def _likeliest_share(p: Array, n_classes: int, a: Array) -> float:
    """Return the share of wrong labels that makes labels of probabilities p most likely."""
    most = 1 - 1 / n_classes  # labels that are pure chance
    return float(
        minimize_scalar(
            lambda share: float(np.average(_surprise(p, share, n_classes), weights=a)),
            bounds=(0.0, most),
            method="bounded",
        ).x
    )


def _surprise(p: Array, share: float, n_classes: int) -> Array:
    """Return -log likelihood of labels of probabilities p, a share of which is wrong."""
    likelihood = (1 - share) * p + share * (1 - p) / (n_classes - 1)
    return np.asarray(-np.log(np.maximum(likelihood, np.finfo(np.float64).tiny)))


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
    """Return the last round if there are grounds to leave rows out, else the plain one."""
    plain, last = rounds[0], rounds[-1]
    grounds = any(this.evident or this.beats(plain, a) for this in rounds[1:])
    return last if grounds else plain
