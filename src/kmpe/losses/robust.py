"""Losses of the residual itself: least squares, powers, and those of robust statistics."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kmpe.arrays import Array, squared
from kmpe.foreign import asarray
from kmpe.losses.base import SINGULAR_BELOW, Loss

__all__ = ["MPE", "Cauchy", "Huber", "RiskSensitive", "Squared", "Trimmed", "Tukey"]


@dataclass(frozen=True)
class Squared(Loss):
    """Least squares: ρ(s) = s. The paper's ELM, RELM and PCA have this loss.

    See Also
    --------
    Huber : Like it for small residuals, robust to large ones.

    Examples
    --------
    >>> Squared().weight([0.0, 100.0])
    array([1., 1.])
    """

    concave = True
    convex = True
    quadratic = True

    def _rho(self, t: Array) -> Array:
        return t

    def _weight(self, t: Array) -> Array:
        return np.ones_like(t)

    def _curvature(self, t: Array) -> Array:
        return np.zeros_like(t)


@dataclass(frozen=True)
class MPE(Loss):
    """Mean p-power error: ρ(s) = (2 / p) s^(p/2), the p-th power of the residual.

    With p = 2q it is the generalised mean of PCA-GM with exponent q.

    See Also
    --------
    KMPE : The p-th power of the distance in kernel space, which is bounded.

    Examples
    --------
    >>> MPE(p=1).weight([0.25, 4.0])
    array([2. , 0.5])
    """

    p: float = 1.0

    @property
    def concave(self) -> bool:
        return self.p <= 2

    @property
    def singular(self) -> bool:
        return self.p < 2

    @property
    def convex(self) -> bool:
        return self.p >= 1

    @property
    def _linear_outside(self) -> tuple[float, float]:
        return (SINGULAR_BELOW if self.p < 4 and self.p != 2 else 0.0), math.inf

    def _rho(self, t: Array) -> Array:
        return asarray(2 / self.p * t ** (self.p / 2))

    def _weight(self, t: Array) -> Array:
        return asarray(t ** (self.p / 2 - 1))

    def _curvature(self, t: Array) -> Array:
        if self.p == 2:
            return np.zeros_like(t)
        return asarray((self.p / 2 - 1) * t ** (self.p / 2 - 2))


@dataclass(frozen=True)
class Huber(Loss):
    """Huber's loss: quadratic up to |r| = σ, linear beyond.

    See Also
    --------
    Cauchy, Tukey : Losses that give large residuals even less weight.

    Examples
    --------
    >>> Huber(sigma=1).weight([0.25, 4.0])
    array([1. , 0.5])
    """

    sigma: float | str = "mad"
    efficient = 1.345
    concave = True
    convex = True

    def _rho(self, t: Array) -> Array:
        return np.where(t <= 1, t, 2 * np.sqrt(t) - 1)

    def _weight(self, t: Array) -> Array:
        return asarray(1 / np.sqrt(np.maximum(t, 1)))

    def _curvature(self, t: Array) -> Array:
        return np.where(t <= 1, 0.0, -0.5 * np.maximum(t, 1) ** -1.5)


@dataclass(frozen=True)
class Cauchy(Loss):
    """Cauchy's, or Lorentzian, loss: ρ(s) = σ² log(1 + s / σ²).

    See Also
    --------
    Huber : Convex, with larger weights for large residuals.
    Tukey : Weight zero for large residuals.

    Examples
    --------
    >>> Cauchy(sigma=1).weight([0.0, 1.0, 9.0])
    array([1. , 0.5, 0.1])
    """

    sigma: float | str = "mad"
    efficient = 2.385
    concave = True
    convex = False

    def _rho(self, t: Array) -> Array:
        return np.log1p(t)

    def _weight(self, t: Array) -> Array:
        return asarray(1 / (1 + t))

    def _curvature(self, t: Array) -> Array:
        return asarray(-((1 / (1 + t)) ** 2))


@dataclass(frozen=True)
class Tukey(Loss):
    """Tukey's biweight: residuals beyond σ have weight 0.

    See Also
    --------
    Cauchy : Weights that decrease more slowly.
    Correntropy : Weights that decrease smoothly to zero.

    Examples
    --------
    >>> Tukey(sigma=2).weight([0.0, 2.0, 4.0])
    array([1.  , 0.25, 0.  ])
    """

    sigma: float | str = "mad"
    efficient = 4.685
    concave = True
    convex = False

    @property
    def sup(self) -> float:
        return squared(self.scale) / 3

    def _rho(self, t: Array) -> Array:
        # t (1 - t + t²/3) is (1 - (1 - t)³) / 3 without the cancellation at small t.
        u = np.minimum(t, 1)
        return asarray(u * (1 - u + u * u / 3))

    def _weight(self, t: Array) -> Array:
        return asarray((1 - np.minimum(t, 1)) ** 2)

    def _curvature(self, t: Array) -> Array:
        return asarray(-2 * (1 - np.minimum(t, 1)))


@dataclass(frozen=True)
class Trimmed(Loss):
    """Trimmed least squares: weight 1 up to t = s / σ² = 0.97 and 0 beyond 1.

    Between these the weight is linear. Unlike with the other losses, rows with small residuals do
    not get larger weights than others. In a PCA with many columns, where squared residual norms
    differ by a few percent, this keeps the subspace from following single rows.

    See Also
    --------
    RobustPCA : Has this loss by default.
    Tukey : Weights that decrease smoothly to zero.

    Examples
    --------
    >>> Trimmed(sigma=1).weight([0.0, 0.97, 0.985, 1.0]).round(2)
    array([1. , 1. , 0.5, 0. ])
    """

    sigma: float | str = "cutoff"
    efficient = 2.81
    concave = True
    convex = False

    _edge: ClassVar[float] = 0.97

    @property
    def sup(self) -> float:
        return squared(self.scale) * (1 + self._edge) / 2

    def _fall(self, t: Array) -> Array:
        return asarray((np.clip(t, self._edge, 1) - self._edge) / (1 - self._edge))

    def _rho(self, t: Array) -> Array:
        u = self._fall(t)
        return asarray(np.minimum(t, self._edge) + (1 - self._edge) * u * (1 - u / 2))

    def _weight(self, t: Array) -> Array:
        return 1 - self._fall(t)

    def _curvature(self, t: Array) -> Array:
        return np.where((t < self._edge) | (t > 1), 0.0, -1 / (1 - self._edge))


@dataclass(frozen=True)
class RiskSensitive(Loss):
    """Risk-sensitive loss: ρ(s) = 2σ² (exp(s / 2σ²) - 1), which emphasises large residuals.

    The opposite of a robust loss, included because the paper mentions it. Beyond s = 600 σ² it is
    continued linearly, since the exponential would overflow.

    See Also
    --------
    Correntropy : The same with the opposite sign in the exponent: robust.

    Examples
    --------
    >>> RiskSensitive(sigma=1).weight([0.0, 2.0])
    array([1.        , 2.71828183])
    """

    sigma: float | str = "mad"
    concave = False
    convex = True

    def relaxed(self, sigma: float) -> Loss:  # noqa: ARG002 - one start for every scale
        """Return least squares: a convex loss needs no other start."""
        return Squared()

    @property
    def _linear_outside(self) -> tuple[float, float]:
        return 0.0, 600.0

    def _rho(self, t: Array) -> Array:
        return asarray(2 * np.expm1(t / 2))

    def _weight(self, t: Array) -> Array:
        return np.exp(t / 2)

    def _curvature(self, t: Array) -> Array:
        return asarray(0.5 * np.exp(t / 2))
