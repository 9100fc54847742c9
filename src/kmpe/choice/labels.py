"""Label noise: the share of wrong labels, which they are, and calibrated probabilities.

A label is wrong with probability ε, and then any other label is equally likely. With leave-one-out
scores F of each row and s = softmax(τF), the probability of the observed label y is

    (1 - ε) s_y + ε (1 - s_y) / (K - 1)

(Angluin and Laird 1988). The errors of leave-one-out scores are distributed as those of new rows,
so that softmax(τF) is calibrated (temperature scaling; Guo and others 2017).

If all scores are near 0 and 1, the likelihood cannot separate a low temperature from wrong labels.
Within the 95% confidence region of the likelihood ratio test (Wilks 1938), weights are computed
with the largest ε and probabilities with the lowest τ: a label that contradicts all similar rows is
taken as wrong, and predicted probabilities are cautious. If classes overlap, rows between them
determine the temperature.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.special import chdtri

from kmpe.arrays import Array, Index
from kmpe.foreign import asarray

__all__ = ["LabelNoise"]


@dataclass(frozen=True)
class LabelNoise:
    """The temperature τ, the share ε of wrong labels, and the temperature of probabilities.

    Also the maximum of the log likelihood, by which fits are compared.
    """

    temperature: float
    share: float
    calibrated: float
    log_likelihood: float = field(compare=False)

    @classmethod
    def of(cls, F: Array, labels: Index, a: Array) -> "LabelNoise":
        """Return the estimates by maximum likelihood on a grid, from leave-one-out scores."""
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
        """Return the probabilities of the classes, all of them positive."""
        return _softmax(self.calibrated * F)

    def right(self, F: Array, labels: Index) -> Array:
        """Return the probability that each label is right."""
        s = np.take_along_axis(_softmax(self.temperature * F), labels[:, None], axis=1)[:, 0]
        ours = (1 - self.share) * s
        return asarray(ours / (ours + self.share * (1 - s) / (F.shape[1] - 1)))


def _likelihood(temperatures: Array, F: Array, labels: Index, a: Array, shares: Array) -> Array:
    """Return the log likelihood for each temperature and share of wrong labels."""
    right = _softmax(temperatures[:, None, None] * F)[:, np.arange(len(F)), labels]
    wrong = (1 - right) / (F.shape[1] - 1)
    probability = (1 - shares) * right[..., None] + shares * wrong[..., None]
    return np.asarray(a @ np.log(np.maximum(probability, 1e-300)))


def _softmax(Z: Array) -> Array:
    Z = np.exp(Z - Z.max(axis=-1, keepdims=True))
    # In single precision, or with scores far apart, a probability would be rounded to 0.
    Z = np.maximum(Z, 1e-30)
    return asarray(Z / Z.sum(axis=-1, keepdims=True))
