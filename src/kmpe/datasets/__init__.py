"""Data: the paper's synthetic problem."""

from kmpe.datasets.synthetic import make_sinc

__all__ = ["make_sinc"]
