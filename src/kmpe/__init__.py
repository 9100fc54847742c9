"""Robust learning with the kernel mean p-power error loss."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kmpe.conformal import ConformalRegressor
    from kmpe.elm import ELMClassifier, ELMRegressor
    from kmpe.linear import RobustLinearRegression
    from kmpe.losses import (
        KMPE,
        MPE,
        Blend,
        Cauchy,
        Correntropy,
        Huber,
        Loss,
        RiskSensitive,
        Squared,
        Trimmed,
        Tukey,
    )
    from kmpe.pca import RobustPCA
    from kmpe.pca_l1 import PCAL1

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
    "Huber",
    "Loss",
    "RiskSensitive",
    "RobustLinearRegression",
    "RobustPCA",
    "Squared",
    "Trimmed",
    "Tukey",
]

# A module is imported when one of its names is first asked for: who wants a loss does not wait
# for the estimators. Names without a home here are losses.
_HOMES = {
    "ConformalRegressor": "kmpe.conformal",
    "ELMClassifier": "kmpe.elm",
    "ELMRegressor": "kmpe.elm",
    "PCAL1": "kmpe.pca_l1",
    "RobustLinearRegression": "kmpe.linear",
    "RobustPCA": "kmpe.pca",
}
_MODULES = (
    "adaptive",
    "conformal",
    "datasets",
    "elm",
    "linear",
    "losses",
    "metrics",
    "pca",
    "pca_l1",
)


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
