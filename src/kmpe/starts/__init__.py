"""Robust initial estimates of regressions and PCA."""
