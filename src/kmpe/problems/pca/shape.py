"""The choice among the forms of the weighted PCA problem, by the shape of the data."""

from kmpe.problems.pca.forms import Dual, Iterated, Scatter
from kmpe.problems.pca.points import Points
from kmpe.problems.pca.weighted import WeightedPCA

__all__ = ["weighted_pca"]


def weighted_pca(
    points: Points, m: int, *, most: int | None = None, many: int = 1000
) -> WeightedPCA:
    """Return the problem in the form that suits its shape.

    ``most`` is the largest number of components that will be needed; ``m`` by default. With more
    than ``many`` rows and columns, forming and decomposing the scatter matrix costs more than a few
    products of the data with some vectors.
    """
    n, d = points.X.shape
    wanted = max(m, 1) if most is None else most
    if min(n, d) > many and 10 * wanted <= min(n, d):
        return Iterated(points, m)
    return Dual.of(points, m) if n <= d else Scatter(points, m)
