"""Random cases: an estimator, its loss, and data of any shape, scale, structure and container.

A case follows from its seed alone. Half of the cases are plain Gaussian tables in plain arrays, so
that each unusual trait is also seen by itself.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from benchmarks.abuse.containers import CONTAINERS, wrapped
from kmpe import (
    KMPE,
    MPE,
    PCAL1,
    Cauchy,
    ConformalRegressor,
    Correntropy,
    ELMClassifier,
    ELMRegressor,
    Huber,
    RobustLinearRegression,
    RobustPCA,
    Squared,
    Trimmed,
    Tukey,
)

# And "stream", a fifth of "elm".
ESTIMATORS = ("linear", "elm", "classifier", "pca", "pca_l1", "conformal")
ROWS = (1, 2, 3, 5, 8, 13, 25, 40, 70, 120, 250)
COLUMNS = (1, 2, 3, 4, 6, 9, 15, 40, 100, 300)


class Streamed(ELMRegressor):
    """A machine that is given batches."""

    def fit(self, X, y, sample_weight=None):
        """Go on with a list of batches."""
        for k, batch in enumerate(X):
            a = None if sample_weight is None else sample_weight[k]
            self.partial_fit(batch, y[k], sample_weight=a)
        return self


@dataclass(frozen=True)
class Case:
    """What is fitted: X and y as they are in numbers, and how X is handed over."""

    seed: int
    estimator: str
    loss: Any
    options: dict[str, Any]
    structure: str
    X: np.ndarray
    y: np.ndarray | None
    a: np.ndarray | None
    weights: str
    container: str
    scales: tuple[float, float]
    #: Of a stream, the number of the batch that each row comes with.
    batch: np.ndarray | None = None

    @property
    def default(self) -> bool:
        """Whether the estimator is used with its default settings."""
        return self.loss == "default" and not self.options

    @property
    def benign(self) -> bool:
        """Whether nothing about the data is unusual."""
        n, d = self.X.shape
        plain = self.structure in ("gaussian", "outliers", "heavy tails")
        return plain and self.scales == (1.0, 1.0) and self.a is None and n >= 5 * (d + 1)

    def model(self) -> Any:
        """Return the estimator, not fitted."""
        given = {} if self.loss == "default" else {"loss": self.loss}
        if self.estimator == "conformal":
            return ConformalRegressor(RobustLinearRegression(**given), cv=3)
        kind = {
            "linear": RobustLinearRegression,
            "elm": ELMRegressor,
            "stream": Streamed,
            "classifier": ELMClassifier,
            "pca": RobustPCA,
            "pca_l1": PCAL1,
        }[self.estimator]
        model = kind(**given, **self.options)
        return model.set_params(random_state=0) if hasattr(model, "random_state") else model

    def inputs(self) -> Any:
        """Return X in its container."""
        return wrapped(self.X, self.container)

    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return what is given to ``fit``."""
        if self.batch is not None:
            parts = [self.rows(self.batch == number) for number in np.unique(self.batch)]
            weights = [part.a for part in parts]
            given = {} if self.a is None else {"sample_weight": weights}
            return ([part.inputs() for part in parts], [part.y for part in parts]), given
        given = {} if self.a is None else {"sample_weight": self.a}
        return ((self.inputs(),) if self.y is None else (self.inputs(), self.y)), given

    def rows(self, chosen: np.ndarray) -> "Case":
        """Return the case with some of its rows, maybe some of them twice."""
        return replace(
            self,
            X=self.X[chosen],
            y=None if self.y is None else self.y[chosen],
            a=None if self.a is None else self.a[chosen],
            batch=None if self.batch is None else self.batch[chosen],
        )

    def plain(self) -> "Case":
        """Return the case with X as an array, if its container holds the same numbers."""
        return replace(self, container="array") if CONTAINERS[self.container].exact else self

    def __str__(self) -> str:
        n, d = self.X.shape
        loss = self.loss if isinstance(self.loss, str) else str(self.loss)
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        scales = "" if self.scales == (1.0, 1.0) else ", X times {:.1e}, y times {:.1e}"
        return (
            f"seed {self.seed}: {self.estimator}({loss}{options}), {n} x {d} {self.structure}, "
            f"{self.container}, weights {self.weights}" + scales.format(*self.scales)
        )


