"""How the time of a fit grows with rows, hidden nodes and inputs: log-log plots with slopes."""

import numpy as np

from benchmarks.measure import OUT, Line, bounded, interleave
from benchmarks.problems import fit_ridge, hidden, inputs
from benchmarks.ridge import ALPHA, SIGMA, problem_of
from kmpe import KMPE, ELMRegressor

ROWS = [20_000, 60_000, 200_000, 600_000, 2_000_000]
HIDDEN = [50, 100, 200, 400, 800]
INPUTS = [5, 20, 80, 320]


def in_rows(n_hidden=100, rounds=5):
    X, y = inputs(max(ROWS), d=10)
    H = hidden(X, n_hidden)
    del X

    def fit(n):
        problem = problem_of(H[:n], y[:n])
        return lambda: fit_ridge(problem, KMPE(p=2, sigma=SIGMA))

    return {n: fit(n) for n in ROWS}, rounds


def in_hidden(n=50_000, rounds=3):
    X, y = inputs(n)

    def fit(n_hidden):
        problem = problem_of(hidden(X, n_hidden), y)
        return lambda: fit_ridge(problem, KMPE(p=2, sigma=SIGMA))

    return {n_hidden: fit(n_hidden) for n_hidden in HIDDEN}, rounds


def in_inputs(n=50_000, n_hidden=100, rounds=3):
    def fit(d):
        X, y = inputs(n, d)
        model = ELMRegressor(
            KMPE(p=2, sigma=SIGMA),
            n_hidden=n_hidden,
            activation="sigmoid",
            alpha=ALPHA,
            random_state=0,
        )
        return lambda: model.fit(X, y)

    return {d: fit(d) for d in INPUTS}, rounds


def slope(sizes, seconds):
    """Return the slope of the line through log time over log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def run() -> list[Line]:
    curves = {"N": in_rows, "L": in_hidden, "d": in_inputs}
    promised = {"N": 1.05, "L": np.inf, "d": np.inf}
    lines, drawn = [], {}
    for name, curve in curves.items():
        candidates, rounds = curve()
        timings = interleave(candidates, rounds)
        # The least of the rounds: what else runs on the machine only ever adds.
        seconds = [min(timings[size].seconds) for size in timings]
        sizes = list(timings)
        power = slope(sizes, seconds)
        drawn[name] = (sizes, seconds, power)
        detail = {f"{name} = {n}": f"{t:.3f} s" for n, t in zip(sizes, seconds, strict=True)}
        lines.append(
            bounded(f"time grows as {name} to the power", power, "", promised[name], **detail)
        )
    draw(drawn)
    return lines


def draw(curves) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(
        1, len(curves), figsize=(4 * len(curves), 3.5), layout="constrained"
    )
    for axis, (name, (sizes, seconds, power)) in zip(axes, curves.items(), strict=True):
        fitted = np.exp(np.mean(np.log(seconds)) + power * (np.log(sizes) - np.mean(np.log(sizes))))
        axis.loglog(sizes, seconds, "o")
        axis.loglog(sizes, fitted, "-", label=f"slope {power:.2f}")
        axis.set(xlabel=name, ylabel="seconds")
        axis.legend()
    OUT.mkdir(parents=True, exist_ok=True)
    figure.savefig(OUT / "growth.svg")
    plt.close(figure)
