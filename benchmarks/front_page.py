"""The table of the README: how right and how fast, beside what people use.

    python -m benchmarks.front_page                      # print it
    python -m benchmarks.front_page --write README.md    # and put it into the page

Errors are root mean squares of the slopes over draws of 300 rows and 5 inputs; time is CPU time of
one fit over that of HuberRegressor, all models in turn on the same draws.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.linear_model import HuberRegressor, LinearRegression, RANSACRegressor
from statsmodels.api import RLM, add_constant
from statsmodels.robust.norms import TukeyBiweight
from threadpoolctl import threadpool_limits

from benchmarks.measure import interleave, ratio
from kmpe import RobustLinearRegression

SLOPES = np.arange(1.0, 6.0)
START, END = "<!-- front page -->", "<!-- end of front page -->"


class Tukey:
    """Tukey's M-estimate of statsmodels."""

    def fit(self, X, y):
        self.coef_ = RLM(y, add_constant(X), M=TukeyBiweight()).fit().params[1:]
        return self


class Ransac(RANSACRegressor):
    """RANSAC with the slopes where other models have them."""

    def fit(self, X, y):
        super().fit(X, y)
        self.coef_ = self.estimator_.coef_
        return self


MODELS = {
    "LinearRegression": LinearRegression(),
    "HuberRegressor": HuberRegressor(max_iter=1000),
    "RLM, Tukey": Tukey(),
    "RANSACRegressor": Ransac(random_state=0),
    "**RobustLinearRegression**": RobustLinearRegression(),
}


def rows(kind, seed, n=300):
    """Return inputs and targets of one draw."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    noise = rng.uniform(-1.73, 1.73, n) if kind == "bounded noise" else rng.normal(size=n)
    y = X @ SLOPES + noise
    bad = slice(0, n // 5)
    if kind == "a fifth of the targets":
        y[bad] += 30
    elif kind == "a fifth of the rows":
        X[bad], y[bad] = X[bad] + 5, 0.0
    return X, y


KINDS = ("clean", "bounded noise", "a fifth of the targets", "a fifth of the rows")


def table(draws):
    """Return the lines of the table."""
    errors = {name: dict.fromkeys(KINDS, 0.0) for name in MODELS}
    times = {name: [] for name in MODELS}
    for kind in KINDS:
        for seed in range(draws):
            X, y = rows(kind, seed)
            calls = {name: (lambda m=m, X=X, y=y: m.fit(X, y).coef_) for name, m in MODELS.items()}
            timings = interleave(calls, 1, clock=time.process_time)
            for name, timing in timings.items():
                errors[name][kind] += np.mean((timing.value - SLOPES) ** 2) / draws
                times[name].append(ratio(timings, name, "HuberRegressor")[0])
    yield f"| | {' | '.join(KINDS)} | time |"
    yield "|---" * (len(KINDS) + 2) + "|"
    for name in MODELS:
        cells = [f"{np.sqrt(errors[name][kind]):.3f}" for kind in KINDS]
        yield f"| {name} | {' | '.join(cells)} | {np.median(times[name]):.1f} |"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--write", type=Path, metavar="FILE")
    options = parser.parse_args()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        text = "\n".join(table(options.draws))
    print(text)
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        before, rest = page.split(START)
        after = rest.split(END)[1]
        options.write.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
