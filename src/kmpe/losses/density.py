"""The loss that is minus the logarithm of a density: ρ(r²) = 2σ² (log f(0) - log f(r)).

With it an M-estimator is the maximum likelihood estimator for noise of density f (Huber 1964).
The density is given on a grid only, so the loss is a table, namely of the weight

    ρ'(s) = -σ² (d log f / dr) / r,

a monotone piecewise cubic of t = s / σ² (PCHIP: Fritsch and Butland 1984), and ρ is its integral,
a piecewise quartic: ρ, ρ' and ρ'' agree to rounding. Where f grows with |r| the weight is 0 instead
of negative, and ρ is flat.

The knots are the floating-point numbers whose mantissa has `_BITS` bits. The leading bits of a
number then give its cell, and the bits that follow its position in the cell, without a search or a
logarithm.
"""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Self

import numpy as np

from kmpe.arrays import Array
from kmpe.foreign import Foreign, asarray
from kmpe.losses.base import Loss
from kmpe.losses.kernel import Correntropy

__all__ = ["KNOTS", "LogDensity"]

_BITS = 4
_LOW, _HIGH = 2.0**-20, 2.0**27
_SHIFT = 52 - _BITS
_FIRST, _LAST = (int(np.float64(end).view(np.int64)) for end in (_LOW, _HIGH))
#: The values of t = s / σ² at which the weight is tabulated, 3% to 6% apart: |r| from 0.001 σ to
#: 11 600 σ.
KNOTS = np.arange(_FIRST, _LAST + 1, 1 << _SHIFT).view(np.float64)
_WIDTHS = np.diff(KNOTS)
_LAST_CELL = len(_WIDTHS)
_ROOTS = np.sqrt(KNOTS)
# Rows evaluated at once: their arrays stay in the second-level cache.
_BLOCK = 1 << 12


@dataclass(frozen=True, eq=False)
class LogDensity(Loss):
    """Minus the log density of the noise, from a table; losses compare by identity.

    Parameters
    ----------
    sigma : float
        The unit of the residuals.
    weights : array of shape (len(KNOTS),)
        ρ' at the `KNOTS`, at least 0. It is constant below the second and 0 beyond the last.

    See Also
    --------
    choose_loss : Chooses one for given residuals.
    Blend : An average of losses instead of densities.

    Examples
    --------
    >>> r = np.geomspace(1e-4, 1e5, 1000)
    >>> cauchy = LogDensity.of(r, -np.log1p(r**2))
    >>> cauchy.weight([0.0, 1.0, 9.0]).round(3)
    array([2. , 1. , 0.2])
    """

    sigma: float
    weights: Array = field(repr=False)

    convex = False

    def __post_init__(self) -> None:
        w = np.asarray(self.weights, dtype=np.float64)
        if not (w.shape == KNOTS.shape and (w >= 0).all() and np.isfinite(w).all()):
            raise ValueError(f"LogDensity: weights must be {len(KNOTS)} numbers of at least 0")
        if not (isinstance(self.sigma, numbers.Real) and 0 < float(self.sigma) < np.inf):
            raise ValueError(f"LogDensity: sigma={self.sigma!r} must be a number above 0")

    @classmethod
    def of(cls, r: Array, log_density: Array, sigma: float = 1.0, least: float = 0.0) -> Self:
        """Return the loss of a density given as log f(r), up to a constant.

        r is a geometric sequence that starts near 0, in units of ``sigma``. Below ``least`` the
        weight is constant: a loss must not be peaked within the granularity of the data.
        """
        step = float(np.log(r[-1] / r[0])) / (len(r) - 1)
        slope = np.gradient(log_density, step)
        wide = (log_density[4:] - log_density[:-4]) / (4 * step)
        slope[2:-2] += (slope[2:-2] - wide) / 3  # Richardson extrapolation: fourth order
        at = np.clip(_ROOTS, max(least, r[0]), r[-1])
        w = np.maximum(np.interp(at, r, -slope / r**2), 0.0)
        # Where the density is flat no fit is better than another; a millionth of the largest weight
        # makes the solution unique there, and is negligible otherwise.
        rising = np.arange(len(w)) < np.argmax(w)
        return cls(sigma, np.where(rising, np.maximum(w, 1e-6 * w.max()), w))

    def __str__(self) -> str:
        return f"LogDensity(sigma={self.sigma:.4g})"

    @cached_property
    def concave(self) -> bool:
        # The slope of an interpolated density is accurate to this.
        return bool((np.diff(self._table) <= 1e-5 * self._table[:-1]).all())

    @property
    def sup(self) -> float:
        return float(self.rho(np.inf))

    def relaxed(self, sigma: float) -> Loss:
        """Return the correntropic loss: at a large scale a bounded density follows outliers."""
        return Correntropy(sigma)

    def _rho(self, t: Array) -> Array:
        (rho,) = _piecewise(self._quartic_and_cubic[:5], [5], t)
        return asarray(rho + self._table[0] * np.minimum(t, _LOW))

    def _weight(self, t: Array) -> Array:
        (weight,) = _piecewise(self._cubic, [4], t)
        return np.maximum(weight, 0.0)  # rounding at knots of weight 0

    def _rho_and_weight(self, t: Array, full: bool = False) -> tuple[Array, Array]:  # noqa: ARG002
        rho, weight = _piecewise(self._quartic_and_cubic, [5, 4], t)
        return rho + self._table[0] * np.minimum(t, _LOW), np.maximum(weight, 0.0)

    def _curvature(self, t: Array) -> Array:
        (curvature,) = _piecewise(self._quadratic, [3], t)
        return curvature

    # Polynomials in the position within a cell, from 0 to 1: coefficients of increasing powers, one
    # column for each cell. The last cell is the point `_HIGH`.

    @cached_property
    def _table(self) -> Array:
        """The weights, with slope 0 at both ends, beyond which they are constant."""
        return np.concatenate([self.weights[1:2], self.weights[1:-1], [0.0]])

    @cached_property
    def _cubic(self) -> Array:
        w, rise = self._table[:-1], np.diff(self._table)
        slope = _monotone_slopes(rise / _WIDTHS)
        left, right = slope[:-1] * _WIDTHS, slope[1:] * _WIDTHS
        by_place = [w, left, 3 * rise - 2 * left - right, left + right - 2 * rise]
        return np.pad(by_place, ((0, 0), (0, 1)))

    @cached_property
    def _quadratic(self) -> Array:
        return np.asarray(self._cubic[1:] * [[1], [2], [3]] / np.append(_WIDTHS, 1.0))

    @cached_property
    def _quartic_and_cubic(self) -> Array:
        gain = self._cubic * np.append(_WIDTHS, 0.0) / [[1], [2], [3], [4]]
        before = np.cumsum(gain.sum(axis=0)) - gain.sum(axis=0)
        return np.vstack([before, gain, self._cubic])


