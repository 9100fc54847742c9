"""How many degrees of freedom a random layer may spend: ``python benchmarks/spent_rows.py``.

Test errors of `ELMRegressor(activation="sigmoid")` on few rows, in standard deviations of the
target, clean and with a fifth of the training targets spoilt, with the two limits of
`kmpe.choice.penalty` halved and doubled: the largest share of the rows that the degrees of freedom
may reach (1 leaves it to generalised cross-validation), and the share above which no loss is chosen
from the residuals.
"""

import argparse
import warnings
from itertools import product

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import root_mean_squared_error
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from kmpe import ELMRegressor
from kmpe.choice import penalty
from kmpe.datasets import load

LIMITS = {"_MOST_SPENT": (0.25, 0.5, 1.0), "_TOO_FEW": (0.2, 0.4, 0.8)}


def steep(n, seed):
    """Return Gaussian inputs and a function that grows exponentially with the first of them."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, np.exp(X[:, 0]) + 0.3 * np.sin(X[:, 1])


def wavy(n, seed):
    """Return Gaussian inputs and a product of a wave and a line."""
    X = np.random.default_rng(seed).normal(size=(n, 3))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2] ** 2


def friedman(n, seed):
    return make_friedman1(n, n_features=6, noise=1.0, random_state=seed)


def yacht(n, seed):
    """Return n - 500 training rows of the yacht data, and its others to test."""
    found = load("yacht")
    X, others, y, y_others = train_test_split(
        found.X, found.y, train_size=n - 500, random_state=seed
    )
    inputs = StandardScaler().fit(X)
    X, others = inputs.transform(X), inputs.transform(others)
    return np.concatenate([X, others]), np.append(y, y_others)


def errors(make, n, draws, *, spoil):
    """Return the test error of each draw."""
    found = []
    for seed in range(draws):
        X, y = make(n + 500, seed)
        y = (y - y.mean()) / y.std()
        rng = np.random.default_rng([seed, 1])
        train = y[:n]
        if spoil:
            train = train + np.where(rng.random(n) < 0.2, rng.normal(0, 10, n), 0.0)
        model = ELMRegressor(activation="sigmoid", random_state=seed).fit(X[:n], train)
        found.append(root_mean_squared_error(y[n:], model.predict(X[n:])))
    return np.array(found)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--only", help="the name of one function")
    options = parser.parse_args()
    draws = options.draws
    warnings.simplefilter("ignore")
    print(f"Mean test error ± standard error, and the worst of {draws} draws")
    for make, n in ((yacht, 154), (steep, 60), (steep, 150), (wavy, 150), (friedman, 80)):
        if options.only not in (None, make.__name__):
            continue
        for name, spoil in product(LIMITS, (False, True)):
            given, words = getattr(penalty, name), []
            for value in LIMITS[name]:
                setattr(penalty, name, value)
                e = errors(make, n, draws, spoil=spoil)
                mean, error = e.mean(), e.std() / np.sqrt(draws)
                words.append(f"{value:5}: {mean:.3f} ±{error:.3f}, {e.max():6.2f}")
            setattr(penalty, name, given)
            head = f"{make.__name__} {n}, {'a fifth spoilt' if spoil else 'clean'}"
            print(f"{head:26} {name:12} " + "   ".join(words), flush=True)


if __name__ == "__main__":
    main()
