"""What robust learners of any kind must show: ``python -m benchmarks anything``.

Every part is kept in out/bench/anything as soon as it is there, and a run that was stopped goes on;
``python -m benchmarks.anything --quick`` has one half of each table instead of three, ``--only
boosters torch`` has these comparisons alone, and ``--write docs/anything.md`` puts the table into
the page. XGBoost, LightGBM and PyTorch must be installed (`make test-integrations` does so).
"""

import argparse
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import torch
import xgboost
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, make_friedman1
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.model_selection import GridSearchCV, train_test_split

from benchmarks.measure import OUT, Line, bounded, write
from benchmarks.real_tables import COMMON, OTHERS, PAPER, halves, spoil, table
from kmpe import RobustClassifier, RobustRegressor
from kmpe.boosting import Objective
from kmpe.metrics import robust_scorer
from kmpe.torch import KMPELoss

LEARNERS = {
    "HistGradientBoosting": HistGradientBoostingRegressor(random_state=0),
    "LightGBM": lightgbm.LGBMRegressor(verbose=-1, n_jobs=1),
    "forest": RandomForestRegressor(random_state=0),
}
CASES = {
    "clean": (0.0, "wide", 1.03),
    "20% spoilt": (0.2, "wide", 1.10),
    "30% moved up": (0.3, "up", 1.20),
}
MARKS = re.compile(r"(<!-- summary -->\n).*?(<!-- end of summary -->)", re.DOTALL)
# At least 300 training rows.
NAMES = (*PAPER, *COMMON, "diabetes", "friedman1", *OTHERS)
TABLES = [name for name in NAMES if len(table(name)[1]) >= 600]


def rmse(y: np.ndarray, predicted: np.ndarray) -> float:
    return float(np.sqrt(np.mean((y - np.ravel(predicted)) ** 2)))


def kept(part: str, compute: Callable[[], Any]) -> Any:
    """Return what a part has measured, from its file if it has been there before."""
    path = OUT / "anything" / f"{part.replace(' ', '_').replace('%', '')}.json"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        value = compute()
        path.write_text(json.dumps(value))
        print(part, value, flush=True)
    return json.loads(path.read_text())


