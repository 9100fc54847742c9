"""Losses as functions of the squared residual norm.

A model costs ½ Σ ρ(sᵢ) with sᵢ = ‖eᵢ‖². Each loss states ρ, ρ' and ρ'' at unit scale, as
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

from kmpe.scale import RULES, Array

__all__ = [
    "KMPE",
    "MPE",
    "Cauchy",
    "Correntropy",
    "Huber",
    "Loss",
    "RiskSensitive",
    "Squared",
    "Trimmed",
    "Tukey",
    "kernel_gap",
]

# Powers below 1 of t have no derivative at 0. Below this t they are continued linearly; its
# square is still a normal number, so that ρ'' stays finite.
_SINGULAR_BELOW = math.sqrt(float(np.finfo(np.float64).tiny))


def kernel_gap(t: npt.ArrayLike) -> Array:
    """Return 1 - κ = 1 - exp(-t/2), half the squared distance in the paper's kernel space."""
    # expm1: 1 - exp(-t/2) has no digits left once t < 1e-16.
    return np.asarray(-np.expm1(-np.asarray(t) / 2))


@dataclass(frozen=True)
class Loss(ABC):
    """A scalar loss of the squared residual norm.

    Losses are immutable and compare by value; ``get_params`` and ``set_params`` follow
    scikit-learn, so that a grid search reaches ``loss__sigma`` and ``loss__p``.
    """

    #: σ / MAD at which the loss keeps 95% of the efficiency of least squares on Gaussian noise.
    efficient: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        for name, value in self.get_params().items():
            _check(type(self).__name__, name, value)

    # -- the shape, at unit scale ----------------------------------------------------------

    @property
    @abstractmethod
    def concave(self) -> bool:
        """Whether ρ is concave in s: only then does every full reweighted step descend."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether ρ(r²) is convex in r: only then is the start of no consequence."""

    @property
    def quadratic(self) -> bool:
        """Whether ρ(s) = s: one weighted solve is then the whole fit."""
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

    def _rho_and_weight(self, t: Array) -> tuple[Array, Array]:
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

    def rho(self, s: npt.ArrayLike) -> Array:
        """Return ρ(s)."""
        t, scale2 = self._unit(s)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(scale2 * self._continued(self._rho(self._inside(t)), t))

    def rho_and_weight(self, s: npt.ArrayLike) -> tuple[Array, Array]:
        """Return ρ(s) and ρ'(s); the weight has no digits left below 1e-16."""
        t, scale2 = self._unit(s)
        with np.errstate(over="ignore", under="ignore"):
            rho, weight = self._rho_and_weight(self._inside(t))
            return np.asarray(scale2 * self._continued(rho, t)), weight

    def weight(self, s: npt.ArrayLike) -> Array:
        """Return ρ'(s), the weight of a sample: φ of (23) and Λ of (27)."""
        t, _ = self._unit(s)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(self._weight(self._inside(t)))

    def curvature(self, s: npt.ArrayLike) -> Array:
        """Return ρ''(s)."""
        t, scale2 = self._unit(s)
        low, high = self._linear_outside
        with np.errstate(over="ignore", under="ignore"):
            inside = self._curvature(np.clip(t, low, high)) / scale2
        return np.where((t < low) | (t > high), 0.0, inside)

    def psi(self, r: npt.ArrayLike) -> Array:
        """Return ψ(r) = r ρ'(r²), the derivative of ½ ρ(r²)."""
        r = np.asarray(r, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(r * self.weight(r * r))

    def psi_derivative(self, r: npt.ArrayLike) -> Array:
        """Return ψ'(r) = ρ'(r²) + 2 r² ρ''(r²), the Hessian (8) up to p / 2Nσ²."""
        r = np.asarray(r, dtype=np.float64)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            s = r * r
            bend = 2 * s * self.curvature(s)
        # Where s overflows, a curvature of 0 still means that ψ' is the weight.
        return np.asarray(self.weight(s) + np.where(np.isnan(bend), 0.0, bend))

    def _inside(self, t: Array) -> Array:
        low, high = self._linear_outside
        return np.clip(t, low, high) if low > 0 or high < math.inf else t

    def _continued(self, value: Array, t: Array) -> Array:
        """Return ρ₁ at t from its value at t clipped: past either end the tangent goes on."""
        low, high = self._linear_outside
        if low > 0:  # the shift holds ρ(0) = 0
            end = np.array(low)
            value = value - (self._rho(end) - self._weight(end) * np.minimum(t, low))
        if high < math.inf:
            value = value + self._weight(np.array(high)) * np.maximum(t - high, 0.0)
        return value

    def _unit(self, s: npt.ArrayLike) -> tuple[Array, float]:
        scale2 = self.scale**2
        with np.errstate(over="ignore", under="ignore"):
            return np.asarray(s, dtype=np.float64) / scale2, scale2

    # -- scale and start -------------------------------------------------------------------

    def resolve(self, s: Array, a: Array | None = None, dim: int = 1) -> Self:
        """Return this loss with σ a number, its rule applied to squared residuals ``s``.

        ``"mad"`` takes `efficient` times the scaled median residual, ``"silverman"`` the
        paper's (30).
        """
        sigma = getattr(self, "sigma", 1.0)
        if not isinstance(sigma, str):
            return self
        factor = self.efficient if sigma == "mad" else 1.0
        return self.at(factor * RULES[sigma](s, a, dim))

    def relaxed(self, sigma: float) -> "Loss":
        """Return the loss to start from at a larger scale, on the way down to this one."""
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
        for name, value in params.items():
            _check(type(self).__name__, name, value)
            object.__setattr__(self, name, value)
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


@dataclass(frozen=True)
class Squared(Loss):
    """Least squares: ρ(s) = s. With it the machines are the paper's ELM, RELM and PCA.

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
    def convex(self) -> bool:
        return self.p >= 1

    @property
    def _linear_outside(self) -> tuple[float, float]:
        return (_SINGULAR_BELOW if self.p < 4 and self.p != 2 else 0.0), math.inf

    def _rho(self, t: Array) -> Array:
        return np.asarray(2 / self.p * t ** (self.p / 2))

    def _weight(self, t: Array) -> Array:
        return np.asarray(t ** (self.p / 2 - 1))

    def _curvature(self, t: Array) -> Array:
        if self.p == 2:
            return np.zeros_like(t)
        return np.asarray((self.p / 2 - 1) * t ** (self.p / 2 - 2))


@dataclass(frozen=True)
class Huber(Loss):
    """Huber's loss: quadratic up to |r| = σ, linear beyond.

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
        return np.asarray(1 / np.sqrt(np.maximum(t, 1)))

    def _curvature(self, t: Array) -> Array:
        return np.where(t <= 1, 0.0, -0.5 * np.maximum(t, 1) ** -1.5)


@dataclass(frozen=True)
class Cauchy(Loss):
    """Cauchy's, or Lorentzian, loss: ρ(s) = σ² log(1 + s / σ²).

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
        return np.asarray(1 / (1 + t))

    def _curvature(self, t: Array) -> Array:
        return np.asarray(-((1 / (1 + t)) ** 2))


@dataclass(frozen=True)
class Tukey(Loss):
    """Tukey's biweight: residuals past σ have no weight at all.

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
        return self.scale**2 / 3

    def _rho(self, t: Array) -> Array:
        # t (1 - t + t²/3) is (1 - (1 - t)³) / 3 without the cancellation at small t.
        u = np.minimum(t, 1)
        return np.asarray(u * (1 - u + u * u / 3))

    def _weight(self, t: Array) -> Array:
        return np.asarray((1 - np.minimum(t, 1)) ** 2)

    def _curvature(self, t: Array) -> Array:
        return np.asarray(-2 * (1 - np.minimum(t, 1)))


@dataclass(frozen=True)
class Trimmed(Loss):
    """Least squares for all but outliers: full weight up to t = s / σ² = 0.97, none past 1.

    Between both the weight falls on a line. Rows that fit better than most do not
    count for more, as they do with the other losses: for PCA with many columns, where the
    squared residual norms differ by a few percent, that keeps single rows from pulling the
    subspace through themselves.

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
        return self.scale**2 * (1 + self._edge) / 2

    def _fall(self, t: Array) -> Array:
        return np.asarray((np.clip(t, self._edge, 1) - self._edge) / (1 - self._edge))

    def _rho(self, t: Array) -> Array:
        u = self._fall(t)
        return np.asarray(np.minimum(t, self._edge) + (1 - self._edge) * u * (1 - u / 2))

    def _weight(self, t: Array) -> Array:
        return 1 - self._fall(t)

    def _curvature(self, t: Array) -> Array:
        return np.where((t < self._edge) | (t > 1), 0.0, -1 / (1 - self._edge))


@dataclass(frozen=True)
class RiskSensitive(Loss):
    """Risk-sensitive loss: ρ(s) = 2σ² (exp(s / 2σ²) - 1), which fears large residuals.

    The opposite of a robust loss, here because the paper names it. Past s = 600 σ² it goes on
    linearly: the exponential would overflow.

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
        return np.asarray(2 * np.expm1(t / 2))

    def _weight(self, t: Array) -> Array:
        return np.exp(t / 2)

    def _curvature(self, t: Array) -> Array:
        return np.asarray(0.5 * np.exp(t / 2))


@dataclass(frozen=True)
class Correntropy(Loss):
    """The correntropic loss (C-loss): ρ(s) = 2σ² (1 - exp(-s / 2σ²)); KMPE with p = 2.

    With it the machines are the paper's ELM-RCC and HQ-PCA. It is (3) of the paper times 2σ².

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
        return 2 * self.scale**2

    def _rho(self, t: Array) -> Array:
        return 2 * kernel_gap(t)

    def _weight(self, t: Array) -> Array:
        return np.exp(-t / 2)

    def _curvature(self, t: Array) -> Array:
        return np.asarray(-0.5 * np.exp(-t / 2))


@dataclass(frozen=True)
class KMPE(Loss):
    """Kernel mean p-power error: ρ(s) = (4σ² / p) (1 - exp(-s / 2σ²))^(p/2).

    (5) of the paper times 4σ² / p, so that its derivative is φ of (23). Large p gives weight to
    the middle-sized residuals, p below 2 to the smallest; the largest have none for any p.

    Parameters
    ----------
    p : float, default=2
        The power; 2 is the correntropic loss.
    sigma : float, "mad" or "silverman", default="mad"
        The kernel width, or the rule that finds it.

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
    def sup(self) -> float:
        return 4 * self.scale**2 / self.p

    def relaxed(self, sigma: float) -> Loss:
        """Return the correntropic loss: at a large scale p > 2 would follow the outliers."""
        return Correntropy(sigma)

    @property
    def _linear_outside(self) -> tuple[float, float]:
        return (_SINGULAR_BELOW if self.p < 4 and self.p != 2 else 0.0), math.inf

    def _rho(self, t: Array) -> Array:
        return np.asarray(4 / self.p * kernel_gap(t) ** (self.p / 2))

    def _weight(self, t: Array) -> Array:
        return np.asarray(kernel_gap(t) ** (self.p / 2 - 1) * np.exp(-t / 2))

    def _rho_and_weight(self, t: Array) -> tuple[Array, Array]:
        # One exponential and one power instead of three and two: half of the time.
        q = kernel_gap(t)
        power = q ** (self.p / 2 - 1)
        return np.asarray(4 / self.p * power * q), np.asarray(power * (1 - q))

    def _curvature(self, t: Array) -> Array:
        kernel = np.exp(-t / 2)
        if self.p == 2:
            return np.asarray(-0.5 * kernel)
        q = kernel_gap(t)
        a = self.p / 2 - 1
        return np.asarray(0.5 * kernel * q ** (a - 1) * (a * kernel - q))
