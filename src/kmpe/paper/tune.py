"""Parameters chosen by five-fold cross-validation, as in the paper."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, ParameterGrid, RandomizedSearchCV

from kmpe import KMPE, Correntropy, ELMClassifier, ELMRegressor, Squared
from kmpe.paper.settings import Machine, seed_of

__all__ = ["tune"]

_NODES = (10, 25, 50, 100, 150, 200)
_ALPHAS = tuple(float(a) for a in 10.0 ** np.arange(-7, 0))
_SIGMAS = (0.3, 0.5, 0.8, 1.2, 1.8)
_POWERS = (1.0, 1.6, 2.2, 2.8, 4.0)
# The grid of ELM-KMPE has 1050 points; a random search tries this many of them.
_CANDIDATES = 60


def tune(task: str, X: Any, y: Any, seed: int, name: str) -> dict[str, Machine]:
    """Return for each method the machine with the best cross-validated score."""
    losses: Mapping[str, tuple[Any, dict[str, Any]]] = {
        "ELM": (Squared(), {"alpha": [0.0]}),
        "RELM": (Squared(), {"alpha": _ALPHAS}),
        "ELM-RCC": (Correntropy(1.0), {"alpha": _ALPHAS, "loss__sigma": _SIGMAS}),
        "ELM-KMPE": (KMPE(2, 1.0), {"alpha": _ALPHAS, "loss__sigma": _SIGMAS, "loss__p": _POWERS}),
    }
    best = {}
    for method, (loss, grid) in losses.items():
        state = seed_of(seed, "tune", name, method)
        estimator = (ELMRegressor if task == "regression" else ELMClassifier)(
            loss, activation="sigmoid", random_state=state
        )
        grid = {"n_hidden": _NODES, **grid}
        search = RandomizedSearchCV(
            estimator,
            grid,
            n_iter=min(_CANDIDATES, len(ParameterGrid(grid))),
            scoring="neg_root_mean_squared_error" if task == "regression" else "accuracy",
            cv=KFold(5, shuffle=True, random_state=state),
            refit=False,
            random_state=state,
        ).fit(X, y)
        found = search.best_params_
        best[method] = Machine(
            found["n_hidden"], found["alpha"], found.get("loss__sigma"), found.get("loss__p")
        )
    return best
