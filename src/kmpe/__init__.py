"""Robust learning with the kernel mean p-power error loss."""

from kmpe.elm import ELMClassifier, ELMRegressor
from kmpe.losses import (
    KMPE,
    MPE,
    Cauchy,
    Correntropy,
    Huber,
    Loss,
    RiskSensitive,
    Squared,
    Tukey,
)

__version__ = "0.1.0"

__all__ = [
    "KMPE",
    "MPE",
    "Cauchy",
    "Correntropy",
    "ELMClassifier",
    "ELMRegressor",
    "Huber",
    "Loss",
    "RiskSensitive",
    "Squared",
    "Tukey",
]
