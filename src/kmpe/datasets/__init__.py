"""Data: the paper's synthetic problem, and images with garbage in them."""

from kmpe.datasets.images import contaminate_images
from kmpe.datasets.synthetic import make_sinc

__all__ = ["contaminate_images", "make_sinc"]
