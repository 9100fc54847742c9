"""From how many rows per feature on the accelerated solver is the faster one."""

import numpy as np

from benchmarks.measure import Line, interleave, ratio
from benchmarks.problems import fit_ridge, fixed_point, hidden, inputs
from benchmarks.ridge import SIGMA, problem_of
from kmpe import KMPE


def run(rounds=5) -> list[Line]:
    lines = []
    for n_hidden in (50, 200):
        for per_feature in (24, 30, 50, 100):
            X, y = inputs(n_hidden * per_feature)
            problem = problem_of(hidden(X, n_hidden), y)
            for p in (2.0, 4.0):
                loss = KMPE(p=p, sigma=SIGMA)
                candidates = {
                    "accelerated": lambda problem=problem, loss=loss: fit_ridge(problem, loss),
                    "fixed point": lambda problem=problem, loss=loss: fixed_point(problem, loss),
                }
                timings = interleave(candidates, rounds)
                middle, *_ = ratio(timings, "accelerated", "fixed point")
                fits = {name: t.value for name, t in timings.items()}
                detail = {f"steps, {name}": fit.n_iter for name, fit in fits.items()}
                costs = [fit.history[-1] for fit in fits.values()]
                detail["relative difference of costs"] = f"{costs[0] / costs[1] - 1:.1e}"
                what = (
                    f"accelerated over fixed point: N = {per_feature} L, L = {n_hidden}, p = {p:g}"
                )
                lines.append(Line(what, float(np.round(middle, 3)), "x", detail=detail))
    return lines
