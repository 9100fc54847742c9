"""The estimators: scikit-learn's contract."""
