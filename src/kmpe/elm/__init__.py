"""Extreme learning machines: a random hidden layer, and output weights fitted robustly.

ELM, RELM, ELM-RCC and ELM-KMPE of the paper are these estimators with another loss.
"""

from kmpe.elm.classifier import ELMClassifier
from kmpe.elm.regressor import ELMRegressor

__all__ = ["ELMClassifier", "ELMRegressor"]
