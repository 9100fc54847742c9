"""Peers on the same data: accuracy against the clean truth, time, and whether they converged.

The question of a maintainer of scikit-learn is among them: why not a pipeline of random features
and HuberRegressor?
"""

import importlib
import sys
import time
import warnings

import numpy as np
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    HuberRegressor,
    LinearRegression,
    RANSACRegressor,
    Ridge,
    TheilSenRegressor,
)

from benchmarks.measure import Line
from benchmarks.problems import hidden, inputs
from kmpe import KMPE, ELMRegressor

N, D, HIDDEN = 20_000, 20, 200


def truth(X):
    return np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def line(name, fit, predict, X_test) -> Line:
    """Time one fit and measure its error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        fitted = fit()
        seconds = time.perf_counter() - start
    error = float(np.sqrt(np.mean((predict(fitted) - truth(X_test)) ** 2)))
    unsettled = any(
        issubclass(w.category, ConvergenceWarning) or "converge" in str(w.message).lower()
        for w in caught
    )
    steps = getattr(fitted, "n_iter_", getattr(fitted, "n_trials_", ""))
    detail = {"error to the truth": f"{error:.4f}", "steps": steps, "converged": not unsettled}
    return Line(name, seconds, "s", detail=detail)


def on_features(X, y, X_test) -> list[Line]:
    """Robust regressors of scikit-learn and statsmodels on the hidden layer's output."""
    H, H_test = hidden(X, HIDDEN), hidden(X_test, HIDDEN)
    lines = []
    regressors = {
        "Ridge": Ridge(alpha=1e-3),
        "random features + HuberRegressor": HuberRegressor(alpha=1e-3, max_iter=100),
        "random features + HuberRegressor, 1000 steps": HuberRegressor(alpha=1e-3, max_iter=1000),
        "random features + RANSACRegressor": RANSACRegressor(
            LinearRegression(), min_samples=2 * HIDDEN, random_state=0
        ),
    }
    for name, regressor in regressors.items():
        predict = lambda fitted: fitted.predict(H_test)  # noqa: E731 - one per round
        lines.append(line(name, lambda r=regressor: r.fit(H, y), predict, X_test))
    lines.append(theil_sen(H, y, H_test, X_test))
    lines.append(rlm(H, y, H_test, X_test))
    return lines


def theil_sen(H, y, H_test, X_test) -> Line:
    # Its subsets have as many rows as there are features: on 200 of them it takes minutes for
    # a fit of no use. 2 000 rows and few subsets show the order of magnitude.
    model = TheilSenRegressor(max_subpopulation=50, random_state=0)
    name = "random features + TheilSenRegressor, 2000 rows, 50 subsets"
    return line(name, lambda: model.fit(H[:2000], y[:2000]), lambda m: m.predict(H_test), X_test)


def rlm(H, y, H_test, X_test) -> Line:
    import statsmodels.api as sm

    model = sm.RLM(y, H, M=sm.robust.norms.TukeyBiweight())
    return line("statsmodels RLM, Tukey", model.fit, lambda m: H_test @ m.params, X_test)


class Skelm:
    """scikit-elm, which prints and changes its inputs."""

    def __init__(self):
        module = importlib.import_module("skelm")
        self.model = module.ELMRegressor(n_neurons=HIDDEN, alpha=1e-3)

    def fit(self, X, y):
        self.model.fit(X.copy(), y.copy())
        return self

    def predict(self, X):
        return np.ravel(self.model.predict(X.copy()))


class Hpelm:
    """hpelm, with its own ridge penalty."""

    def fit(self, X, y):
        module = importlib.import_module("hpelm")
        self.model = module.ELM(X.shape[1], 1, norm=1e-3)
        self.model.add_neurons(HIDDEN, "sigm")
        self.model.train(X, y[:, None], "r")
        return self

    def predict(self, X):
        return np.ravel(self.model.predict(X))


class Pyoselm:
    """pyoselm, which has no penalty."""

    def fit(self, X, y):
        module = importlib.import_module("pyoselm")
        self.model = module.ELMRegressor(n_hidden=HIDDEN, activation_func="sigmoid", random_state=0)
        self.model.fit(X, y)
        return self

    def predict(self, X):
        return np.ravel(self.model.predict(X))


class Gfdl:
    """gfdl without its direct links: an extreme learning machine."""

    def fit(self, X, y):
        module = importlib.import_module("gfdl.model")
        self.model = module.GFDLRegressor(
            hidden_layer_sizes=(HIDDEN,),
            activation="sigmoid",
            direct_links=False,
            reg_alpha=1e-3,
            seed=0,
        )
        self.model.fit(X, y)
        return self

    def predict(self, X):
        return np.ravel(self.model.predict(X))


def machines(X, y, X_test) -> list[Line]:
    """Other packages' extreme learning machines; those that do not run here are named."""
    lines = []
    for peer in (Skelm, Hpelm, Pyoselm, Gfdl):
        name = f"ELM of {peer.__name__.lower()}"
        try:
            fit = lambda peer=peer: peer().fit(X, y)  # noqa: E731 - one per round
            lines.append(line(name, fit, lambda m: m.predict(X_test), X_test))
        except Exception as error:  # whatever stops a peer is what we report
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            lines.append(Line(f"{name} does not run here ({reason[:120]})", float("nan"), ""))
    return lines


def run() -> list[Line]:
    X, y = inputs(N, D)
    X_test, _ = inputs(5000, D, seed=2)
    lines = []
    for loss in (KMPE(p=2), KMPE(p=4)):
        model = ELMRegressor(
            loss, n_hidden=HIDDEN, activation="sigmoid", alpha=1e-3, random_state=1
        )
        lines.append(
            line(
                f"kmpe ELMRegressor({loss})",
                lambda m=model: m.fit(X, y),
                lambda m: m.predict(X_test),
                X_test,
            )
        )
    start = time.perf_counter()
    PCA(10).fit(X)
    lines.append(Line("scikit-learn PCA on X, for scale", time.perf_counter() - start, "s"))
    lines += machines(X, y, X_test)
    lines += on_features(X, y, X_test)
    print(f"python {sys.version.split()[0]}: gfdl needs 3.12 or later", file=sys.stderr)
    return lines
