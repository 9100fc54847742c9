"""Plots of fits in the style of scikit-learn's Displays; drawing one imports matplotlib."""

from kmpe.plots.coefficients import CoefficientDisplay
from kmpe.plots.convergence import ConvergenceDisplay
from kmpe.plots.loss import LossDisplay
from kmpe.plots.outlier_map import OutlierMapDisplay
from kmpe.plots.relevance import RelevanceDisplay
from kmpe.plots.residual_qq import ResidualQQDisplay
from kmpe.plots.scree import ScreeDisplay
from kmpe.plots.weights import WeightsDisplay

__all__ = [
    "CoefficientDisplay",
    "ConvergenceDisplay",
    "LossDisplay",
    "OutlierMapDisplay",
    "RelevanceDisplay",
    "ResidualQQDisplay",
    "ScreeDisplay",
    "WeightsDisplay",
]
