"""Arrays of PyTorch on the CPU beside those of NumPy: ``python -m benchmarks devices``.

The same fit of the same rows, in turn, with as many threads for both. scikit-learn dispatches on
arrays where ``SCIPY_ARRAY_API=1`` is set before it is imported, so that the fits run in a process
that has it. ``--rows 20000`` is a quick look. It needs kmpe[torch].
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import numpy as np

from benchmarks.measure import Line, bounded, compared, interleave

D = 100


def data(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of which three columns carry most of the variance, a tenth of the targets bad."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, D))
    X[:, :3] *= [10.0, 7.0, 5.0]
    y = X @ np.linspace(-1.0, 1.0, D) + rng.standard_t(3, size=n)
    return X, y + 50 * (rng.random(n) < 0.1)


def estimators() -> dict[str, Any]:
    from kmpe import ELMClassifier, ELMRegressor, RobustLinearRegression, RobustPCA

    layer: dict[str, Any] = {"n_hidden": 100, "activation": "sigmoid", "random_state": 0}
    return {
        "RobustLinearRegression": RobustLinearRegression(),
        "ELMRegressor, random layer": ELMRegressor(**layer),
        "ELMClassifier, random layer": ELMClassifier(**layer),
        "RobustPCA": RobustPCA(3),
    }


def parameters(model: Any) -> np.ndarray:
    from kmpe.foreign import to_numpy

    return to_numpy(model.components_ if hasattr(model, "components_") else model.coef_)


def lines(n: int, rounds: int) -> list[Line]:
    import torch
    from sklearn import config_context
    from sklearn.base import clone

    X, y = data(n)
    found = []
    for name, model in estimators().items():
        targets = (y > 0).astype(np.int64) if "Classifier" in name else y
        given = {"numpy": (X, targets), "torch": (torch.from_numpy(X), torch.from_numpy(targets))}

        def fitted(library: str, model: Any = model, given: Any = given) -> Callable[[], Any]:
            def fit() -> Any:
                with config_context(array_api_dispatch=library == "torch"):
                    return clone(model).fit(*given[library])

            return fit

        timings = interleave({library: fitted(library) for library in given}, rounds)
        what, threads = f"{name}, {n} x {D}", torch.get_num_threads()
        found.append(
            compared(f"{what}, time over NumPy's", timings, "torch", "numpy", 1.5, threads=threads)
        )
        ours, theirs = (parameters(timings[library].value) for library in given)
        apart = float(np.abs(ours - theirs).max() / np.abs(ours).max())
        found.append(bounded(f"{what}, difference from NumPy", apart, "", 1e-8))
    return found


def run(options: list[str]) -> list[Line]:
    parser = argparse.ArgumentParser(prog="python -m benchmarks devices", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(options)
    threads = os.environ.get("OPENBLAS_NUM_THREADS", str(os.cpu_count()))
    environment = os.environ | {"SCIPY_ARRAY_API": "1", "OMP_NUM_THREADS": threads}
    command = [sys.executable, "-m", "benchmarks.devices", str(given.rows), str(given.rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    return [Line(**line) for line in json.loads(done.stdout)]


if __name__ == "__main__":
    print(json.dumps([asdict(line) for line in lines(int(sys.argv[1]), int(sys.argv[2]))]))
