"""A loss that double precision can follow: ρ, continued linearly below the smallest residual.

A loss with p < 2 gives weights without bound to residuals near zero; past a ratio of 1e14 the
other rows no longer count. Below the floor ρ goes on as its tangent, so that ρ and its
derivative agree and the cost that is reported is the cost that was minimised.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kmpe.arrays import Array
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
        """Return the loss with the floor that squared residuals ``s`` suggest.

        Residuals below ``smallest`` of the typical one count as this large.
        """
        return cls(loss, (smallest * mad(s, a, dim)) ** 2 if loss.singular else 0.0)

    def rho(self, s: Array) -> Array:
        """Return ρ(s)."""
        if self.floor == 0:
            return self.loss.rho(s)
        rho = self.loss.rho(np.maximum(s, self.floor))
        rho -= self._slope * np.maximum(self.floor - s, 0)
        return rho

    def rho_and_weight(self, s: Array) -> tuple[Array, Array]:
        """Return ρ(s) and ρ'(s)."""
        if self.floor == 0:
            return self.loss.rho_and_weight(s)
        rho, w = self.loss.rho_and_weight(np.maximum(s, self.floor))
        rho -= self._slope * np.maximum(self.floor - s, 0)
        return rho, w

    def weight(self, s: Array) -> Array:
        """Return ρ'(s)."""
        return self.loss.weight(np.maximum(s, self.floor))

    def metric(self, s: Array, w: Array) -> Array:
        """Return a bound of the curvature of ½ ρ(‖e‖²), w the weights ρ'(s)."""
        return self.loss.metric(np.maximum(s, self.floor), w)

    def curvature(self, s: Array, dim: int, width: float = 0.0, least: float = 0.1) -> Array:
        """Return the mean curvature of ½ ρ(‖e‖²) over the directions of e, held positive.

        The Hessian is ρ' I + 2 ρ'' eeᵀ; a ``dim``-th of its trace is ρ' + 2 s ρ'' / dim, which
        for one target is ψ'. With a width, ψ' is smoothed over so much to either side. It is at
        least a share of the weight: else the metric of a redescending loss is indefinite at a start
        with many doubtful rows.
        """
        inside = np.maximum(s, self.floor)
        w = self.loss.weight(inside)
        with np.errstate(over="ignore", invalid="ignore"):
            if width > 0:
                ends = [np.sqrt(inside) + step for step in (width, -width)]
                high, low = (end * self.weight(end * end) for end in ends)
                bend = (high - low) / (2 * width) - w
            else:
                bend = 2 * inside * self.loss.curvature(inside)
        return np.asarray(np.maximum(w + np.nan_to_num(bend) / dim, least * w))

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

    def rho_and_weight(self, s: Array) -> tuple[Array, Array]:
        """Return ρ(s) and the curvature."""
        return self.rho(s), self.weight(s)

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - as in `Floored`
        """Return the curvature."""
        return w


@dataclass(frozen=True)
class Newton(Floored):
    """A loss whose steps follow its own curvature, not the weights that bound it.

    Near its end a reweighted fit moves by a share of what is left, a small one where ψ is flat but
    for a narrow peak of its slope, as for Laplace noise; Newton's method moves by all of it.
    """

    dim: int = 1

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - as in `Floored`
        """Return the curvature."""
        # Near the end of a fit: a third of it takes as many steps, three times twice as many.
        return self.curvature(s, self.dim, least=0.02)


@dataclass(frozen=True)
class AsPrinted(Floored):
    """A loss whose steps are the paper's fixed point: the weights alone, whatever the curvature."""

    def metric(self, s: Array, w: Array) -> Array:  # noqa: ARG002 - as in `Floored`
        """Return the weights."""
        return w
