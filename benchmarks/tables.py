"""`ELMRegressor()` on real tables beside tuned peers: ``python -m benchmarks tables``.

Test error in standard deviations of the targets, over that of the best peer, on halves of each
table with at most 2000 training rows; once clean, once with N(0, 10²) added to a fifth of the
standardised training targets. Peers get standardised inputs, ours gets them as they are. Each
result is kept in ``out/bench/tables.jsonl`` as soon as it is there: a run that was stopped goes
on, and peers are never computed twice. Ours is computed anew when the package changes. ``--write
docs/elm.md`` puts the errors over the best peer's into that page.
"""

import argparse
import hashlib
import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

import kmpe
from benchmarks.measure import OUT, Line, bounded, write
from benchmarks.real_tables import COMMON, OTHERS, PAPER, table

OURS = "ELMRegressor()"
TABLES = (*PAPER, *COMMON, "friedman1", "diabetes")
NOISES = ("clean", "spoilt")
START, END = "<!-- tables -->", "<!-- end of tables -->"


def half(name: str, seed: int, noise: str) -> tuple[Any, Any, Any, Any]:
    """Return training and test rows, targets standardised."""
    X, X_test, y, y_test = train_test_split(*table(name), test_size=0.5, random_state=seed)
    X, y = X[:2000], y[:2000]
    centre, width = y.mean(), y.std()
    y, y_test = (y - centre) / width, (y_test - centre) / width
    if noise == "spoilt":
        rng = np.random.default_rng(seed)
        y = y + np.where(rng.random(len(y)) < 0.2, rng.normal(0, 10, len(y)), 0)
    return X, y, X_test, y_test


def _searched(estimator: Any, grid: dict[str, Any]) -> Any:
    # By absolute errors: squared ones of spoilt targets would be a lottery.
    search = GridSearchCV(estimator, grid, cv=3, scoring="neg_mean_absolute_error")
    return make_pipeline(StandardScaler(), search)


def _svr(d: int) -> Any:
    widths = (np.array([0.3, 1, 3, 10]) / d).tolist()
    return _searched(SVR(), {"C": [1, 10, 100], "gamma": widths, "epsilon": [0.01, 0.1]})


def _kernel_ridge(d: int) -> Any:
    widths = (np.array([0.1, 0.3, 1, 3, 10]) / d).tolist()
    return _searched(
        KernelRidge(kernel="rbf"), {"alpha": [1e-3, 1e-2, 0.1, 1, 10], "gamma": widths}
    )


PEERS: dict[str, Callable[[int], Any]] = {
    "HGB": lambda _: HistGradientBoostingRegressor(random_state=0),
    "HGB absolute error": lambda _: HistGradientBoostingRegressor(
        loss="absolute_error", random_state=0
    ),
    "random forest": lambda _: RandomForestRegressor(random_state=0),
    "SVR": _svr,
    "kernel ridge": _kernel_ridge,
}


