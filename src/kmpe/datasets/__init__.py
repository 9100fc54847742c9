"""Data: the paper's synthetic problem, public data sets, and images with artificial outliers."""

from kmpe.datasets.images import contaminate_images
from kmpe.datasets.lookup import Dataset, load
from kmpe.datasets.synthetic import make_sinc
from kmpe.datasets.tables import DatasetError, DatasetNotFoundError

__all__ = [
    "Dataset",
    "DatasetError",
    "DatasetNotFoundError",
    "contaminate_images",
    "load",
    "make_sinc",
]
