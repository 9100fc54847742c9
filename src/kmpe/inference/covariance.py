"""The sandwich covariance of an M-estimator (Huber 1967), as a jackknife in closed form.

For a fit that solves Σ aᵢ ψ(rᵢ) hᵢ = αβ the covariance of β is M⁻¹ Q M⁻¹, with
M = Σ aᵢ ψ'(rᵢ) hᵢᵀhᵢ + α and Q = Σ aᵢ ψ(rᵢ)² hᵢᵀhᵢ, whatever the distribution of the noise. If row
i is left out, the fit moves by M⁻¹hᵢψᵢ / (1 - ψᵢ'hᵢM⁻¹hᵢᵀ): with ψᵢ divided by that denominator, Q
gives the jackknife, which for least squares is HC3 (MacKinnon and White 1985).

ψ' at single residuals varies much, and is unbounded for peaked noise. It is therefore smoothed: its
mean over the standard error of the fit, and its value for each row over half a MAD to either side
of the residual, which keeps its dependence on the inputs. For least absolute deviations this is
Powell's (1991) kernel estimate of the density at 0. Rows that such a fit interpolates are left out
of it, as it interpolates k rows whatever the noise. Where ψ itself is unbounded (p < 1) there is no
such covariance.

The sandwich holds if no row has much influence (Huber 1973). If few rows determine a coefficient,
as with skewed inputs, it is too small for losses of noise with an edge or a peak. Exactly, the
error of β is M̄⁻¹ Σ aᵢ ψ(εᵢ) hᵢ with M̄ = Σ aᵢ mᵢ hᵢᵀhᵢ, where mᵢ is the mean slope of ψ between the
noise εᵢ and the residual. If the noise is independent of the inputs and its density is known, mᵢ is
about m(wᵢ) = E[ψ(ε + wᵢ) - ψ(ε - wᵢ)] / 2wᵢ, with wᵢ the standard error of the prediction of row i.
The covariance M̄⁻¹ (E[ψ²] Σ aᵢ hᵢᵀhᵢ) M̄⁻¹ and its wᵢ are a fixed point (`model_based`).
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import chdtri

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.losses.scale import mad, quantile
from kmpe.problems.leverage import projected, root_of_inverse, whitening
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import squared_norms, weighted_gram
from kmpe.rows.source import Block
from kmpe.solvers.minimise import SMOOTHING, SURE_ROWS
from kmpe.solvers.record import Density

__all__ = ["Covariance", "model_based", "sandwich"]

# For a row that alone determines a coefficient the jackknife is infinite; ψ is multiplied by at
# most five.
_LEAST_WITHOUT = 0.2
# A residual below this share of a typical one is zero up to rounding.
_EXACT = 1e-6


@dataclass(frozen=True)
class Covariance:
    """The covariance of the coefficients of each target, and a matrix for leverages.

    Parameters
    ----------
    blocks : array of shape (q, k, k)
        The covariances.
    root : array of shape (k, m)
        V such that ‖hᵢV‖² is the leverage of a row.
    """

    blocks: Array
    root: Array


def sandwich(problem: Ridge, loss: Loss, theta: Array, power: float = 1.0) -> Covariance:
    """Return the covariance of the coefficients.

    ψ is divided by a power of 1 - ψ'hᵢM⁻¹hᵢᵀ: 1 for the jackknife, which is too large on average,
    and 1/2 for what is unbiased if the noise is independent of the inputs (for least squares HC2).

    Huber's factor 1 + (k / n) var ψ' / (E ψ')² corrects for the sampling error of M.
    """
    n, k = problem.rows.n, problem.rows.n_features
    s = problem.squared_residuals(theta)
    scale = mad(s, problem.sample_weight, problem.dim)
    if loss.singular:
        # The fit may interpolate k rows: the median is taken over the others.
        typical = quantile(s, 0.5 + 0.5 * min(k / n, 1.0), problem.sample_weight)
        scale = math.sqrt(typical / float(chdtri(problem.dim, 0.5)))
        if scale == 0 or loss.psi(_EXACT * scale) > 2 * loss.psi(scale):
            no_blocks = np.full((problem.dim, k, k), np.nan)
            return Covariance(no_blocks, root_of_inverse(problem.gram()))
    width = SMOOTHING * scale
    gram = problem.gram() if problem.rows.n_counted < SURE_ROWS * k else None
    whiten = None if gram is None else whitening(gram)
    V = None if whiten is None else projected(whiten)
    blocks = []
    for j in range(problem.dim):
        mean, square = _slopes(problem, loss, theta, j, scale)
        middle, bread = problem.rows.total(_Bread(theta, loss, j, width))
        M = _bread(mean, float(middle) / n, bread, gram, whiten, problem.penalties)
        if mean <= 0 or not np.isfinite(M).all():
            blocks.append(np.full((k, k), np.nan))
            continue
        growth = 1 + k / n * max(square / mean / mean - 1, 0.0)
        root = whitening(M)
        V = projected(root * np.sqrt(mean)) if V is None else V
        (Q,) = problem.rows.total(_Meat(theta, loss, j, mean, width, V, power))
        with np.errstate(over="ignore", invalid="ignore"):  # as in _Slopes
            inverse = root @ root.T
            blocks.append(growth**2 * inverse @ Q @ inverse)
    return Covariance(np.array(blocks), root_of_inverse(problem.gram()) if V is None else V)


def model_based(problem: Ridge, loss: Loss, noise: Density) -> Array:
    """Return the covariance of the coefficients for noise that is independent of the inputs.

    For one target. It is 0 where the mean of ψ has no slope.
    """
    # No prediction is less certain than its own target: for least squares wᵢ is σ √hᵢ.
    widths = noise.scale * np.geomspace(0.01, 1.0, 13)
    penalties = np.diag(problem.penalties)
    gram = problem.gram() - penalties
    with np.errstate(over="ignore", invalid="ignore"):  # as in _Slopes
        rise = loss.psi(noise.values + widths[:, None]) - loss.psi(noise.values - widths[:, None])
        slopes = rise @ noise.mass / (2 * widths)
        if not (slopes > 0).all() or not np.isfinite(gram).all():
            return np.zeros_like(gram)
        power, V = float(loss.psi(noise.values) ** 2 @ noise.mass), whitening(gram)
        half, root = math.sqrt(power) * gram @ V, noise.scale * V
        for _ in range(5):  # to 1%, and to a fifth if single rows determine a coefficient
            (M,) = problem.rows.total(_PathBread(projected(root), widths, slopes))
            V = whitening(M + penalties)
            root = V @ (V.T @ half)
        cov = root @ root.T
    return np.asarray(cov) if np.isfinite(cov).all() else np.zeros_like(gram)


@dataclass(frozen=True)
class _PathBread:
    """The sum of mᵢ hᵢᵀhᵢ, given the root of the covariance and a table of m."""

    root: Array
    widths: Array
    slopes: Array

    def __call__(self, block: Block) -> tuple[Array]:
        w = np.sqrt(squared_norms(block.H @ self.root))
        return (weighted_gram(block.H, block.a * np.interp(w, self.widths, self.slopes)),)


def _slopes(problem: Ridge, loss: Loss, theta: Array, j: int, scale: float) -> tuple[float, float]:
    """Return the means of ψ' and of its square, for component j of the residuals.

    ψ may have a kink or a jump, and few residuals lie near it. The slope that matters is that of
    the mean of ψ over the standard error of the fit, which averages √(k/n E[ψ²]) / E[ψ'] over the
    rows. It is computed from a first slope over the standard error of least squares, σ √(k/n).
    """
    n, k = problem.rows.n, problem.rows.n_features
    error, mean, square = math.inf, 0.0, 0.0
    shorter = scale * math.sqrt(k / n)
    for _ in range(2):
        if not shorter < error:
            break
        error = shorter
        sums = problem.rows.total(_Slopes(theta, loss, j, error))
        mean, square, power = (float(value) / n for value in sums)
        shorter = math.sqrt(k / n * power) / mean if mean > 0 else math.inf
    return mean, square


@dataclass(frozen=True)
class _Slopes:
    """Sums of ψ', smoothed, of its square, and of ψ², for component j of the residuals."""

    theta: Array
    loss: Loss
    j: int
    width: float

    def __call__(self, block: Block) -> tuple[Array, Array, Array]:
        R = block.T - block.H @ self.theta
        slope = _smoothed_slope(self.loss, R, self.j, self.width)
        if self.loss.singular:
            slope *= np.abs(R[:, self.j]) > _EXACT * self.width
        with np.errstate(over="ignore", invalid="ignore"):  # p > 2 in large units: NaN errors
            return block.a @ slope, block.a @ slope**2, block.a @ _psi(self.loss, R, self.j) ** 2


@dataclass(frozen=True)
class _Bread:
    """Sums of the smoothed ψ', at least 0, and of it times hᵢᵀhᵢ."""

    theta: Array
    loss: Loss
    j: int
    width: float

    def __call__(self, block: Block) -> tuple[Array, Array]:
        R = block.T - block.H @ self.theta
        slope = np.maximum(_smoothed_slope(self.loss, R, self.j, self.width), 0.0)
        return block.a @ slope, weighted_gram(block.H, block.a * slope)


@dataclass(frozen=True)
class _Meat:
    """Q of the jackknife."""

    theta: Array
    loss: Loss
    j: int
    mean: float
    width: float
    V: Array
    power: float

    def __call__(self, block: Block) -> tuple[Array]:
        R = block.T - block.H @ self.theta
        HV = block.H @ self.V
        leverages = np.einsum("ij,ij->i", HV, HV)
        slope = np.maximum(_smoothed_slope(self.loss, R, self.j, self.width), 0.0)
        without = 1 - slope * leverages / self.mean
        psi = _psi(self.loss, R, self.j)
        psi /= np.maximum(without, _LEAST_WITHOUT) ** self.power
        with np.errstate(over="ignore", invalid="ignore"):  # as in _Slopes
            return (weighted_gram(block.H, block.a * psi**2),)


def _bread(
    mean: float,
    middle: float,
    bread: Array,
    gram: Array | None,
    whiten: Array | None,
    penalties: Array,
) -> Array:
    """Return M from the mean of ψ', and the mean and sum of the smoothed ψ'.

    If there are few rows and their smoothed ψ' nearly vanish in a direction, M is E[ψ'] HᵀH, which
    holds for noise that does not depend on the inputs.
    """
    if middle > 0 and (whiten is None or _least_ratio(bread, whiten) > _LEAST_WITHOUT * middle):
        return np.asarray(mean / middle * bread + np.diag(penalties))
    if gram is None:
        return np.full_like(bread, np.nan)
    return np.asarray(mean * (gram - np.diag(penalties)) + np.diag(penalties))


def _psi(loss: Loss, R: Array, j: int) -> Array:
    """Return component j of ψ."""
    return np.asarray(R[:, j] * loss.weight(squared_norms(R)))


def _slope(loss: Loss, R: Array, j: int) -> Array:
    """Return ψ' for component j of the residuals."""
    s = np.einsum("ij,ij->i", R, R)
    return np.asarray(loss.weight(s) + 2 * loss.curvature(s) * R[:, j] ** 2)


def _smoothed_slope(loss: Loss, R: Array, j: int, width: float) -> Array:
    """Return (ψ(r + width) - ψ(r - width)) / 2 width, for component j of the residuals."""
    if width == 0:
        return _slope(loss, R, j)
    others = np.einsum("ij,ij->i", R, R) - R[:, j] ** 2
    ends = [R[:, j] + step for step in (width, -width)]
    with np.errstate(over="ignore", invalid="ignore"):  # as in _Slopes
        high, low = (end * loss.weight(others + end**2) for end in ends)
        return np.asarray((high - low) / (2 * width))


def _least_ratio(B: Array, V: Array) -> float:
    """Return the smallest vᵀBv over the v in the span of V, which is whitened."""
    return float(linalg.eigvalsh(V.T @ B @ V, check_finite=False).min(initial=math.inf))
