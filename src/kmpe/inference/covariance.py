"""How sure a fit is: sandwich covariance, confidence intervals, outliers and leave-one-out.

For a fit that solves Σ aᵢ ψ(rᵢ) hᵢ = αβ the covariance of β is M⁻¹ Q M⁻¹, with
M = Σ aᵢ ψ'(rᵢ) hᵢᵀhᵢ + α and Q = Σ aᵢ ψ(rᵢ)² hᵢᵀhᵢ. It asks for no Gaussian noise.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.special import chdtri, stdtr, stdtrit

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.losses.scale import mad
from kmpe.problems.linear import Linear

__all__ = [
    "FALSE_POSITIVES",
    "Term",
    "confidence",
    "outlier_limit",
    "robust_r2",
    "sandwich",
    "scaled_residuals",
    "summary",
]

#: Share of the rows that `outliers_` marks on clean Gaussian data.
FALSE_POSITIVES = 0.01
# A row that alone decides a coefficient leaves nothing without it; five times its ψ will do.
_LEAST_WITHOUT = 0.2
# MADs over which ψ' is smoothed to see whether it depends on the inputs.
_SMOOTHING = 0.5


def sandwich(problem: Linear, loss: Loss, beta: Array, leverages: Array) -> Array:
    """Return the covariance of the coefficients of each target, shape (q, k, k).

    By the jackknife in closed form: without row i the fit moves by M⁻¹hᵢψᵢ / (1 - ψᵢ'hᵢM⁻¹hᵢᵀ).
    Huber's factor 1 + (k / n) var ψ' / (E ψ')² covers the chance that is left in M.
    """
    R = problem.residuals(beta)
    s = np.einsum("ij,ij->i", R, R)
    w, bend = loss.weight(s), 2 * loss.curvature(s)
    n, k = float(problem.a.sum()), problem.H.shape[1]
    width = _SMOOTHING * mad(s, problem.a, problem.dim)
    blocks = []
    for j in range(problem.dim):
        slope = w + bend * R[:, j] ** 2
        mean = float(problem.a @ slope) / n
        if mean <= 0:
            blocks.append(np.full((k, k), np.nan))
            continue
        growth = 1 + k / n * float(problem.a @ (slope - mean) ** 2) / n / mean**2
        own = np.maximum(1 - slope * leverages / mean, _LEAST_WITHOUT)
        smoothed = _smoothed_slope(loss, R, j, width) if width > 0 else slope
        M = _bread(problem, mean, smoothed) + np.diag(problem.penalties)
        Q = problem.gram((w * R[:, j] / own) ** 2)
        blocks.append(_solve(M, _solve(M, Q).T) * growth**2)
    return np.array(blocks)


def _bread(problem: Linear, mean: float, slope: Array) -> Array:
    """Return Σ aᵢ ψ'(rᵢ) hᵢᵀhᵢ from the mean of ψ' and ``slope``, ψ' smoothed.

    Smoothed slopes have less chance in them and tell as well where ψ' is larger and where smaller.
    Where even they leave the sum without a sign, it is E[ψ'] HᵀH, as of noise that does not depend
    on the inputs.
    """
    middle = float(problem.a @ slope) / float(problem.a.sum())
    if middle > 0:
        least = float(slope.min())
        bread = problem.gram(slope - least) + least * problem.gram_of_rows
        if _least_ratio(bread, problem.gram_of_rows) > _LEAST_WITHOUT * middle:
            return np.asarray(mean / middle * bread)
    return np.asarray(mean * problem.gram_of_rows)


def _smoothed_slope(loss: Loss, R: Array, j: int, width: float) -> Array:
    """Return (ψ(r + width) - ψ(r - width)) / 2 width, for component j of the residuals."""
    others = np.einsum("ij,ij->i", R, R) - R[:, j] ** 2
    ends = [R[:, j] + step for step in (width, -width)]
    high, low = (end * loss.weight(others + end**2) for end in ends)
    return np.asarray((high - low) / (2 * width))


def robust_r2(T: Array, R: Array, a: Array) -> float:
    """Return R² over the rows that count: those that are not outliers."""
    if not a.any():
        return float("nan")
    total = float(np.sum(a @ (T - a @ T / a.sum()) ** 2))
    return 1 - float(np.sum(a @ R**2)) / total if total > 0 else 0.0


def outlier_limit(dim: int) -> float:
    """Return the scaled residual norm that one clean Gaussian row in a hundred exceeds."""
    return float(np.sqrt(chdtri(dim, FALSE_POSITIVES)))


def scaled_residuals(R: Array, a: Array, n_parameters: float) -> tuple[Array, float]:
    """Return residual norms over their scale, and the scale.

    The scale is the MAD, with a correction for the parameters: fitted rows lie too near.
    """
    s = np.einsum("ij,ij->i", R, R)
    n = float(a.sum())
    scale = mad(s, a, R.shape[1]) * float(np.sqrt(n / max(n - n_parameters, 1.0)))
    return np.sqrt(s) / scale, scale


@dataclass(frozen=True)
class Term:
    """One line of the summary."""

    name: str
    estimate: float
    error: float
    low: float
    high: float


def confidence(estimates: Array, cov: Array, df: float, level: float) -> Array:
    """Return lower and upper ends of the confidence intervals, shape (k, 2)."""
    width = stdtrit(max(df, 1.0), 0.5 + level / 2) * np.sqrt(np.diag(cov))
    return np.column_stack([estimates - width, estimates + width])


def summary(terms: list[Term], df: float, facts: list[tuple[str, str]]) -> str:
    """Return the table of coefficients, errors and intervals, facts about the fit above it.

    P>|t| is how often Student's t with ``df`` degrees of freedom is as far from 0.
    """
    width = max(9, *(len(term.name) for term in terms))
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    header = f"{'':<{width}}  {'coef':>11} {'std err':>11} {'t':>8} {'P>|t|':>7}"
    header += f" {'low':>11} {'high':>11}"
    lines += ["", header, "-" * len(header)]
    for term in terms:
        ratio = term.estimate / term.error if term.error > 0 else float("inf")
        lines.append(
            f"{term.name:<{width}}  {term.estimate:11.5g} {term.error:11.4g} {ratio:8.2f} "
            f"{2 * stdtr(df, -abs(ratio)):7.3f} {term.low:11.5g} {term.high:11.5g}"
        )
    return "\n".join(lines)


def _least_ratio(B: Array, gram: Array) -> float:
    """Return the smallest vᵀBv / vᵀgram v, over the v that the rows tell something of."""
    values, vectors = linalg.eigh(gram, check_finite=False)
    kept = values > values[-1] * len(values) * np.finfo(np.float64).eps
    whiten = vectors[:, kept] / np.sqrt(values[kept])
    return float(linalg.eigvalsh(whiten.T @ B @ whiten, check_finite=False)[0])


def _solve(B: Array, right: Array) -> Array:
    """Return B⁻¹ right, of smallest norm where B is singular."""
    return np.asarray(linalg.lstsq(B, right, check_finite=False)[0])
