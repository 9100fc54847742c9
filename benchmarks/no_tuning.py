"""What no tuning must show, beside the noise study: ``python benchmarks/no_tuning.py``.

Sinc without arguments, bad leverage points, many rows, coverage, clean outliers, prediction
intervals, and the price.
"""

import argparse
from itertools import product
from time import perf_counter

import numpy as np
from sklearn.linear_model import HuberRegressor, LinearRegression

from kmpe import KMPE, ConformalRegressor, ELMRegressor, RobustLinearRegression
from kmpe.datasets import make_sinc


def sinc(draws):
    for noise in ("uniform", "sine"):
        errors = []
        for seed in range(draws):
            X, y = make_sinc(200, noise=noise, random_state=seed)
            X_test, y_test = make_sinc(200, noise=None, random_state=100_000 + seed)
            predicted = ELMRegressor(random_state=seed).fit(X, y).predict(X_test)
            errors.append(np.sqrt(np.mean((predicted - y_test) ** 2)))
        print(
            f"sinc, {noise}: mean test RMSE {np.mean(errors):.3f} over {draws} draws (at most 0.18)"
        )


def _bad_rows(kind, rng, X, y, beta, m):
    """Replace the first m rows by bad leverage points."""
    d = X.shape[1]
    if kind == "shifted":  # moved out along the diagonal, off the plane by a constant
        X[:m] = 10 + rng.normal(size=(m, d))
        y[:m] = X[:m] @ beta + 100 + rng.normal(size=m)
    elif kind == "scattered":  # far out in every direction, with the slopes' signs reversed
        X[:m] = 10 * rng.normal(size=(m, d))
        y[:m] = -X[:m] @ beta + rng.normal(size=m)
    else:  # "cluster": one place, one value
        X[:m] = 10 + 0.1 * rng.normal(size=(m, d))
        y[:m] = X[:m] @ beta - 200 + 0.1 * rng.normal(size=m)


def leverage(draws):
    for kind in ("shifted", "scattered", "cluster"):
        ours, clean = [], []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            X, beta = rng.normal(size=(200, 5)), rng.normal(size=5)
            y = X @ beta + rng.normal(size=200)
            _bad_rows(kind, rng, X, y, beta, 60)
            least_squares = LinearRegression().fit(X[60:], y[60:])
            ours.append(np.linalg.norm(RobustLinearRegression().fit(X, y).coef_ - beta))
            clean.append(np.linalg.norm(least_squares.coef_ - beta))
        ours, clean = np.array(ours), np.array(clean)
        lost = np.sum(ours > 5 * clean.mean())
        print(
            f"30% bad leverage points, {kind}: slope error {ours.mean() / clean.mean():.2f} × that "
            f"of least squares on the clean rows (at most 2), lost in {lost} of {draws} draws"
        )


def many_rows(repeats):
    rng = np.random.default_rng(0)
    n, d = 100_000, 20
    X, beta = rng.normal(size=(n, d)), rng.normal(size=d)
    y = X @ beta + rng.normal(size=n)
    bad = n // 10
    X[:bad] = 3 * rng.normal(size=d) + 0.1 * rng.normal(size=(bad, d))
    y[:bad] = -50 + 0.1 * rng.normal(size=bad)
    models = {
        "adaptive": RobustLinearRegression(),
        "fixed p and sigma": RobustLinearRegression(KMPE(p=2, sigma=4.5)),
        "HuberRegressor": HuberRegressor(max_iter=1000),
    }
    seconds = {name: [] for name in models}
    for _ in range(repeats):
        for name, model in models.items():
            start = perf_counter()
            model.fit(X, y)
            seconds[name].append(perf_counter() - start)
    for name, model in models.items():
        error = np.linalg.norm(model.coef_ - beta) / np.linalg.norm(beta)
        print(
            f"N = 100 000, d = 20, 10% clustered: {name} error {error:.4f}, "
            f"{np.median(seconds[name]):.2f} s"
        )
    ratio = np.median(np.array(seconds["adaptive"]) / seconds["fixed p and sigma"])
    print(f"adaptive over fixed: {ratio:.2f} (at most 2)")