class Results:
    """Results by table, half, noise and method, in a file that grows by a line each."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {tuple(key): value for key, value in map(json.loads, lines)}

    def of(self, key: tuple[Any, ...], compute: Callable[[], Any]) -> Any:
        """Return a result, computed if it is not known."""
        if key not in self.known:
            self.known[key] = compute()
            with self.path.open("a") as file:
                file.write(json.dumps([key, self.known[key]]) + "\n")
        return self.known[key]


def version_of_package() -> str:
    """Return a digest of the package's source."""
    digest = hashlib.sha256()
    for path in sorted(Path(kmpe.__file__).parent.rglob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def tried(estimator: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> list[float]:
    """Return test error and seconds of CPU time of a fit."""
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        estimator.fit(X, y)
    seconds = time.process_time() - start
    return [float(root_mean_squared_error(y_test, estimator.predict(X_test))), seconds]


def compared(names: tuple[str, ...], halves: int) -> list[Line]:
    """Return lines of all tables, and geometric means."""
    results = Results(OUT / "tables.jsonl")
    ours = version_of_package()
    lines, ratios, times = [], {noise: [] for noise in NOISES}, []
    for name in names:
        d = table(name)[0].shape[1]
        for noise in NOISES:
            errors: dict[str, list[float]] = {OURS: []} | {peer: [] for peer in PEERS}
            seconds: dict[str, float] = dict.fromkeys(errors, 0.0)
            for seed in range(halves):
                rows = half(name, seed, noise)
                for method in errors:
                    key = (name, seed, noise, f"{OURS} {ours}" if method == OURS else method)
                    model = (
                        kmpe.ELMRegressor(random_state=seed) if method == OURS else PEERS[method](d)
                    )
                    error, took = results.of(key, lambda m=model, r=rows: tried(m, *r))
                    errors[method].append(error)
                    seconds[method] += took
            means = {method: float(np.mean(values)) for method, values in errors.items()}
            best = min(PEERS, key=means.__getitem__)
            ratio = means[OURS] / means[best]
            ratios[noise].append(ratio)
            times.append(seconds[OURS] / seconds["SVR"])
            detail = {method: f"{mean:.3f}" for method, mean in means.items()}
            detail |= {"best": best, "time over SVR": f"{times[-1]:.2f}"}
            lines.append(bounded(f"{name}, {noise}", ratio, "x", 1.25, **detail))
            print(f"{name:>22} {noise:>7} {ratio:.3f}  {detail}", flush=True)
    for noise, most in (("clean", 1.0), ("spoilt", 0.8)):
        mean = float(np.exp(np.mean(np.log(ratios[noise]))))
        lines.append(bounded(f"geometric mean, {noise}", mean, "x", most))
    took = float(np.exp(np.mean(np.log(times))))
    lines.append(bounded("time over grid-searched SVR, geometric mean", took, "x", 1.0))
    return lines


def summary(lines: list[Line], halves: int) -> str:
    """Return the errors over the best peer's as a table for a page."""
    found = {line.what: line for line in lines}
    names = [line.what.rsplit(", ", 1)[0] for line in lines if "best" in line.detail]
    text = [
        f"Means over {halves} random halves of each table. Times are CPU times over the SVR's.",
        "",
        "| table | clean: error / best peer's | best peer | spoilt | best peer | time |",
        "|---|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(names):
        clean, spoilt = (found[f"{name}, {noise}"] for noise in NOISES)
        times = [float(line.detail["time over SVR"]) for line in (clean, spoilt)]
        text.append(
            f"| {name} | {clean.value:.2f} | {clean.detail['best']} | {spoilt.value:.2f} "
            f"| {spoilt.detail['best']} | {np.mean(times):.2f} |"
        )
    means = [found[f"geometric mean, {noise}"].value for noise in NOISES]
    took = found["time over grid-searched SVR, geometric mean"].value
    text.append(f"| geometric mean | {means[0]:.2f} |  | {means[1]:.2f} |  | {took:.2f} |")
    return "\n".join(text)


def put(path: Path, text: str) -> None:
    """Put a text between the marks of a page."""
    before, rest = path.read_text(encoding="utf-8").split(f"{START}\n", 1)
    after = rest.split(END, 1)[1]
    path.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}", encoding="utf-8")


def run(arguments: list[str] | None = None) -> list[Line]:
    """Compare on the tables that are promised, or on those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two halves instead of ten")
    parser.add_argument("--halves", type=int, default=10)
    parser.add_argument("--tables", nargs="+", default=TABLES, help='or "others"')
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put a summary into a page")
    given = parser.parse_args(arguments or [])
    names = OTHERS if list(given.tables) == ["others"] else tuple(given.tables)
    halves = 2 if given.quick else given.halves
    lines = compared(names, halves)
    if given.write:
        put(given.write, summary(lines, halves))
    return lines


if __name__ == "__main__":
    print(write("tables", run(sys.argv[1:])))
