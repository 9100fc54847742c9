"""Robust learning with the kernel mean p-power error loss."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kmpe.choice.loss import choose_loss
    from kmpe.estimators.conformal import ConformalRegressor
    from kmpe.estimators.elm import ELMClassifier, ELMRegressor
    from kmpe.estimators.formula import Formula
    from kmpe.estimators.imputer import RobustImputer
    from kmpe.estimators.linear import RobustLinearRegression
    from kmpe.estimators.pca import RobustPCA
    from kmpe.estimators.pca_l1 import PCAL1
    from kmpe.estimators.robust import RobustClassifier, RobustRegressor
    from kmpe.losses import (
        KMPE,
        MPE,
        Blend,
        Cauchy,
        Correntropy,
        Huber,
        LogDensity,
        Loss,
        RiskSensitive,
        Squared,
        Trimmed,
        Tukey,
    )

__version__ = "0.1.0"

__all__ = [
    "KMPE",
    "MPE",
    "PCAL1",
    "Blend",
    "Cauchy",
    "ConformalRegressor",
    "Correntropy",
    "ELMClassifier",
    "ELMRegressor",
    "Formula",
    "Huber",
    "LogDensity",
    "Loss",
    "RiskSensitive",
    "RobustClassifier",
    "RobustImputer",
    "RobustLinearRegression",
    "RobustPCA",
    "RobustRegressor",
    "Squared",
    "Trimmed",
    "Tukey",
    "choose_loss",
]

# A module is imported when one of its names is first asked for: who wants a loss does not wait
# for the estimators. Names without a home here are losses.
_HOMES = {
    "ConformalRegressor": "kmpe.estimators.conformal",
    "ELMClassifier": "kmpe.estimators.elm",
    "ELMRegressor": "kmpe.estimators.elm",
    "Formula": "kmpe.estimators.formula",
    "PCAL1": "kmpe.estimators.pca_l1",
    "RobustLinearRegression": "kmpe.estimators.linear",
    "RobustImputer": "kmpe.estimators.imputer",
    "RobustPCA": "kmpe.estimators.pca",
    "RobustClassifier": "kmpe.estimators.robust",
    "RobustRegressor": "kmpe.estimators.robust",
    "choose_loss": "kmpe.choice.loss",
}
_MODULES = ("datasets", "io", "losses", "metrics", "plots", "rows", "table")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"kmpe.{name}")
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES.get(name, "kmpe.losses")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
