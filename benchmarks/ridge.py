"""A robust fit over a ridge fit, on the same hidden matrix H."""

import numpy as np
from sklearn.linear_model import Ridge

from benchmarks.measure import Line, bounded, compared, interleave
from benchmarks.problems import fit_ridge, fixed_point, hidden, inputs, ridge_problem
from kmpe import KMPE, RobustLinearRegression

ALPHA = 1e-3
SIGMA = 0.5
SETTINGS = [
    (200_000, 500, np.float64, 1.0, 5),
    (50_000, 300, np.float64, 2.0, 9),
    (1_000_000, 300, np.float32, 0.7, 3),
]


def problem_of(H, y):
    return ridge_problem(H, y, ALPHA)


def speed(n, n_hidden, dtype, most, rounds) -> list[Line]:
    X, y = inputs(n, dtype=dtype)
    H = hidden(X, n_hidden)
    del X
    problem = problem_of(H, y)

    def ridge(intercept):
        return lambda: Ridge(alpha=ALPHA, solver="cholesky", fit_intercept=intercept).fit(H, y)

    candidates = {
        "kmpe": lambda: fit_ridge(problem, KMPE(p=2, sigma=SIGMA)),
        "ridge": ridge(True),
        "ridge without intercept": ridge(False),
    }
    timings = interleave(candidates, rounds)
    fit = timings["kmpe"].value
    setting = f"N = {n}, L = {n_hidden}, {np.dtype(dtype).name}"
    detail = {"steps": fit.n_iter, "cost": f"{fit.history[-1]:.8g}", "status": fit.status.name}
    return [
        compared(f"robust over Ridge: {setting}", timings, "kmpe", "ridge", most, **detail),
        compared(
            f"the same, Ridge without intercept: {setting}",
            timings,
            "kmpe",
            "ridge without intercept",
            None,
            **detail,
        ),
    ]


def linear(n=50_000, n_features=300, rounds=5) -> list[Line]:
    """RobustLinearRegression finds its start without help, and gives standard errors as well."""
    X, y = inputs(n)
    H = hidden(X, n_features)
    models = {
        "ridge": Ridge(alpha=ALPHA, solver="cholesky"),
        "KMPE": RobustLinearRegression(KMPE(p=2, sigma=SIGMA), alpha=ALPHA),
        "adaptive": RobustLinearRegression(alpha=ALPHA),
    }
    timings = interleave({name: lambda m=m: m.fit(H, y) for name, m in models.items()}, rounds)
    what = "RobustLinearRegression.fit, {} over Ridge: N = {}, d = {}"
    return [
        compared(what.format(name, n, n_features), timings, name, "ridge", most)
        for name, most in (("KMPE", 4.0), ("adaptive", 6.0))
    ]


def agreement(n=50_000, n_hidden=150) -> list[Line]:
    """Compare the final cost with that of the fixed point, run until it no longer moves."""
    X, y = inputs(n)
    problem = problem_of(hidden(X, n_hidden), y)
    lines = []
    for p in (1.5, 2.0, 4.0):
        loss = KMPE(p=p, sigma=SIGMA)
        fast = fit_ridge(problem, loss)
        slow = fixed_point(problem, loss, max_iter=1000, tol=1e-14)
        above = fast.history[-1] / slow.history[-1] - 1
        detail = {
            "steps": fast.n_iter,
            "steps of the fixed point": slow.n_iter,
            "cost": f"{fast.history[-1]:.10g}",
        }
        what = f"cost above the fixed point's: p = {p:g}, N = {n}, L = {n_hidden}"
        lines.append(bounded(what, above, "", 1e-8, **detail))
    return lines


def run() -> list[Line]:
    lines = agreement()
    for setting in SETTINGS:
        lines += speed(*setting)
    return lines + linear()
