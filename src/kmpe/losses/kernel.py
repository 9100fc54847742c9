"""Losses of the distance in kernel space: the correntropic loss, and the paper's KMPE."""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, squared
from kmpe.foreign import asarray
from kmpe.losses.base import SINGULAR_BELOW, Loss

__all__ = ["KMPE", "Correntropy", "kernel_gap"]


def kernel_gap(t: npt.ArrayLike) -> Array:
    """Return 1 - κ = 1 - exp(-t/2), half the squared distance in the paper's kernel space.

    See Also
    --------
    KMPE : The loss that is a power of it.

    Examples
    --------
    >>> kernel_gap([0.0, 2.0]).round(3)
    array([0.   , 0.632])
    """
    # expm1: 1 - exp(-t/2) has no digits left once t < 1e-16.
    return asarray(-np.expm1(-asarray(t) / 2))


@dataclass(frozen=True)
class Correntropy(Loss):
    """The correntropic loss (C-loss): ρ(s) = 2σ² (1 - exp(-s / 2σ²)); KMPE with p = 2.

    ELMs with it are the paper's ELM-RCC, and PCA with it is HQ-PCA. It is (3) of the paper times
    2σ².

    See Also
    --------
    KMPE : Any power of the same distance.
    Tukey : Another redescending loss.

    Examples
    --------
    >>> Correntropy(sigma=1).weight([0.0, 2.0])
    array([1.        , 0.36787944])
    """

    sigma: float | str = "mad"
    efficient = 2.11
    concave = True
    convex = False

    @property
    def sup(self) -> float:
        return 2 * squared(self.scale)

    def _rho(self, t: Array) -> Array:
        return 2 * kernel_gap(t)

    def _weight(self, t: Array) -> Array:
        return np.exp(-t / 2)

    def _rho_and_weight(self, t: Array, full: bool = False) -> tuple[Array, Array]:
        q = kernel_gap(t)
        return 2 * q, self._weight(t) if full else 1 - q

    def _curvature(self, t: Array) -> Array:
        return asarray(-0.5 * np.exp(-t / 2))


@dataclass(frozen=True)
class KMPE(Loss):
    """Kernel mean p-power error: ρ(s) = (4σ² / p) (1 - exp(-s / 2σ²))^(p/2).

    (5) of the paper times 4σ² / p, so that its derivative is φ of (23). For large p medium
    residuals have the largest weights, for p below 2 the smallest ones; gross outliers have weight
    0.

    Parameters
    ----------
    p : float, default=2
        The power; 2 is the correntropic loss.
    sigma : float, "mad" or "silverman", default="mad"
        The kernel width, or the rule for it.

    See Also
    --------
    Correntropy : The same with p = 2.
    MPE : The p-th power of the residual, without a kernel.
    kmpe.metrics.kmpe_loss : The mean of this loss as a metric.
    kmpe.torch.KMPELoss : The same for PyTorch.

    Examples
    --------
    >>> KMPE(p=4, sigma=1).weight([0.0, 2.0, 200.0]).round(3)
    array([0.   , 0.233, 0.   ])
    """

    p: float = 2.0
    sigma: float | str = "mad"
    efficient = 2.11
    convex = False

    @property
    def concave(self) -> bool:
        return self.p <= 2

    @property
    def singular(self) -> bool:
        return self.p < 2

    @property
    def sup(self) -> float:
        return 4 * squared(self.scale) / self.p

    def relaxed(self, sigma: float) -> Loss:
        """Return the correntropic loss: at a large scale p > 2 would follow the outliers."""
        return Correntropy(sigma)

    @property
    def _linear_outside(self) -> tuple[float, float]:
        return (SINGULAR_BELOW if self.p < 4 and self.p != 2 else 0.0), math.inf

    def _rho(self, t: Array) -> Array:
        return asarray(4 / self.p * kernel_gap(t) ** (self.p / 2))

    def _weight(self, t: Array) -> Array:
        return asarray(kernel_gap(t) ** (self.p / 2 - 1) * np.exp(-t / 2))

    def _rho_and_weight(self, t: Array, full: bool = False) -> tuple[Array, Array]:
        # One exponential and one power instead of three and two: half of the time.
        if full:
            return self._rho(t), self._weight(t)
        q = kernel_gap(t)
        if self.p == 2:
            return 2 * q, 1 - q
        power = q ** (self.p / 2 - 1)
        return asarray(4 / self.p * power * q), asarray(power * (1 - q))

    def _curvature(self, t: Array) -> Array:
        kernel = np.exp(-t / 2)
        if self.p == 2:
            return asarray(-0.5 * kernel)
        q = kernel_gap(t)
        a = self.p / 2 - 1
        return asarray(0.5 * kernel * q ** (a - 1) * (a * kernel - q))
