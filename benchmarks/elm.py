"""Whole fits: the robust machine over the one of least squares, and over Algorithm 1."""

import warnings

import numpy as np
from scipy import linalg

from benchmarks.measure import Line, compared, interleave
from benchmarks.problems import fit_ridge, hidden, inputs
from benchmarks.ridge import ALPHA, SIGMA, problem_of
from kmpe import KMPE, ELMRegressor, Squared

warnings.simplefilter("ignore")


def whole(n=200_000, d=20, n_hidden=500, rounds=5) -> list[Line]:
    X, y = inputs(n, d)

    def fit(loss):
        model = ELMRegressor(
            loss, n_hidden=n_hidden, activation="sigmoid", alpha=ALPHA, random_state=0
        )
        return lambda: model.fit(X, y)

    losses = {"KMPE": KMPE(p=2, sigma=SIGMA), 'KMPE, sigma="mad"': KMPE(p=2), "Squared": Squared()}
    timings = interleave({name: fit(loss) for name, loss in losses.items()}, rounds)
    setting = f"N = {n}, d = {d}, L = {n_hidden}"
    return [
        compared(
            f"ELMRegressor.fit, {name} over Squared: {setting}",
            timings,
            name,
            "Squared",
            1.2,
            steps=timings[name].value.n_iter_,
        )
        for name in list(losses)[:2]
    ]


def naive(H, y, p, sigma, alpha, tol=1e-8, max_iter=100):
    """Algorithm 1 as one would first write it, from a ridge fit, until the cost settles."""
    eye = alpha * np.eye(H.shape[1])
    beta = linalg.solve(H.T @ H + eye, H.T @ y, assume_a="pos")
    costs = [np.inf]
    for _ in range(max_iter):
        gap = -np.expm1(-((y - H @ beta) ** 2) / (2 * sigma**2))
        cost = 2 * sigma**2 / p * np.sum(gap ** (p / 2)) + alpha / 2 * beta @ beta
        costs.append(cost)
        if abs(costs[-2] - cost) <= tol * cost:
            break
        w = gap ** (p / 2 - 1) * (1 - gap)
        weighted = H * w[:, None]
        beta = linalg.solve(weighted.T @ H + eye, weighted.T @ y, assume_a="pos")
    return len(costs) - 2, cost


def against_naive(n=100_000, n_hidden=500, rounds=2) -> list[Line]:
    X, y = inputs(n)
    H = hidden(X, n_hidden)
    problem = problem_of(H, y)
    candidates = {
        "naive": lambda: naive(H, y, 2.0, SIGMA, ALPHA),
        "kmpe": lambda: fit_ridge(problem, KMPE(p=2, sigma=SIGMA)),
    }
    timings = interleave(candidates, rounds)
    steps, cost = timings["naive"].value
    fit = timings["kmpe"].value
    line = compared(
        f"robust over the naive loop: N = {n}, L = {n_hidden}",
        timings,
        "kmpe",
        "naive",
        1 / 15,
        **{
            "times faster": round(
                1 / float(np.median(np.divide(timings["kmpe"].seconds, timings["naive"].seconds))),
                1,
            ),
            "steps": fit.n_iter,
            "naive steps": steps,
            "cost": f"{fit.history[-1]:.10g}",
            "naive cost": f"{cost:.10g}",
        },
    )
    return [line]


def run() -> list[Line]:
    return whole() + against_naive()
