"""Any learner made robust: rows weighed by how badly fits without them predict them."""

from kmpe.estimators.robust.classifier import RobustClassifier
from kmpe.estimators.robust.regressor import RobustRegressor

__all__ = ["RobustClassifier", "RobustRegressor"]
