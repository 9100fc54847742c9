"""Weights of the last fit: errors in units of their local spread, and which of them are spoilt.

A row that is hard to predict has neighbours that are hard to predict, a spoilt one has not. So the
learner is fitted once more, to the logarithms of the errors, and out-of-fold predictions of these
are the local spread (normalised nonconformity scores, Papadopoulos, Gammerman and Vovk 2008; Lei
and others 2018). An error within the scale σ of all errors says nothing about a smaller one: it is
the logarithm of √(e² + σ²), so that the spread of noise that is the same everywhere is nearly
constant.

A good row that lies apart from all others has no neighbours that could tell. There the prediction
itself is uncertain: it depends on which of the others were fitted. So a second candidate is the
local spread times √(1 + v²/σ²) (multiplicative heteroscedasticity, Harvey 1976), v the standard
error of the prediction by half-samples (McCarthy 1969; Shao and Wu 1989). v knows nothing of the
row's own target. Good errors are no wider than the targets would be without any prediction: as
precisions add up, 1/h² has the term (σ/s)², with s their standard deviation. So a spoilt row far
from all targets is found even where it lies apart.

Spoilt rows that support each other look like rows that are hard to predict. So the local spread is
used only if the errors are likelier with it than without, and the second one if significantly so:
on clean neighbourhoods both say the same, but for chance.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.spoilt import Judged, judged
from kmpe.estimators.robust.learner import Learner
from kmpe.estimators.robust.rounds import Round, beats, distances, granularities, trimmed
from kmpe.losses.scale import centred_scale

__all__ = ["likelier", "local_spread", "unsettled", "weighed"]


def weighed(
    rounds: list[Round], a: Array, learner: Learner, T: Array, random_state: Any = 0
) -> Array:
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
    random_state : int, RandomState or None
        Seed of the half-samples.
    """
    E = np.array([this.errors for this in rounds])
    w = np.mean([this.weights for this in rounds], axis=0)
    spread = local_spread(E.mean(axis=0), w, a, learner, T)
    spreads = [spread, unsettled(spread, E.mean(axis=0), w, a, learner, T, random_state)]
    grains = granularities(T, a)
    found = [
        [likelier(e, spreads, a, grain) for e, grain in zip(errors.T, grains, strict=True)]
        for errors in E
    ]
    good = np.array([np.prod([each.good for each in these], axis=0) for these in found])
    densities = np.array([np.sum([each.log_density for each in these], axis=0) for these in found])
    best = densities[np.argmax(densities @ a)]
    return trimmed(good[[not beats(best - density, a) for density in densities]].mean(axis=0))


def likelier(e: Array, spreads: list[Array], a: Array, grain: float) -> Judged:
    """Return the judgement of errors, with a spread if they are likelier so.

    With the first one if they are likelier at all, with the others if significantly.
    """
    first, *others = spreads
    local, best = judged(e, a, first, grain=grain), judged(e, a, grain=grain)
    best = local if local.evidence > best.evidence else best
    for spread in others:
        this = judged(e, a, spread, grain=grain)
        # Two standard errors are 95% for one comparison.
        best = this if beats(this.log_density - best.log_density, a, 2.0) else best
    return best


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


def unsettled(
    spread: Array, E: Array, w: Array, a: Array, learner: Learner, T: Array, random_state: Any
) -> Array:
    """Return the local spread, wider where fits to half-samples differ, up to that of the targets.

    ``E`` are the errors of fits with weights ``w``. Several targets are put on one scale each. Of
    learners that need more rows than half-samples have it is the local spread.
    """
    grains = granularities(T, a)
    scale = np.array([centred_scale(e, a, grain)[1] for e, grain in zip(E.T, grains, strict=True)])
    try:
        P = learner.half_samples(w, T.shape, random_state)
    except ValueError:  # such as nearest neighbours of which there are more than half of the rows
        return spread
    v = np.sqrt(np.mean((P.std(axis=0) / scale) ** 2, axis=1))
    centre = np.average(T, axis=0, weights=w * a)
    squares = np.average((T - centre) ** 2, axis=0, weights=w * a)
    # A scale of errors above that of the targets tells of no spread.
    most = max(1.0, float(np.sqrt(np.mean(squares / scale**2))))
    return np.asarray(1 / np.hypot(1 / (spread * np.hypot(v, 1.0)), 1 / most))
