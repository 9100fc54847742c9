"""Which form of the weighted PCA problem suits the shape of the data."""

from kmpe.problems.pca.forms import Dual, Iterated, Scatter
from kmpe.problems.pca.points import Points
from kmpe.problems.pca.weighted import WeightedPCA

__all__ = ["weighted_pca"]


def weighted_pca(
    points: Points, m: int, *, most: int | None = None, many: int = 1000
) -> WeightedPCA:
    """Return the problem in the form that suits its shape.

    ``most`` is the largest number of components that will be asked for; ``m`` by default. With more
    than ``many`` rows and columns, to form and decompose the scatter matrix costs more than to
    pass over the data with a few vectors.
    """
    n, d = points.X.shape
    wanted = max(m, 1) if most is None else most
    if min(n, d) > many and 10 * wanted <= min(n, d):
        return Iterated(points, m)
    return Dual.of(points, m) if n <= d else Scatter(points, m)
