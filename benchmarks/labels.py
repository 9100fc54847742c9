"""`ELMClassifier()` with wrong labels beside peers: ``python -m benchmarks labels``.

Test accuracy on halves of real sets with at most 1000 training rows, of whose labels a share is
replaced by another class at random. Peers get standardised inputs, ours gets them as they are.
Results are kept in ``out/bench/labels.jsonl`` as those of `benchmarks.tables` are.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import kmpe
from benchmarks.measure import OUT, Line, at_least, bounded, write
from benchmarks.tables import Results, version_of_package
from kmpe.datasets import load

OURS = "ELMClassifier()"
#: The paper's eight and the digits; wine and wdbc are wine and breast cancer of scikit-learn.
SETS = ("digits", "wine", "wdbc", "glass", "ecoli", "user_knowledge", "leaf", "vehicle", "seeds")
#: Shares of wrong labels, and how many points of accuracy ours must have over the best peer.
SHARES = {0.0: -0.5, 0.2: 1.0, 0.4: 2.0}

PEERS: dict[str, Callable[[], Any]] = {
    "logistic regression": lambda: LogisticRegression(max_iter=2000),
    "SVC": SVC,
    "random forest": lambda: RandomForestClassifier(random_state=0),
    "HGB": lambda: HistGradientBoostingClassifier(random_state=0),
    "ridge": RidgeClassifier,
}


def data_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and classes from 0 on."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
    else:
        beside = Path(__file__).parents[2] / "shared" / "data"
        data = load(name, data_dir=beside if "KMPE_DATA" not in os.environ else None)
        X, y = data.X, data.y
    return np.asarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1]


def half(name: str, seed: int, share: float) -> tuple[Any, ...]:
    """Return training rows, which of their labels are wrong, and test rows."""
    X, X_test, y, y_test = train_test_split(*data_of(name), test_size=0.5, random_state=seed)
    X, y = X[:1000], y[:1000]
    rng = np.random.default_rng(seed)
    wrong = rng.random(len(y)) < share
    n_classes = y.max() + 1
    moved = (y + rng.integers(1, n_classes, len(y))) % n_classes
    return X, np.where(wrong, moved, y), wrong, X_test, y_test


def tried(model: Any, X: Any, y: Any, wrong: Any, X_test: Any, y_test: Any) -> list[float]:
    """Return accuracy, and shares of wrong and of right labels that are marked."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    accuracy = float(np.mean(model.predict(X_test) == y_test))
    marked = getattr(model, "outliers_", np.zeros(len(y), dtype=bool))
    return [accuracy, float(marked[wrong].sum()), float(marked[~wrong].sum()), float(wrong.sum())]


def compared(names: tuple[str, ...], halves: int) -> list[Line]:
    """Return mean accuracies over all sets beside the best peer's, and what was found."""
    results = Results(OUT / "labels.jsonl")
    ours = version_of_package()
    lines = []
    for share, over in SHARES.items():
        accuracies: dict[str, list[float]] = {OURS: []} | {peer: [] for peer in PEERS}
        found, right, n_wrong, n_right = 0.0, 0.0, 0.0, 0.0
        for name in names:
            means = {}
            for method in accuracies:
                outcomes = []
                for seed in range(halves):
                    model = (
                        kmpe.ELMClassifier(random_state=seed)
                        if method == OURS
                        else make_pipeline(StandardScaler(), PEERS[method]())
                    )
                    key = (name, seed, share, f"{OURS} {ours}" if method == OURS else method)
                    rows = half(name, seed, share)
                    outcomes.append(results.of(key, lambda m=model, r=rows: tried(m, *r)))
                    if method == OURS:
                        found += outcomes[-1][1]
                        right += outcomes[-1][2]
                        n_wrong += outcomes[-1][3]
                        n_right += len(rows[1]) - outcomes[-1][3]
                means[method] = 100 * float(np.mean([outcome[0] for outcome in outcomes]))
                accuracies[method].append(means[method])
            detail = {method: f"{mean:.1f}" for method, mean in means.items()}
            ahead = means[OURS] - max(means[peer] for peer in PEERS)
            lines.append(Line(f"{name}, {share:.0%} wrong: ahead", ahead, "points", detail=detail))
            print(f"{name:>22} {share:4.0%} {ahead:6.1f}  {detail}", flush=True)
        mean = {method: float(np.mean(values)) for method, values in accuracies.items()}
        best = max(PEERS, key=mean.__getitem__)
        detail = {method: f"{value:.1f}" for method, value in mean.items()} | {"best": best}
        lines.append(
            at_least(
                f"mean, {share:.0%} wrong: ahead", mean[OURS] - mean[best], "points", over, **detail
            )
        )
        if share == 0.2:
            lines.append(at_least("wrong labels found, 20%", found / n_wrong, "", 0.8))
            lines.append(bounded("right labels marked, 20%", right / n_right, "", 0.05))
    return lines


def run(arguments: list[str] | None = None) -> list[Line]:
    """Compare on all sets, or on those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--halves", type=int, default=5)
    parser.add_argument("--sets", nargs="+", default=SETS, choices=SETS)
    given = parser.parse_args(arguments or [])
    return compared(tuple(given.sets), given.halves)


if __name__ == "__main__":
    print(write("labels", run(sys.argv[1:])))
