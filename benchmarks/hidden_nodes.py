"""What the choice of the hidden nodes is worth: ``python benchmarks/hidden_nodes.py``.

Test errors of `ELMRegressor(activation="sigmoid")` on halves of data sets, in standard deviations
of the target, with fixed numbers of nodes and with ``n_hidden="auto"``; once clean, once with a
fifth of the training targets spoilt. The paper's data sets are used where they are found
(docs/reproduce.md).
"""

import argparse
import warnings
from time import perf_counter

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kmpe import ELMRegressor
from kmpe.datasets import DatasetNotFoundError, load

PAPER = ("servo", "slump", "concrete", "housing", "yacht", "airfoil", "winequality_red")
NODES = (50, 100, 200, 400, 800, "auto")


def data_sets():
    yield "Friedman 1", *make_friedman1(1000, noise=1.0, random_state=0)
    yield "diabetes", *load_diabetes(return_X_y=True)
    for name in PAPER:
        try:
            found = load(name)
        except DatasetNotFoundError:
            print(f"{name}: not found")
        else:
            yield found.title, found.X, found.y


def halves(X, y, seed, *, spoil):
    """Return standardised training and test rows."""
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    inputs = StandardScaler().fit(X)
    centre, width = y.mean(), y.std()
    y, y_test = (y - centre) / width, (y_test - centre) / width
    if spoil:
        rng = np.random.default_rng(seed)
        y = y + np.where(rng.random(len(y)) < 0.2, rng.normal(0, 10, len(y)), 0)
    return inputs.transform(X), y, inputs.transform(X_test), y_test


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=20)
    draws = parser.parse_args().draws
    warnings.simplefilter("ignore", ConvergenceWarning)
    print(f"| data | {' | '.join(map(str, NODES))} | chosen | time over that of 100 |")
    print("|---" * (len(NODES) + 3) + "|")
    for title, X, y in data_sets():
        for spoil in (False, True):
            errors, seconds, chosen = np.empty((draws, len(NODES))), np.zeros(len(NODES)), []
            for seed in range(draws):
                X_train, y_train, X_test, y_test = halves(X, y, seed, spoil=spoil)
                for j, nodes in enumerate(NODES):
                    start = perf_counter()
                    model = ELMRegressor(
                        n_hidden=nodes, activation="sigmoid", random_state=seed
                    ).fit(X_train, y_train)
                    seconds[j] += perf_counter() - start
                    errors[seed, j] = root_mean_squared_error(y_test, model.predict(X_test))
                chosen.append(model.n_hidden_)
            cells = [f"{error:.3f}" for error in errors.mean(axis=0)]
            cells += [f"{np.mean(chosen):.0f}", f"{seconds[-1] / seconds[1]:.1f}"]
            name = f"{title}, {len(X) // 2} rows{', spoilt' if spoil else ''}"
            print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
