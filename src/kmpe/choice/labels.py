"""Wrong labels: how many there are, which, and how scores become probabilities.

A label is wrong with the probability ε, and then any other with the same. With the scores F of each
row from the fit without it, and s = softmax(τF), the probability of the label y that a row has is

    (1 - ε) s_y + ε (1 - s_y) / (K - 1)

(Angluin and Laird 1988). The temperature τ and ε of the largest likelihood give the probability
that a label is right: its row's weight. Scores of rows left out are as far off as those of new
rows, so that softmax(τF) is calibrated (Guo and others 2017). Where all scores are near 0 and 1
the likelihood does not tell a low temperature from wrong labels, and these may be missed.
"""

from dataclasses import dataclass

import numpy as np

from kmpe.arrays import Array, Index

__all__ = ["LabelNoise"]


@dataclass(frozen=True)
class LabelNoise:
    """The temperature τ and the share ε of wrong labels."""

    temperature: float
    share: float

    @classmethod
    def of(cls, F: Array, labels: Index, a: Array) -> "LabelNoise":
        """Return both by maximum likelihood on a grid, from leave-one-out scores."""
        shares = np.append(0.0, np.geomspace(0.005, 0.6, 30))
        best, found = -np.inf, cls(1.0, 0.0)
        for temperature in np.geomspace(0.5, 60.0, 50).tolist():
            right = _softmax(temperature * F)[np.arange(len(F)), labels]
            wrong = (1 - right) / (F.shape[1] - 1)
            likelihood = (1 - shares) * right[:, None] + shares * wrong[:, None]
            scores = a @ np.log(np.maximum(likelihood, 1e-300))
            i = int(np.argmax(scores))
            if scores[i] > best:
                best, found = float(scores[i]), cls(temperature, float(shares[i]))
        return found

    def probabilities(self, F: Array) -> Array:
        """Return the probabilities of the classes, none of them 0."""
        return _softmax(self.temperature * F)

    def right(self, F: Array, labels: Index) -> Array:
        """Return the probability that each label is right."""
        s = self.probabilities(F)[np.arange(len(F)), labels]
        ours = (1 - self.share) * s
        return np.asarray(ours / (ours + self.share * (1 - s) / (F.shape[1] - 1)))


def _softmax(Z: Array) -> Array:
    Z = np.exp(Z - Z.max(axis=1, keepdims=True))
    # Single precision, and scores far apart, would round a probability to nought.
    Z = np.maximum(Z, 1e-30)
    return np.asarray(Z / Z.sum(axis=1, keepdims=True))