def draw(seed: int) -> Case:
    """Return the case of a seed."""
    rng = np.random.default_rng([20160924, seed])
    estimator = str(rng.choice(ESTIMATORS, p=[0.35, 0.25, 0.15, 0.15, 0.05, 0.05]))
    n, d = int(rng.choice(ROWS)), int(rng.choice(COLUMNS, p=_shares(len(COLUMNS))))
    structure = "gaussian" if rng.random() < 0.4 else str(rng.choice(list(STRUCTURES)))
    X = STRUCTURES[structure](rng, n, d)
    scales = _scale(rng), _scale(rng) if estimator != "classifier" else 1.0
    container = "array" if rng.random() < 0.5 else str(rng.choice(list(CONTAINERS)))
    X = CONTAINERS[container].rounded(X * scales[0])
    y = None if estimator.startswith("pca") else _targets(rng, X / scales[0], structure, estimator)
    if y is not None and estimator != "classifier":
        y = y * scales[1]
    weights = "none" if rng.random() < 0.6 else str(rng.choice(list(WEIGHTS)))
    a = WEIGHTS[weights](rng, n) if weights != "none" else None
    loss = "default" if rng.random() < 0.5 else LOSSES[int(rng.integers(len(LOSSES)))]
    if estimator == "pca_l1":
        loss = "default"
    options = _options(rng, estimator, X.shape)
    case = Case(seed, estimator, loss, options, structure, X, y, a, weights, container, scales)
    other = np.random.default_rng([2, seed])
    if estimator == "elm" and other.random() < 0.2:
        return replace(case, estimator="stream", batch=np.sort(other.integers(0, 4, n)))
    return case


def _shares(count: int) -> np.ndarray:
    """Return probabilities that fall: wide tables take long."""
    shares = 0.75 ** np.arange(count)
    return shares / shares.sum()


def _scale(rng: np.random.Generator) -> float:
    u = rng.random()
    if u < 0.6:
        return 1.0
    return float(10 ** (rng.uniform(-6, 6) if u < 0.85 else rng.uniform(-150, 150)))


def _options(rng: np.random.Generator, estimator: str, shape: tuple[int, ...]) -> dict[str, Any]:
    if rng.random() < 0.6:
        return {}
    if estimator == "linear":
        return [{"fit_intercept": False}, {"alpha": 0.1}][int(rng.integers(2))]
    if estimator in ("elm", "classifier"):
        layers = ["sigmoid", "tanh", "relu", "rbf", "fourier", "hard_limit", "sine"]
        layer = {"activation": str(rng.choice(layers))}
        return [layer, {"alpha": 0.0}, {"alpha": 1e-3}, {"n_hidden": 7}][int(rng.integers(4))]
    if estimator.startswith("pca"):
        return {"n_components": int(rng.integers(1, min(shape) + 1))}
    return {}


# -- structure of the inputs ---------------------------------------------------------------


def _gaussian(rng, n, d):
    return rng.normal(size=(n, d))


def _integers(rng, n, d):
    return rng.integers(0, 5, (n, d)).astype(float)