def _monotone_slopes(chords: Array) -> Array:
    """Return slopes at the knots from the chords: harmonic means, 0 at a local extremum.

    They are those of SciPy's PchipInterpolator except for slopes 0 at both ends, in a tenth of the
    time, which for a hundred rows is a tenth of a fit.
    """
    before, after = chords[:-1], chords[1:]
    near, far = _WIDTHS[:-1] + 2 * _WIDTHS[1:], 2 * _WIDTHS[:-1] + _WIDTHS[1:]
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        mean = (near + far) / (near / before + far / after)
    return np.pad(np.where(before * after > 0, mean, 0.0), 1)


def _piecewise(table: Array, sizes: Sequence[int], t: Array) -> list[Array]:
    """Return piecewise polynomials at t; outside the knots, their values at the nearest end.

    ``table`` has their coefficients one below the other, ``sizes`` the number of each. So the cells
    are found once for all, and one look-up takes less than half the time of one for each. Where an
    array of another library is in the memory of this process, NumPy reads its bits there: a third
    of the time that PyTorch takes for 10 000 rows by exponents.
    """
    if isinstance(t, Foreign):
        shared = t.shared()
        if shared is None:
            return _by_logarithm(table, sizes, t)
        found: list[Any] = [t.library.foreign(v) for v in _piecewise(table, sizes, shared)]
        return found
    out = np.empty((len(sizes), *np.shape(t)))
    flat, t = out.reshape(len(sizes), -1), np.ravel(t)
    # Allocated once: workers of Dask return freed memory to the system, and fetch it again.
    room = np.empty((len(table), min(len(t), _BLOCK)))
    for start in range(0, len(t), _BLOCK):
        part = np.minimum(np.maximum(t[start : start + _BLOCK], _LOW), _HIGH).view(np.int64)
        cell = (part >> _SHIFT) - (_FIRST >> _SHIFT)
        u = (part & ((1 << _SHIFT) - 1)) * 2.0**-_SHIFT
        # mode: only NaN is out of range, and checking for it would double the time.
        coefficients = table.take(cell, axis=1, mode="clip", out=room[:, : len(cell)])
        flat[:, start : start + _BLOCK] = _horner(coefficients, sizes, u)
    return list(out)


def _by_logarithm(table: Array, sizes: Sequence[int], t: Foreign) -> list[Any]:
    """Return piecewise polynomials at t where its bits cannot be read, by exponents.

    Of a number next to a power of two the logarithm may be rounded to the other side. Its place is
    then next to 0 or 1 of the neighbouring cell, where both polynomials agree.
    """
    xp = t.library.xp
    s = xp.clip(t.values, _LOW, _HIGH)
    octave = xp.floor(xp.log2(s))
    place = (s * 2.0**-octave - 1) * 2**_BITS
    inside = xp.floor(place)
    cell = octave * 2**_BITS + inside + float((1023 << _BITS) - (_FIRST >> _SHIFT))
    cell = xp.astype(xp.clip(cell, 0, _LAST_CELL), xp.int64)
    rows = xp.take(t.library.array(np.ascontiguousarray(table.T)), cell, axis=0)
    return [Foreign(value, t.library) for value in _horner(rows.T, sizes, place - inside)]


def _horner(coefficients: Any, sizes: Sequence[int], u: Any) -> list[Any]:
    """Return polynomials at u from coefficients of increasing powers, one below the other."""
    values, end = [], 0
    for size in sizes:
        start, end = end, end + size
        value = coefficients[end - 1, ...] * u
        for k in range(end - 2, start, -1):
            value += coefficients[k, ...]
            value *= u
        value += coefficients[start, ...]
        values.append(value)
    return values
