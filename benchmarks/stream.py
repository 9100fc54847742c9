"""A stream of 100 batches, five of them garbage, against one fit of the clean ones."""

import numpy as np

from benchmarks.measure import Line, bounded
from kmpe import KMPE, ELMRegressor

BATCHES, ROWS, INPUTS, HIDDEN = 100, 200, 5, 100
PLACES = {
    "spread out": (10, 30, 50, 70, 90),
    "first ones among them": (0, 1, 40, 41, 99),
    "a burst": (50, 51, 52, 53, 54),
    "the last ones": (95, 96, 97, 98, 99),
}
GARBAGE = {
    "large": lambda rng, y: 100 * rng.standard_normal(len(y)),
    "constant": lambda _, y: np.full(len(y), 50.0),
    "shuffled": lambda rng, y: rng.permutation(y),
}


def truth(X):
    return np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def batches(spoil, places, seed=0):
    rng = np.random.RandomState(seed)
    for k in range(BATCHES):
        X = rng.uniform(-1, 1, (ROWS, INPUTS))
        y = truth(X) + 0.3 * rng.standard_normal(ROWS)
        bad = k in places
        yield X, (spoil(rng, y) if bad else y), bad


def model(loss):
    return ELMRegressor(loss, n_hidden=HIDDEN, activation="sigmoid", alpha=1e-3, random_state=0)


def run() -> list[Line]:
    rng = np.random.RandomState(1)
    X_test = rng.uniform(-1, 1, (5000, INPUTS))

    def error(fitted):
        return float(np.sqrt(np.mean((fitted.predict(X_test) - truth(X_test)) ** 2)))

    lines = []
    for kind, spoil in GARBAGE.items():
        for place, places in PLACES.items():
            for p in (2.0, 4.0):
                stream, clean = model(KMPE(p=p)), []
                for X, y, bad in batches(spoil, places):
                    stream.partial_fit(X, y)
                    clean += [] if bad else [(X, y)]
                whole = model(KMPE(p=p)).fit(*map(np.concatenate, zip(*clean, strict=True)))
                what = f"stream over clean fit, error to the truth: p = {p:g}, {kind}, {place}"
                detail = {"stream": f"{error(stream):.4f}", "clean fit": f"{error(whole):.4f}"}
                lines.append(bounded(what, error(stream) / error(whole), "x", 1.05, **detail))
    return lines
