"""Section V.B: regression and classification on benchmark data sets (Tables 7 and 8)."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.linear_model import HuberRegressor
from sklearn.metrics import root_mean_squared_error

from kmpe import ELMClassifier, ELMRegressor
from kmpe.datasets import Dataset
from kmpe.metrics import clustering_accuracy
from kmpe.paper.settings import DEFAULT, Benchmark, Machine, seed_of

__all__ = ["build", "draw", "prepare", "split"]


def prepare(row: Benchmark, data: Dataset) -> tuple[Any, Any]:
    """Return the inputs and targets as the paper uses them.

    Regression: every column, including the target, is scaled to [0, 1]. Classification: the
    inputs are scaled, unless the row says otherwise.
    """
    X = np.column_stack([data.X, *(data.aside[name] for name in row.add)])
    keep = np.ones(len(X), dtype=bool)
    for name, value in row.only.items():
        keep &= data.aside[name] == value
    X, y = X[keep], data.y[keep]
    if row.scale:
        X = _unit(X)
    return X, _unit(y) if row.task == "regression" else y


def split(row: Benchmark, n: int, seed: int, repeat: int) -> tuple[Any, Any]:
    """Return the row numbers of a random training set and testing set.

    Wdbc has fewer rows than the paper says: its testing set is what the training set leaves.
    """
    rng = np.random.RandomState(seed_of(seed, row.data, repeat, "split"))
    order = rng.permutation(n)
    return order[: row.train], order[row.train : row.train + row.test]


def build(row: Benchmark, machine: Machine, random_state: int) -> BaseEstimator:
    """Return the estimator of a machine for the task of a row."""
    estimator = ELMRegressor if row.task == "regression" else ELMClassifier
    return estimator(
        machine.loss,
        n_hidden=machine.L,
        activation="sigmoid",
        alpha=machine.alpha,
        random_state=random_state,
    )


def draw(row: Benchmark, X: Any, y: Any, seed: int, repeat: int) -> dict[str, list[float]]:
    """Return the training and testing score of each method on one random split."""
    train, test = split(row, len(X), seed, repeat)
    # Methods with the same number of nodes share one hidden layer in each repeat.
    layer = seed_of(seed, row.data, repeat, "hidden layer")
    models = {method: build(row, machine, layer) for method, machine in row.machines.items()}
    kmpe = row.machines["ELM-KMPE"]
    estimator = ELMRegressor if row.task == "regression" else ELMClassifier
    models[DEFAULT] = estimator(
        n_hidden=kmpe.L, activation="sigmoid", alpha=kmpe.alpha, random_state=layer
    )
    if row.task == "regression":
        models["HuberRegressor"] = HuberRegressor(alpha=0.0, max_iter=1000)
    scores = {}
    for method, model in models.items():
        model.fit(X[train], y[train])
        scores[method] = [_score(row, y[part], model.predict(X[part])) for part in (train, test)]
    return scores


def _score(row: Benchmark, true: Any, predicted: Any) -> float:
    """RMSE (32), or ACC (33) in per cent after Kuhn-Munkres matching of the labels."""
    if row.task == "regression":
        return float(root_mean_squared_error(true, predicted))
    return 100 * clustering_accuracy(true, predicted)


def _unit(values: Any) -> Any:
    low, high = values.min(axis=0), values.max(axis=0)
    return (values - low) / np.where(high > low, high - low, 1.0)
