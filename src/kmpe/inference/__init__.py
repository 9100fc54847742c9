"""Inference after a fit: covariance, outliers, intervals."""
