"""Any learner made robust: rows are weighted by their out-of-fold errors."""

from kmpe.estimators.robust.classifier import RobustClassifier
from kmpe.estimators.robust.regressor import RobustRegressor

__all__ = ["RobustClassifier", "RobustRegressor"]
