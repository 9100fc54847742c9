"""Weighted PCA: the problem that PCA-KMPE solves once the weights are known."""

from kmpe.problems.pca.forms import Dual, Iterated, Scatter
from kmpe.problems.pca.points import Points
from kmpe.problems.pca.shape import weighted_pca
from kmpe.problems.pca.subspace import Subspace
from kmpe.problems.pca.weighted import WeightedPCA

__all__ = ["Dual", "Iterated", "Points", "Scatter", "Subspace", "WeightedPCA", "weighted_pca"]