def coverage(draws, n):
    noises = {
        "Gaussian": lambda g, _: g.normal(size=n),
        "uniform": lambda g, _: g.uniform(-1, 1, n),
        "Student t3": lambda g, _: g.standard_t(3, size=n),
        "Gaussian, wider with an input": lambda g, X: g.normal(size=n) * (0.3 + np.abs(X[:, 0])),
    }
    for name, noise in noises.items():
        inside, marked, covered = [], [], []
        for seed in range(draws):
            rng = np.random.default_rng(seed)
            X, X_new, beta = rng.normal(size=(n, 5)), rng.normal(size=(n, 5)), rng.normal(size=5)
            model = RobustLinearRegression().fit(X, X @ beta + noise(rng, X))
            limits = model.confidence_intervals()
            truth = np.append(beta, 0.0)
            inside.append((limits[:, 0] <= truth) & (truth <= limits[:, 1]))
            marked.append(model.outliers_.mean())
            _, low, high = model.predict(X_new, return_interval=0.9)
            y_new = X_new @ beta + noise(rng, X_new)
            covered.append((low <= y_new) & (y_new <= high))
        print(
            f"{name}, n = {n}, {draws} draws: 95% confidence intervals cover {np.mean(inside):.1%} "
            f"(93% to 97%), 90% prediction intervals {np.mean(covered):.1%}, "
            f"outliers_ marks {np.mean(marked):.2%} of the rows"
        )


def intervals(draws, n):
    """Print the coverage of new clean rows, and the width over that of the noise itself."""
    noises = {
        "Gaussian": lambda g, size: g.normal(size=size),
        "uniform": lambda g, size: g.uniform(-1, 1, size),
        "Student t3": lambda g, size: g.standard_t(3, size=size),
    }
    linear = RobustLinearRegression()
    machine = ELMRegressor(random_state=0)
    models = {
        "plane": {"jackknife": linear, "CV+": ConformalRegressor(linear)},
        "sine": {"jackknife": machine, "CV+": ConformalRegressor(machine)},
    }
    surfaces = {
        "plane": lambda X: X @ np.arange(1.0, X.shape[1] + 1),
        "sine": lambda X: 3 * np.sin(2 * X[:, 0]),
    }
    for (name, noise), spoilt, (surface, truth) in product(
        noises.items(), (0.0, 0.1), surfaces.items()
    ):
        ideal = np.quantile(np.abs(noise(np.random.default_rng(0), 10**6)), 0.9)
        row = []
        for kind, model in models[surface].items():
            covered, widths = [], []
            for seed in range(draws):
                rng = np.random.default_rng(seed)
                X, X_new = rng.normal(size=(2, n, 5 if surface == "plane" else 1))
                y = truth(X) + noise(rng, n) + np.where(rng.random(n) < spoilt, 50, 0)
                _, low, high = model.fit(X, y).predict(X_new, return_interval=0.9)
                y_new = truth(X_new) + noise(rng, n)
                covered.append(np.mean((low <= y_new) & (y_new <= high)))
                widths.append(np.mean(high - low) / (2 * ideal))
            row.append(f"{kind} {np.mean(covered):.1%}, width {np.mean(widths):.2f}")
        print(
            f"{name}, {surface}, {spoilt:.0%} spoilt, n = {n}, {draws} draws: 90% prediction "
            f"intervals: {'; '.join(row)}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument(
        "--only", choices=["sinc", "leverage", "many_rows", "coverage", "intervals"]
    )
    parser.add_argument("--rows", type=int, default=300, help="rows where coverage is asked")
    args = parser.parse_args()
    for part, *sizes in (
        (sinc, args.draws),
        (leverage, args.draws),
        (many_rows, 5),
        (coverage, 2 * args.draws, args.rows),
        (intervals, args.draws // 5, args.rows),
    ):
        if args.only in (None, part.__name__):
            part(*sizes)


if __name__ == "__main__":
    main()
