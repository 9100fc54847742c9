"""Wald's (1943) test that some coefficients are zero."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import fdtrc

from kmpe.arrays import Array

__all__ = ["WaldTest", "wald"]


@dataclass(frozen=True)
class WaldTest:
    """The result of a Wald test; print it.

    Parameters
    ----------
    terms : tuple of str
        The coefficients that were tested.
    statistic : float
        bᵀ C⁻¹ b / q for the q coefficients b and their covariance C.
    df : tuple of float
        Degrees of freedom of Fisher's F: q, and rows less coefficients.
    p_value : float
        The probability of a larger F if all of them are zero.
    """

    terms: tuple[str, ...]
    statistic: float
    df: tuple[float, float]
    p_value: float

    def __str__(self) -> str:
        on = "{:g} and {:g}".format(*self.df)
        return (
            f"{', '.join(self.terms)} = 0: "
            f"F = {self.statistic:.4g} on {on} degrees of freedom, p = {self.p_value:.3g}"
        )


def wald(terms: tuple[str, ...], b: Array, cov: Array, df: float) -> WaldTest:
    """Return the test that all of b, of covariance ``cov``, are zero.

    The statistic is compared with F(q, df) instead of χ², as intervals use Student's t.
    """
    if df <= 0 or not np.isfinite(cov).all():
        raise ValueError(f"the rows do not determine the errors of {', '.join(terms)}")
    statistic = float(b @ linalg.solve(cov, b, assume_a="pos")) / len(b)
    return WaldTest(terms, statistic, (float(len(b)), df), float(fdtrc(len(b), df, statistic)))