def cases(name: str, case: str, draws: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield training rows with targets as they are said to be, which are spoilt, and test rows."""
    share, kind, _ = CASES[case]
    for seed, (X, y, X_test, y_test) in enumerate(halves(name, draws)):
        spoilt_y, bad = spoil(y, share, kind, seed)
        yield X, spoilt_y, bad, X_test, y_test


def regressor(learner: Any, name: str, case: str, seed: int) -> list[float]:
    """Return errors of the learner on the unspoilt rows, on all rows, and made robust."""
    *_, (X, y, bad, X_test, y_test) = cases(name, case, seed + 1)
    alone = clone(learner).fit(X[~bad], y[~bad])
    models = (alone, clone(learner).fit(X, y), RobustRegressor(learner).fit(X, y))
    return [rmse(y_test, model.predict(X_test)) for model in models]


def regressors(draws: int, learners: list[str]) -> Iterator[Line]:
    for learner in learners:
        for case, (_, _, most) in CASES.items():
            ratios = {}
            for name in TABLES:
                model = LEARNERS[learner]
                errors = [
                    kept(
                        f"{learner} {case} {name} half {s}",
                        lambda m=model, n=name, c=case, s=s: regressor(m, n, c, s),
                    )
                    for s in range(draws)
                ]
                alone, spoilt, robust = np.mean(errors, axis=0)
                ratios[name] = [spoilt / alone, robust / alone]
            plain = np.exp(np.mean(np.log([p for p, _ in ratios.values()])))
            worst = max(ratios, key=lambda name: ratios[name][1])
            each = " ".join(f"{name} {robust:.2f}" for name, (_, robust) in ratios.items())
            what = f"RobustRegressor({learner}), {case}, worst table ({worst})"
            yield bounded(what, ratios[worst][1], "x", most, plain=f"{plain:.2f}", tables=each)


def classifier(name: str, flipped: float, seed: int = 0) -> list[float]:
    """Return accuracies: of the learner on right labels, on flipped ones, and made robust."""
    X, y = {"digits": load_digits, "breast cancer": load_breast_cancer}[name](return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    rng = np.random.default_rng(seed)
    wrong = rng.permutation(len(y))[: round(flipped * len(y))]
    classes = np.unique(y)
    labels = y.copy()
    labels[wrong] = (y[wrong] + rng.integers(1, len(classes), len(wrong))) % len(classes)
    learner = HistGradientBoostingClassifier(random_state=0)
    models = (
        clone(learner).fit(X, y),
        clone(learner).fit(X, labels),
        RobustClassifier(learner).fit(X, labels),
    )
    return [float(model.score(X_test, y_test)) for model in models]


def classifiers(draws: int) -> Iterator[Line]:
    for name in ("breast cancer", "digits"):
        for flipped in (0.2, 0.4):
            # Ten classes take minutes a half; results on a few hundred rows vary between halves.
            seeds = range(2 * draws + 4 if name == "breast cancer" else draws // 2 + 1)
            scores = [
                kept(f"{name} {flipped} {s}", lambda n=name, f=flipped, s=s: classifier(n, f, s))
                for s in seeds
            ]
            right, plain, robust = np.mean(scores, axis=0)
            back = (robust - plain) / max(right - plain, 1e-9)
            detail = {"right labels": f"{right:.3f}", "plain": f"{plain:.3f}"}
            detail |= {"robust": f"{robust:.3f}", "halves": len(scores)}
            what = f"RobustClassifier, {name}, {flipped:.0%} flipped: share that comes back"
            yield Line(what, back, "", ">= 0.5", back >= 0.5, detail)


BOOSTERS: dict[str, Callable[..., Any]] = {
    "XGBoost": lambda objective: xgboost.XGBRegressor(objective=objective, n_jobs=1),
    "LightGBM": lambda objective: lightgbm.LGBMRegressor(objective=objective, verbose=-1, n_jobs=1),
}
OWN = {
    "XGBoost": ("reg:squarederror", "reg:pseudohubererror", "reg:absoluteerror"),
    "LightGBM": ("regression", "huber", "regression_l1"),
}


def booster(library: str, name: str, case: str, draws: int) -> list[float]:
    """Return errors of squared error, their Huber and absolute error, and of our objective."""
    errors = []
    for X, y, _, X_test, y_test in cases(name, case, draws):
        models = [BOOSTERS[library](objective) for objective in (*OWN[library], Objective())]
        errors.append([rmse(y_test, model.fit(X, y).predict(X_test)) for model in models])
    return list(np.mean(errors, axis=0))


def boosters(draws: int) -> Iterator[Line]:
    for library in BOOSTERS:
        for case in CASES:
            errors = [
                kept(
                    f"objective {library} {case} {name} {draws}",
                    lambda li=library, n=name, c=case: booster(li, n, c, draws),
                )
                for name in TABLES
            ]
            logs = np.log(errors)
            rivals = (0,) if case == "clean" else (1, 2)
            for rival in rivals:
                ratio = float(np.exp(np.mean(logs[:, 3] - logs[:, rival])))
                what = f"objective in {library} over {OWN[library][rival]}, {case}, geometric mean"
                yield bounded(what, ratio, "x", 1.02 if case == "clean" else 1.0)


def network(criterion: Any, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Return what a network with a hidden layer of 64 nodes predicts."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01, weight_decay=1e-4)
    centre, unit = np.median(y), np.median(np.abs(y - np.median(y))) / 0.6745
    inputs, T = (torch.tensor(a, dtype=torch.float32) for a in (2 * X - 1, (y - centre) / unit))
    rows = torch.utils.data.TensorDataset(inputs, T[:, None])
    batches = torch.utils.data.DataLoader(rows, 50, shuffle=True)
    for _ in range(60):
        for some, targets in batches:
            optimiser.zero_grad()
            criterion(net(some), targets).backward()
            optimiser.step()
    predicted = net(torch.tensor(2 * X_test - 1, dtype=torch.float32)).detach().numpy()
    return np.asarray(centre + unit * predicted[:, 0])


def networks(draws: int) -> list[float]:
    """Return mean errors: SmoothL1 on clean rows; SmoothL1 and KMPE with a fifth spoilt."""
    errors = []
    for seed in range(draws):
        X, y = make_friedman1(500, noise=1.0, random_state=seed)
        X_test, y_test = make_friedman1(2000, noise=0.0, random_state=1000 + seed)
        spoilt_y, _ = spoil(y, 0.2, "wide", seed)
        fits = ((torch.nn.SmoothL1Loss(), y), (torch.nn.SmoothL1Loss(), spoilt_y))
        fits = (*fits, (KMPELoss(), spoilt_y))
        errors.append([rmse(y_test, network(loss, X, T, X_test)) for loss, T in fits])
    return list(np.mean(errors, axis=0))


def torch_lines(draws: int) -> Iterator[Line]:
    clean, smooth, ours = kept(f"torch {draws}", lambda: networks(draws))
    share = (ours - clean) / (smooth - clean)
    errors = {"clean": f"{clean:.2f}", "SmoothL1": f"{smooth:.2f}", "KMPE": f"{ours:.2f}"}
    yield bounded("network, Friedman 1, excess over SmoothL1's", share, "x", 0.5, **errors)


def search(name: str, case: str, draws: int) -> list[float]:
    """Return test errors over the best of the grid, of its loss as well: squared error, robust."""
    grid = {"objective": ["regression", "l1"], "num_leaves": [4, 15, 31]}
    grid |= {"learning_rate": [0.03, 0.1]}
    learner = lightgbm.LGBMRegressor(n_estimators=80, verbose=-1, n_jobs=1)
    ratios = []
    for X, y, _, X_test, y_test in cases(name, case, draws):
        searches = [
            GridSearchCV(learner, grid, scoring=scoring, cv=5, refit=False).fit(X, y)
            for scoring in ("neg_mean_squared_error", robust_scorer)
        ]
        errors = [
            rmse(y_test, clone(learner).set_params(**options).fit(X, y).predict(X_test))
            for options in searches[0].cv_results_["params"]
        ]
        ratios.append([errors[int(s.best_index_)] / min(errors) for s in searches])
    return list(np.mean(ratios, axis=0))


def searches(draws: int) -> Iterator[Line]:
    for case in ("20% spoilt", "30% moved up"):
        found = {
            name: kept(f"search {case} {name} {draws}", lambda n=name, c=case: search(n, c, draws))
            for name in TABLES
        }
        squared, robust = np.mean(list(found.values()), axis=0)
        each = " ".join(f"{name} {ours:.3f}" for name, (_, ours) in found.items())
        what = f"search, {case}, over the best, by"
        yield bounded(f"{what} robust_scorer", robust, "x", 1.03, tables=each)
        yield Line(f"{what} neg_mean_squared_error", squared, "x")


PARTS: dict[str, Callable[[int], Iterator[Line]]] = {
    **{name: lambda draws, name=name: regressors(draws, [name]) for name in LEARNERS},
    "boosters": boosters,
    "torch": torch_lines,
    "search": searches,
    "classifiers": classifiers,
}


def options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one half of each table")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS), metavar="PART")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page")
    return parser.parse_args(arguments)


def run(arguments: list[str] | None = None) -> list[Line]:
    """Return the comparison; the arguments are those of the command."""
    chosen = options(arguments)
    draws = 1 if chosen.quick else 3
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        lines = [line for name in chosen.only for line in PARTS[name](draws)]
    if chosen.write:
        put(chosen.write, lines, chosen)
    return lines


def put(page: Path, lines: list[Line], chosen: argparse.Namespace) -> None:
    """Put the table between the marks of a page."""
    text = page.read_text("utf-8")
    if not MARKS.search(text):
        sys.exit(f"{page} has no <!-- summary --> ... <!-- end of summary --> to write between.")
    command = "python -m benchmarks.anything" + " --quick" * chosen.quick
    command += "" if chosen.only == list(PARTS) else f" --only {' '.join(chosen.only)}"
    halves = "one random half (breast cancer: six)"
    if not chosen.quick:
        halves = "three random halves (breast cancer: ten, digits: two)"
    rows = ["| comparison | measured | asked |", "|---|---|---|"]
    for line in lines:
        missed = line.met is not None and not line.met  # NumPy's False is not False
        measured = f"**{line.value:.2f}**" if missed else f"{line.value:.2f}"
        rows.append(f"| {line.what} | {measured} | {line.target} |")
    table = "\n".join(rows)
    said = f"`{command} --write docs/anything.md`, {halves} of each table; bold: not reached.\n\n"
    page.write_text(MARKS.sub(lambda m: f"{m[1]}\n{said}{table}\n\n{m[2]}", text), "utf-8")


if __name__ == "__main__":
    print(write("anything", run()))
