"""Extreme learning machines: a random hidden layer, and output weights fitted robustly.

ELM, RELM, ELM-RCC and ELM-KMPE of the paper are these estimators with different losses.
"""

from kmpe.estimators.elm.classifier import ELMClassifier
from kmpe.estimators.elm.regressor import ELMRegressor

__all__ = ["ELMClassifier", "ELMRegressor"]
