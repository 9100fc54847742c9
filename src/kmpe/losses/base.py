"""The base class of losses: functions of the squared residual norm.

A model minimises ½ Σ ρ(sᵢ) with sᵢ = ‖eᵢ‖². Each loss defines ρ, ρ' and ρ'' at unit scale, as
functions of t = s / σ²; the base class applies the scale and derives everything else:

    ρ(s) = σ² ρ₁(t),   weight(s) = ρ'(s) = ρ₁'(t),   curvature(s) = ρ''(s) = ρ₁''(t) / σ².

The contract: ρ(0) = 0, weight ≥ 0, and the three agree with each other everywhere.
"""

import math
import numbers
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array, squared
from kmpe.foreign import asarray
from kmpe.losses.scale import RULES

__all__ = ["SINGULAR_BELOW", "Loss"]

# Powers of t below 1 have no derivative at 0. Below this t they are continued linearly; its
# square is still a normal number, so that ρ'' stays finite.
SINGULAR_BELOW = math.sqrt(float(np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Loss(ABC):
    """A scalar loss of the squared residual norm.

    Losses are immutable and compare by value; ``get_params`` and ``set_params`` follow
    scikit-learn, so that a grid search reaches ``loss__sigma`` and ``loss__p``.

    See Also
    --------
    KMPE : The loss of the paper.
    Huber, Cauchy, Tukey : Losses of robust statistics.
    choose_loss : Chooses a loss for given residuals.

    Examples
    --------
    >>> from kmpe import Huber, Loss
    >>> loss = Huber(sigma=2.0)
    >>> isinstance(loss, Loss), loss.convex, loss.scale
    (True, True, 2.0)
    >>> loss.at(1.0)
    Huber(sigma=1.0)
    """

    #: σ / MAD at which the loss keeps 95% of the efficiency of least squares on Gaussian noise.
    efficient: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        for name, value in self.get_params().items():
            _check(type(self).__name__, name, value)

    def __str__(self) -> str:
        parameters = (
            f"{name}={value!r}" if isinstance(value, str) else f"{name}={value:.4g}"
            for name, value in self.get_params().items()
        )
        return f"{type(self).__name__}({', '.join(parameters)})"

    # -- the shape, at unit scale ----------------------------------------------------------

    @property
    @abstractmethod
    def concave(self) -> bool:
        """Whether ρ is concave in s: only then does every full reweighted step descend."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether ρ(r²) is convex in r: only then does the minimum not depend on the start."""

    @property
    def quadratic(self) -> bool:
        """Whether ρ(s) = s: one weighted solve is then the whole fit."""
        return False

    @property
    def singular(self) -> bool:
        """Whether the weights of residuals near zero are unbounded."""
        return False

    @property
    def sup(self) -> float:
        """The least upper bound of ρ; infinite for unbounded losses."""
        return math.inf

    @property
    def _linear_outside(self) -> tuple[float, float]:
        """The t below which and above which ρ₁ is continued linearly."""
        return 0.0, math.inf

    @abstractmethod
    def _rho(self, t: Array) -> Array: ...

    @abstractmethod
    def _weight(self, t: Array) -> Array: ...

    @abstractmethod
    def _curvature(self, t: Array) -> Array: ...

    def _rho_and_weight(self, t: Array, full: bool = False) -> tuple[Array, Array]:  # noqa: ARG002
        return self._rho(t), self._weight(t)

    # -- what follows from it --------------------------------------------------------------

    @property
    def scale(self) -> float:
        """The number σ; 1 for losses that have none.

        Raises
        ------
        ValueError
            When σ is still the name of a rule.
        """
        sigma = getattr(self, "sigma", 1.0)
        if isinstance(sigma, str):
            raise ValueError(f"{self} has no scale yet: call resolve(s) with squared residuals")
        return float(sigma)

    @property
    def has_rule(self) -> bool:
        """Whether σ is still the name of a rule."""
        return isinstance(getattr(self, "sigma", 1.0), str)

    def rho(self, s: npt.ArrayLike) -> Array:
        """Return ρ(s)."""
        with np.errstate(over="ignore", under="ignore"):
            t, scale2 = self._unit(s)
            return asarray(scale2 * self._continued(self._rho(self._inside(t)), t))

    def rho_and_weight(self, s: npt.ArrayLike, full: bool = False) -> tuple[Array, Array]:
        """Return ρ(s) and ρ'(s); weights below 1e-16 have their digits only if ``full``."""
        with np.errstate(over="ignore", under="ignore"):
            t, scale2 = self._unit(s)
            rho, weight = self._rho_and_weight(self._inside(t), full)
            return asarray(scale2 * self._continued(rho, t)), weight

    def weight(self, s: npt.ArrayLike) -> Array:
        """Return ρ'(s), the weight of a sample: φ of (23) and Λ of (27)."""
        with np.errstate(over="ignore", under="ignore"):
            t, _ = self._unit(s)
            return asarray(self._weight(self._inside(t)))

    def curvature(self, s: npt.ArrayLike) -> Array:
        """Return ρ''(s)."""
        with np.errstate(over="ignore", under="ignore"):
            t, scale2 = self._unit(s)
            return asarray(self._bent(t) / scale2)

    def bend(self, s: npt.ArrayLike) -> Array:
        """Return 2 s ρ''(s), in units of σ: ρ'' alone overflows where σ is small."""
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            t, _ = self._unit(s)
            return asarray(np.nan_to_num(2 * t * self._bent(t)))

    def metric(self, s: Array, w: Array) -> Array:
        """Return ρ' + 2 s max(ρ'', 0), which bounds the curvature of ½ ρ(‖e‖²) in e.

        Its Hessian is ρ' I + 2 ρ'' eeᵀ. Where ρ is concave in s the bound is ρ', the weight ``w``.
        """
        if self.concave:
            return w
        with np.errstate(over="ignore"):
            return asarray(w + np.maximum(self.bend(s), 0.0))

    def psi(self, r: npt.ArrayLike) -> Array:
        """Return ψ(r) = r ρ'(r²), the derivative of ½ ρ(r²)."""
        r = asarray(r, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            return asarray(r * self.weight(r * r))

    def psi_derivative(self, r: npt.ArrayLike) -> Array:
        """Return ψ'(r) = ρ'(r²) + 2 r² ρ''(r²), the Hessian (8) up to p / 2Nσ²."""
        r = asarray(r, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            s = r * r
            bend = 2 * s * self.curvature(s)
        # Where s overflows, a curvature of 0 still means that ψ' is the weight.
        return asarray(self.weight(s) + np.where(np.isnan(bend), 0.0, bend))

    def _bent(self, t: Array) -> Array:
        """Return ρ₁''(t), which is 0 where ρ₁ is continued linearly."""
        low, high = self._linear_outside
        bent = self._curvature(self._inside(t))
        return np.where((t < low) | (t > high), 0.0, bent) if low > 0 or high < math.inf else bent

    def _inside(self, t: Array) -> Array:
        low, high = self._linear_outside
        return np.clip(t, low, high) if low > 0 or high < math.inf else t

    def _continued(self, value: Array, t: Array) -> Array:
        """Return ρ₁ at t from its value at t clipped: beyond either end ρ₁ is its tangent."""
        low, high = self._linear_outside
        if low > 0:  # the shift keeps ρ(0) = 0
            end = np.array(low)
            value = value - (self._rho(end) - self._weight(end) * np.minimum(t, low))
        if high < math.inf:
            value = value + self._weight(np.array(high)) * np.maximum(t - high, 0.0)
        return value

    def _unit(self, s: npt.ArrayLike) -> tuple[Array, float]:
        scale2 = squared(self.scale)
        return asarray(s, dtype=np.float64) / scale2, scale2

    # -- scale and start -------------------------------------------------------------------

    def resolve(self, s: Array, a: Array | None = None, dim: int = 1) -> Self:
        """Return this loss with σ a number, from its rule and squared residuals ``s``.

        ``"mad"`` is `efficient` times the scaled median residual, ``"silverman"`` the paper's (30).
        """
        sigma = getattr(self, "sigma", 1.0)
        if not isinstance(sigma, str):
            return self
        factor = self.efficient if sigma == "mad" else 1.0
        return self.at(factor * RULES[sigma](s, a, dim))

    def relaxed(self, sigma: float) -> "Loss":
        """Return the loss to use at a larger scale while σ is lowered to its value."""
        return self.at(sigma)

    def at(self, sigma: float) -> Self:
        """Return this loss with another σ."""
        params: dict[str, Any] = {"sigma": sigma}
        return replace(self, **params)

    # -- scikit-learn's parameter protocol -------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:  # noqa: ARG002 - the protocol
        """Return the parameters by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name; for scikit-learn's searches, which set them on a clone."""
        unknown = sorted(params.keys() - self.get_params().keys())
        if unknown:
            known = ", ".join(self.get_params()) or "none"
            raise ValueError(
                f"{type(self).__name__} has no parameter {unknown[0]!r}; it has {known}"
            )
        before = dict(vars(self))
        # Values cached for the old parameters are dropped.
        vars(self).clear()
        vars(self).update({**{f.name: before[f.name] for f in fields(self)}, **params})
        try:
            self.__post_init__()
        except ValueError:
            vars(self).clear()
            vars(self).update(before)
            raise
        return self


def _check(loss: str, name: str, value: object) -> None:
    """Refuse a parameter that is not a positive number, or for sigma the name of a rule."""
    rules = " or ".join(f'"{rule}"' for rule in RULES)
    advice = f"a number above 0, or {rules}" if name == "sigma" else "a number above 0"
    if isinstance(value, str) and name == "sigma" and value in RULES:
        return
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not (real and 0 < float(value) < math.inf):  # type: ignore[arg-type]
        raise ValueError(f"{loss}: {name}={value!r} must be {advice}")