def _equal_rows(rng, n, d):
    return rng.normal(size=(max(1, n // 3), d))[rng.integers(0, max(1, n // 3), n)]


def _constant_column(rng, n, d):
    X = rng.normal(size=(n, d))
    X[:, 0] = 3.7
    return X


def _dependent_column(rng, n, d):
    X = rng.integers(0, 5, (n, d)).astype(float)
    X[:, -1] = X[:, 0] + X[:, d // 2]
    return X


def _zeros(rng, n, d):  # noqa: ARG001
    return np.zeros((n, d))


def _dummies(rng, n, d):
    return np.eye(d)[rng.integers(0, d, n)]


def _heavy_tails(rng, n, d):
    return rng.standard_t(1.5, size=(n, d))


def _outliers(rng, n, d):
    X = rng.normal(size=(n, d))
    X[: n // 5] += 8
    return X


def _mostly_zero(rng, n, d):
    return rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.1)


def _low_rank(rng, n, d):
    m = max(1, d // 3)
    return rng.normal(size=(n, m)) @ rng.normal(size=(m, d)) + 0.01 * rng.normal(size=(n, d))


def _far_from_zero(rng, n, d):
    return rng.normal(size=(n, d)) + 1e6


def _units_apart(rng, n, d):
    return rng.normal(size=(n, d)) * 10 ** rng.uniform(-8, 8, d)


STRUCTURES = {
    "gaussian": _gaussian,
    "integers": _integers,
    "equal rows": _equal_rows,
    "constant column": _constant_column,
    "dependent column": _dependent_column,
    "zeros": _zeros,
    "dummies": _dummies,
    "heavy tails": _heavy_tails,
    "outliers": _outliers,
    "mostly zero": _mostly_zero,
    "low rank": _low_rank,
    "far from zero": _far_from_zero,
    "units apart": _units_apart,
}


# -- targets -------------------------------------------------------------------------------


def _targets(rng, X, structure, estimator):
    n = len(X)
    # What a small type made infinite will be refused: the targets are of no matter.
    X = np.nan_to_num(X, posinf=1.0, neginf=-1.0)
    size = np.abs(X).max(initial=0.0) or 1.0
    signal = (X / size) @ rng.normal(size=X.shape[1])
    noise = _noise(rng, n)
    y = signal + 0.3 * noise
    if structure == "outliers":
        y[: n // 5] -= 20
    if estimator == "classifier":
        return np.argsort(np.argsort(y)) * int(rng.integers(2, 4)) // max(n, 1)
    kind = rng.integers(10)
    if kind == 0:
        return np.rint(y)
    if kind == 1:
        return np.zeros(n)
    if kind == 2:
        return signal
    if kind == 3 and estimator != "conformal":
        return np.column_stack([y, signal + 0.3 * _noise(rng, n)])
    return y


def _noise(rng, n):
    return [
        lambda: rng.normal(size=n),
        lambda: rng.laplace(size=n),
        lambda: rng.uniform(-1, 1, n),
        lambda: rng.standard_t(2, size=n),
        lambda: rng.normal(size=n) * np.where(rng.random(n) < 0.1, 20, 1),
    ][int(rng.integers(5))]()


# -- weights and losses --------------------------------------------------------------------

WEIGHTS = {
    "ones": lambda rng, n: np.ones(n),  # noqa: ARG005
    "counts": lambda rng, n: rng.integers(1, 4, n).astype(float),
    "counts and zeros": lambda rng, n: np.maximum(rng.integers(0, 4, n), np.eye(n)[0]).astype(
        float
    ),
    "uniform": lambda rng, n: rng.uniform(0.5, 2, n),
    "of 1e100": lambda rng, n: 1e100 * rng.uniform(0.5, 2, n),
    "of 1e-100": lambda rng, n: 1e-100 * rng.integers(1, 4, n),
    "24 decades": lambda rng, n: 10.0 ** rng.choice([-12, 12], n),
    "one row": lambda rng, n: np.eye(n)[rng.integers(n)],
    "of 1e200": lambda rng, n: np.full(n, 1e200),  # noqa: ARG005
}

LOSSES = (
    Squared(),
    Huber(),
    Tukey(),
    Cauchy(),
    Trimmed(),
    Correntropy(),
    Correntropy("silverman"),
    Correntropy(1.0),
    KMPE(0.7),
    KMPE(1.0),
    KMPE(1.5),
    KMPE(3.0, 2.0),
    KMPE(4.0),
    MPE(1.0),
    MPE(1.5),
    MPE(4.0),
)
