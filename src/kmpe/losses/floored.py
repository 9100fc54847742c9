"""Losses continued linearly below a floor, so that weights stay bounded.

A loss with p < 2 has unbounded weights near residual zero; beyond a ratio of 1e14 the other rows
no longer count in double precision. Below the floor ρ is its tangent, so that ρ and its derivative
are consistent and the reported cost is the one that was minimised.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kmpe.arrays import Array, squared
from kmpe.foreign import asarray
from kmpe.losses import Loss
from kmpe.losses.scale import mad

__all__ = ["AsPrinted", "Curved", "Floored", "Newton"]


@dataclass(frozen=True)
class Floored:
    """ρ, continued linearly below s = ``floor``."""

    loss: Loss
    floor: float

    @classmethod
    def at(
        cls, loss: Loss, s: Array, a: Array | None, dim: int, smallest: float = 1e-7
    ) -> "Floored":
        """Return the loss with a floor from squared residuals ``s``.

        It is ``smallest`` times a typical residual, or times σ if all are zero, squared.
        """
        typical = mad(s, a, dim) if s.any() else loss.scale
        return cls(loss, squared(smallest * typical) if loss.singular else 0.0)

    def rho(self, s: Array) -> Array:
        """Return ρ(s)."""
        if self.floor == 0:
            return self.loss.rho(s)
        rho = self.loss.rho(np.maximum(s, self.floor))
        rho -= self._slope * np.maximum(self.floor - s, 0)
        return rho

    def rho_and_weight(self, s: Array, full: bool = False) -> tuple[Array, Array]:
        """Return ρ(s) and ρ'(s), in ``full`` precision or as passes need them."""
        if self.floor == 0:
            return self.loss.rho_and_weight(s, full)
        rho, w = self.loss.rho_and_weight(np.maximum(s, self.floor), full)
        rho -= self._slope * np.maximum(self.floor - s, 0)
        return rho, w

    def weight(self, s: Array) -> Array:
        """Return ρ'(s)."""
        return self.loss.weight(self._above(s))

    def metric(self, s: Array, w: Array) -> Array:
        """Return an upper bound of the curvature of ½ ρ(‖e‖²), given the weights w = ρ'(s)."""
        return self.loss.metric(self._above(s), w)

    def curvature(self, s: Array, dim: int, width: float = 0.0, least: float = 0.1) -> Array:
        """Return the mean curvature of ½ ρ(‖e‖²) over the directions of e, kept positive.

        The Hessian is ρ' I + 2 ρ'' eeᵀ; its trace over ``dim`` is ρ' + 2 s ρ'' / dim, which for one
        target is ψ'. With a width, ψ' is averaged over ± that width. It is at least the share
        ``least`` of the weight, as the Hessian of a redescending loss may be indefinite at a start
        with many outliers.
        """
        inside = self._above(s)
        w = self.loss.weight(inside)
        with np.errstate(over="ignore", invalid="ignore"):
            if width > 0:
                ends = [np.sqrt(inside) + step for step in (width, -width)]
                high, low = (end * self.weight(end * end) for end in ends)
                bend = (high - low) / (2 * width) - w
            else:
                bend = self.loss.bend(inside)
        return asarray(np.maximum(w + np.nan_to_num(bend) / dim, least * w))

    def _above(self, s: Array) -> Array:
        return np.maximum(s, self.floor) if self.floor > 0 else s

    @cached_property
    def _slope(self) -> float:
        return float(self.loss.weight(self.floor))


@dataclass(frozen=True)
class Curved:
    """A criterion whose weights are the mean curvatures of a loss, smoothed over a width."""

    loss: Floored
    dim: int
    width: float = 0.0

    def rho(self, s: Array) -> Array:
        """Return ρ(s)."""
        return self.loss.rho(s)

    def weight(self, s: Array) -> Array:
        """Return the curvature."""
        return self.loss.curvature(s, self.dim, self.width)

    def rho_and_weight(self, s: Array, full: bool = False) -> tuple[Array, Array]:  # noqa: ARG002
        """Return ρ(s) and the curvature."""
        return self.rho(s), self.weight(s)

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - as in `Floored`
        """Return the curvature."""
        return w


@dataclass(frozen=True)
class Newton(Floored):
    """A loss whose steps use its curvature in place of the weights: Newton's method.

    Reweighted steps converge linearly, and slowly if ψ is flat except for a narrow peak of its
    slope, as for Laplace noise; Newton's method converges quadratically.
    """

    dim: int = 1

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - as in `Floored`
        """Return the curvature."""
        # The width near the end of a fit: a third of it takes as many steps, three times it twice
        # as many.
        return self.curvature(s, self.dim, least=0.02)


@dataclass(frozen=True)
class AsPrinted(Floored):
    """A loss whose steps are the fixed-point iteration of the paper, with the weights alone."""

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - as in `Floored`
        """Return the weights."""
        return w
