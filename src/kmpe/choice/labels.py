"""Wrong labels: how many there are, which, and how scores become probabilities.

A label is wrong with the probability ε, and then any other with the same. With the scores F of each
row from the fit without it, and s = softmax(τF), the probability of the label y that a row has is

    (1 - ε) s_y + ε (1 - s_y) / (K - 1)

(Angluin and Laird 1988). Scores of rows left out are as far off as those of new rows, so that
softmax(τF) is calibrated (Guo and others 2017).

Where scores are near 0 and 1 the likelihood does not tell a low temperature from wrong labels. Of
what it does not refuse, by Wilks's 95% limit, weights follow from the largest ε and probabilities
from the lowest τ: a label that all rows like it contradict is taken for wrong, and predictions are
no surer than need be. Where classes overlap, rows between them say what the temperature is.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import chdtri

from kmpe.arrays import Array, Index

__all__ = ["LabelNoise"]


@dataclass(frozen=True)
class LabelNoise:
    """The temperature τ and the share ε of wrong labels, and the temperature of probabilities.

    Beside them the largest log likelihood, by which fits are compared.
    """

    temperature: float
    share: float
    calibrated: float
    log_likelihood: float = field(compare=False)

    @classmethod
    def of(cls, F: Array, labels: Index, a: Array) -> "LabelNoise":
        """Return them by likelihood on a grid, from leave-one-out scores."""
        shares = np.append(0.0, np.geomspace(0.005, 0.6, 30))
        temperatures = np.geomspace(0.5, 60.0, 50)
        likelihood = np.concatenate(
            [_likelihood(t, F, labels, a, shares) for t in np.split(temperatures, 5)]
        )
        allowed = likelihood >= likelihood.max() - 0.5 * chdtri(1, 0.05)
        j = np.flatnonzero(allowed.any(axis=0))[-1]
        temperature = temperatures[np.argmax(likelihood[:, j])]
        calibrated = temperatures[np.argmax(allowed.any(axis=1))]
        return cls(float(temperature), float(shares[j]), float(calibrated), float(likelihood.max()))

    def probabilities(self, F: Array) -> Array:
        """Return the probabilities of the classes, none of them 0."""
        return _softmax(self.calibrated * F)

    def right(self, F: Array, labels: Index) -> Array:
        """Return the probability that each label is right."""
        s = _softmax(self.temperature * F)[np.arange(len(F)), labels]
        ours = (1 - self.share) * s
        return np.asarray(ours / (ours + self.share * (1 - s) / (F.shape[1] - 1)))


def _likelihood(temperatures: Array, F: Array, labels: Index, a: Array, shares: Array) -> Array:
    """Return the log likelihood of labels for each temperature and share of wrong ones."""
    right = _softmax(temperatures[:, None, None] * F)[:, np.arange(len(F)), labels]
    wrong = (1 - right) / (F.shape[1] - 1)
    probability = (1 - shares) * right[..., None] + shares * wrong[..., None]
    return np.asarray(a @ np.log(np.maximum(probability, 1e-300)))


def _softmax(Z: Array) -> Array:
    Z = np.exp(Z - Z.max(axis=-1, keepdims=True))
    # Single precision, and scores far apart, would round a probability to nought.
    Z = np.maximum(Z, 1e-30)
    return np.asarray(Z / Z.sum(axis=-1, keepdims=True))
