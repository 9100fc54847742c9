"""Fit random problems with every loss: no cost may rise, nothing may be non-finite.

    python benchmarks/random_problems.py --problems 10000

Losses of all kinds, p from 0.5 to 12, σ over six decades, 1 to 200 rows, fewer rows than hidden
nodes included. Prints how the fits ended; exits with 1 if any broke the promise.
"""

import argparse
import sys
import warnings
from collections import Counter

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from kmpe import (
    KMPE,
    MPE,
    Cauchy,
    Correntropy,
    ELMRegressor,
    Huber,
    RiskSensitive,
    Squared,
    Tukey,
)

REFUSED = "refused: sigma gives every sample zero weight"


def random_problem(seed):
    rng = np.random.default_rng(seed)
    p, sigma = rng.uniform(0.5, 12), 10 ** rng.uniform(-3, 3)
    losses = [
        Squared(),
        MPE(p),
        *(loss(sigma) for loss in (Huber, Cauchy, Tukey, RiskSensitive, Correntropy)),
        KMPE(p, sigma),
    ]
    n, d, q = rng.integers(1, 201), rng.integers(1, 6), rng.integers(1, 4)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, :1]) + 0.3 * rng.standard_t(1.5, size=(n, q))
    model = ELMRegressor(
        losses[seed % len(losses)],
        n_hidden=int(rng.integers(1, 120)),
        alpha=float(rng.choice([0.0, 1e-7, 1e-3, 1.0])),
        random_state=seed,
    )
    return model, X, y


def outcome(model, X, y):
    """Return how the fit ended, or what promise it broke."""
    try:
        model.fit(X, y)
    except ValueError as error:
        return REFUSED if "gives every sample zero weight" in str(error) else f"BROKEN: {error}"
    numbers = (model.coef_, model.weights_, model.history_, model.predict(X))
    if not all(np.isfinite(values).all() for values in numbers):
        return "BROKEN: not finite"
    if np.any(np.diff(model.history_) > 0):
        return "BROKEN: the cost rose"
    return model.status_.split(":")[0].split(" at ")[0].lower()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first problem")
    options = parser.parse_args()
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", ConvergenceWarning)
    counts = Counter()
    for seed in range(options.first, options.first + options.problems):
        model, X, y = random_problem(seed)
        ended = outcome(model, X, y)
        counts[type(model.loss).__name__, ended] += 1
        if ended.startswith("BROKEN"):
            print(f"seed {seed}: {model.loss}, n={len(X)}, {ended}")
    for (loss, ended), count in sorted(counts.items()):
        print(f"{loss:15}{ended:50}{count:6}")
    broken = sum(count for (_, ended), count in counts.items() if ended.startswith("BROKEN"))
    print(f"{options.problems} problems, {broken} broken promises")
    sys.exit(bool(broken))


if __name__ == "__main__":
    main()
