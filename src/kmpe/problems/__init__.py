"""The weighted least-squares problems: ridge regression on features, and PCA."""
