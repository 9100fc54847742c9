"""A loss that is a sum of others."""

from dataclasses import dataclass

import numpy as np

from kmpe.arrays import Array
from kmpe.foreign import asarray
from kmpe.losses.base import Loss

__all__ = ["Blend"]


@dataclass(frozen=True)
class Blend(Loss):
    """A sum of losses: ρ(s) = Σ cₖ ρₖ(s), each ρₖ with its own σ as a number.

    Asymptotically its fit is the mean of the fits of its parts, weighted by cₖ E[ψₖ'].

    Parameters
    ----------
    losses : tuple of Loss
        The parts.
    factors : tuple of float
        Their factors c.

    See Also
    --------
    LogDensity : The loss of an average density.

    Examples
    --------
    >>> from kmpe import Huber, Squared
    >>> Blend((Squared(), Huber(sigma=1)), (1.0, 3.0)).weight([0.0, 4.0])
    array([4. , 2.5])
    """

    losses: tuple[Loss, ...]
    factors: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.losses) != len(self.factors) or not self.losses:
            raise ValueError("Blend: losses and factors must have the same length, at least 1")
        if not all(0 < factor < np.inf for factor in self.factors):
            raise ValueError(f"Blend: factors={self.factors!r} must be numbers above 0")
        if any(loss.has_rule for loss in self.losses):
            raise ValueError("Blend: every sigma must be a number; resolve the losses first")

    def __str__(self) -> str:
        parts = [str(loss) for loss in self.losses[:3]]
        more = len(self.losses) - len(parts)
        return f"Blend({', '.join(parts)}{f' and {more} more' if more else ''})"

    @property
    def concave(self) -> bool:
        return all(loss.concave for loss in self.losses)

    @property
    def convex(self) -> bool:
        return all(loss.convex for loss in self.losses)

    @property
    def singular(self) -> bool:
        return any(loss.singular for loss in self.losses)

    @property
    def sup(self) -> float:
        return sum(c * loss.sup for c, loss in zip(self.factors, self.losses, strict=True))

    def _rho(self, t: Array) -> Array:
        return self._sum([loss.rho(t) for loss in self.losses])

    def _weight(self, t: Array) -> Array:
        return self._sum([loss.weight(t) for loss in self.losses])

    def _curvature(self, t: Array) -> Array:
        return self._sum([loss.curvature(t) for loss in self.losses])

    def _sum(self, parts: list[Array]) -> Array:
        return asarray(sum(c * part for c, part in zip(self.factors, parts, strict=True)))
