"""Losses as functions of the squared residual norm."""

from kmpe.losses.base import Loss
from kmpe.losses.blend import Blend
from kmpe.losses.density import LogDensity
from kmpe.losses.kernel import KMPE, Correntropy, kernel_gap
from kmpe.losses.robust import MPE, Cauchy, Huber, RiskSensitive, Squared, Trimmed, Tukey

__all__ = [
    "KMPE",
    "MPE",
    "Blend",
    "Cauchy",
    "Correntropy",
    "Huber",
    "LogDensity",
    "Loss",
    "RiskSensitive",
    "Squared",
    "Trimmed",
    "Tukey",
    "kernel_gap",
]
