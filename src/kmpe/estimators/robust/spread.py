"""Weights of the last fit: errors in units of their local spread, and which of them are spoilt.

A row that is hard to predict has neighbours that are hard to predict, a spoilt one has not. So the
learner is fitted once more, to the logarithms of the errors, and out-of-fold predictions of these
are the local spread (normalised nonconformity scores, Papadopoulos, Gammerman and Vovk 2008; Lei
and others 2018). An error within the scale σ of all errors says nothing about a smaller one: it is
the logarithm of √(e² + σ²), so that the spread of noise that is the same everywhere is nearly
constant.

Spoilt rows that support each other look like rows that are hard to predict. So the spread is used
only if the errors are likelier with it than without.
"""

from dataclasses import replace

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.spoilt import Judged, judged
from kmpe.estimators.robust.learner import Learner
from kmpe.estimators.robust.rounds import Round, beats, distances, granularities, trimmed

__all__ = ["likelier", "local_spread", "weighed"]


def weighed(rounds: list[Round], a: Array, learner: Learner, T: Array) -> Array:
    """Return the weights of the last fit: the probability of each row to be good.

    Parameters
    ----------
    rounds : list of Round
        The accepted rounds. Probabilities are averaged over those whose errors are the likeliest,
        or within one standard error of it.
    a : array of shape (n,)
        Sample weights.
    learner : Learner
        The learner and its rows.
    T : array of shape (n, q)
        Its targets; a row is good if all of them are.
    """
    E = np.array([this.errors for this in rounds])
    w = np.mean([this.weights for this in rounds], axis=0)
    spread = local_spread(E.mean(axis=0), w, a, learner, T)
    grains = granularities(T, a)
    found = [
        [likelier(e, spread, a, grain) for e, grain in zip(errors.T, grains, strict=True)]
        for errors in E
    ]
    good = np.array([np.prod([each.good for each in these], axis=0) for these in found])
    densities = np.array([np.sum([each.log_density for each in these], axis=0) for these in found])
    best = densities[np.argmax(densities @ a)]
    return trimmed(good[[not beats(best - density, a) for density in densities]].mean(axis=0))


def likelier(e: Array, spread: Array, a: Array, grain: float) -> Judged:
    """Return the judgement of errors, with the spread if they are likelier so."""
    local, alone = judged(e, a, spread, grain=grain), judged(e, a, grain=grain)
    return local if local.evidence > alone.evidence else alone


def local_spread(E: Array, w: Array, a: Array, learner: Learner, T: Array) -> Array:
    """Return the out-of-fold prediction of each row's spread, up to a factor.

    ``E`` are the errors of fits with weights ``w``.
    """
    far, scale = distances(E, a, granularities(T, a))
    logs = np.log(np.hypot(far / scale, 1.0))
    # In the range of the targets: learners may have options in their unit, or refuse values.
    kept = (w > 0) & (a > 0)
    most = float(logs[kept].max())
    if most == 0:
        return np.ones(len(a))
    low, high = T[kept].min(axis=0), T[kept].max(axis=0)
    U = low + (high - low) * (np.minimum(logs, most) / most)[:, None]
    other = replace(learner, y=U.reshape(np.shape(learner.y)))
    P = other.predicted(w, T.shape)
    varies = high > low
    predicted = np.mean(((P - low) / np.where(varies, high - low, 1.0))[:, varies], axis=1)
    return np.asarray(np.exp(most * np.clip(predicted, 0.0, 1.0)))
