"""Section V.A: estimation of the sinc function under two kinds of noise (Table 2, Figure 1)."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.metrics import root_mean_squared_error

from kmpe import ELMRegressor
from kmpe.datasets import make_sinc
from kmpe.paper.settings import DEFAULT, Machine, seed_of, settings

__all__ = ["curves", "draw", "training_data"]


def draw(noise: str, machines: Mapping[str, Machine], seed: int, repeat: int) -> dict[str, float]:
    """Return the testing RMSE (32) of each method on one draw of the data.

    200 noisy samples for training, 200 without noise for testing; inputs are not scaled.
    """
    X, y, X_test, y_test = _data(noise, seed, repeat)
    models = {method: _build(machine, seed, repeat) for method, machine in machines.items()}
    kmpe = machines["ELM-KMPE"]
    models[DEFAULT] = ELMRegressor(
        n_hidden=kmpe.L,
        activation="sigmoid",
        alpha=kmpe.alpha,
        random_state=_layer(seed, repeat),
    )
    return {
        method: float(root_mean_squared_error(y_test, model.fit(X, y).predict(X_test)))
        for method, model in models.items()
    }


def curves(noise: str, machines: Mapping[str, Machine], seed: int, repeat: int) -> dict[str, Any]:
    """Return what Figure 1 shows: the samples, the true function and the four estimates."""
    X, y, _, _ = _data(noise, seed, repeat)
    grid = np.linspace(-10, 10, 401)
    found: dict[str, Any] = {
        "x": X[:, 0].tolist(),
        "y": y.tolist(),
        "grid": grid.tolist(),
        "sinc": (8 * np.sinc(grid / np.pi)).tolist(),
    }
    for method, machine in machines.items():
        model = _build(machine, seed, repeat).fit(X, y)
        found[method] = model.predict(grid[:, None]).tolist()
    return found


def training_data(noise: str, seed: int, repeat: int) -> tuple[Any, Any]:
    """Return the noisy samples of a draw."""
    return _data(noise, seed, repeat)[:2]


def _data(noise: str, seed: int, repeat: int) -> tuple[Any, Any, Any, Any]:
    sizes = settings()["sinc"]
    X, y = make_sinc(
        sizes["train"], noise=noise, random_state=seed_of(seed, "sinc", noise, repeat, "train")
    )
    X_test, y_test = make_sinc(
        sizes["test"], noise=None, random_state=seed_of(seed, "sinc", noise, repeat, "test")
    )
    return X, y, X_test, y_test


def _build(machine: Machine, seed: int, repeat: int) -> ELMRegressor:
    return ELMRegressor(
        machine.loss,
        n_hidden=machine.L,
        activation="sigmoid",
        alpha=machine.alpha,
        random_state=_layer(seed, repeat),
    )


def _layer(seed: int, repeat: int) -> int:
    return seed_of(seed, "sinc", "hidden layer", repeat)
