"""The penalty α of a robust ridge fit by generalised cross-validation, and its loss.

A robust fit is a ridge fit to pseudo-values: near the solution, least squares with the targets
z = Hβ + ψ(r) / E[ψ'] and the penalty α / E[ψ'] has the same solution (Cox 1983). So one
eigendecomposition of HᵀH serves every loss, every step and the whole ridge path. The criterion is
GCV (Craven and Wahba 1979).
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import linalg

from kmpe.arrays import SINGULAR, Array, norm
from kmpe.choice.loss import LOOKS, choose_loss
from kmpe.choice.noise import Noise, granularity
from kmpe.choice.scale import GivenLoss
from kmpe.choice.slope import weights_and_slope
from kmpe.losses import Correntropy, Loss, Squared
from kmpe.losses.scale import mad
from kmpe.problems.ridge import Ridge
from kmpe.rows.checks import LARGEST
from kmpe.rows.sample import draw
from kmpe.rows.source import Rows
from kmpe.solvers.minimise import LEAST_ROWS, START_ROWS, has_many_rows, sample_of
from kmpe.solvers.walk import Begun, Chosen
from kmpe.starts.ridge import RidgeStart

__all__ = ["WIDTHS", "Tuned", "Tuning", "choose_width", "tune"]

#: The candidates for the number of features.
WIDTHS = (25, 50, 100, 200, 400, 800)

# The ridge path: α over the largest eigenvalue of HᵀH, from the rounding errors of HᵀH, below which
# α has no effect, to a fit that is shrunk tenfold, in steps of a factor 1.47.
_PATH = np.logspace(-14, 1, 91)
_ANNEALING = (16.0, 8.0, 4.0, 3.0, 2.11, 2.11, 2.11, 2.11)
# Residuals below this share of the targets are rounding errors or those of an interpolating fit,
# from which no loss can be chosen.
_EXACT = 1e-6
# The largest effective degrees of freedom per row. On 40 halves of the yacht data, clean and with a
# fifth of the targets spoilt, half of it has 2.9 and 2.0 times the error; twice of it, which leaves
# the limit to GCV, 1.2 and 1.1 times, and the worst error is 2.1 instead of 0.8 standard deviations
# (`python benchmarks/spent_rows.py --only yacht --draws 40`).
_MOST_SPENT = 0.5
# Above this share no loss is chosen from the residuals, as in a linear regression (`AdaptiveLoss`).
# There, half of it changes errors by at most 1%, twice of it by up to 10%.
_TOO_FEW = 0.4


@dataclass(frozen=True)
class Tuned:
    """The result: α, its solution β, the effective degrees of freedom, the loss and the noise."""

    alpha: float
    beta: Array | None
    degrees_of_freedom: float
    loss: Loss
    noise: Noise | None


class _State(NamedTuple):
    alpha: float
    beta: Array
    degrees_of_freedom: float


@dataclass(frozen=True)
class _Path:
    """The ridge path: features, targets, and the nonzero part of the eigendecomposition of HᵀH."""

    H: Array
    T: Array
    a: Array

    @cached_property
    def _eigen(self) -> tuple[Array, Array]:
        n, L = self.H.shape
        if n < L:  # the others are 0, and so are their coefficients
            rows = np.sqrt(self.a)[:, None] * self.H
            _, roots, Qt = linalg.svd(rows, full_matrices=False, check_finite=False)
            return roots[::-1] ** 2, Qt[::-1].T
        values, Q = linalg.eigh((self.H * self.a[:, None]).T @ self.H, check_finite=False)
        return np.maximum(values, 0.0), Q

    def fit(self, Z: Array, alpha: float | None, rounding: float = 1e-9) -> _State:
        """Return α, β and degrees of freedom for targets Z; α None chooses it by GCV.

        GCV(α) = (RSS / n) / (1 - 1.4 df / n)², summed over the targets. The factor 1.4 prevents
        occasional undersmoothing (Kim and Gu 2004). Sums of squares below the share ``rounding`` of
        the total, and differences of the criterion of that size, are rounding errors.
        """
        values, Q = self._eigen
        n = float(self.a.sum())
        C = Q.T @ (self.H.T @ (self.a[:, None] * Z))
        if alpha is None:
            # All features may underflow, such as those of nodes far from all rows.
            grid = _PATH * (values[-1] if values[-1] > 1 / LARGEST**2 else 1.0)
            shrunk = values + grid[:, None]
            df = (values / shrunk).sum(axis=1)
            # In the unit of the largest, squares do not overflow: only shares of the total count.
            unit = float(np.abs(Z).max(initial=0.0)) or 1.0
            total = float(np.sum(self.a @ (Z / unit) ** 2)) or 1.0
            energy = np.einsum("ij,ij->i", C / unit, C / unit)
            fitted = ((values + 2 * grid[:, None]) / shrunk / shrunk) @ energy
            rss = np.maximum(1 - fitted / total, rounding)  # as a share of the total
            room = 1 - 1.4 * df / n
            spent = df > max(_MOST_SPENT * n, float(df[-1]))
            gcv = np.where(spent, np.inf, rss / np.maximum(room, rounding) ** 2)
            alpha = float(grid[np.flatnonzero(gcv <= gcv.min() * (1 + rounding))[-1]])
        shrunk = values + alpha
        # Without a penalty, directions within the rounding errors of HᵀH are left out.
        kept = shrunk > (1e-15 if alpha > 0 else SINGULAR) * shrunk[-1]
        beta = Q[:, kept] @ (C[kept] / shrunk[kept, None])
        return _State(alpha, beta, float((values[kept] / shrunk[kept]).sum()))

    def residuals(self, beta: Array) -> Array:
        return np.asarray(self.T - self.H @ beta)


@dataclass(frozen=True)
class Tuning:
    """Start and choice of a ridge fit whose α or loss may have to be chosen.

    Parameters
    ----------
    loss : Loss, optional
        The loss; None chooses it.
    alpha : float, optional
        The penalty; None chooses it.
    init : {"robust", "ridge", "zero"}
        The start with a given loss, as in `RidgeStart`.
    """

    loss: Loss | None
    alpha: float | None
    init: str = "robust"

    def start(self, problem: Ridge) -> Begun[Ridge, Array]:
        """Return the initial estimate; its problem has the chosen α."""
        tuned = self._tuned(problem)
        problem = problem.with_penalties(tuned.alpha)
        if tuned.beta is None or self.loss is not None:
            begun = RidgeStart(tuned.loss, self.init)(problem)
        else:
            sample = sample_of(problem) if has_many_rows(problem) else problem
            begun = Begun(problem, sample, tuned.beta, tuned.loss)
        return replace(begun, details=tuned)

    def choose(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the loss with its σ a number."""
        return replace(GivenLoss(begun.details.loss)(begun), details=begun.details)

    def _tuned(self, problem: Ridge) -> Tuned:
        if self.loss is not None and self.alpha is not None:
            return Tuned(self.alpha, None, 0.0, self.loss, None)
        tuned = tune(problem.rows, loss=self.loss, alpha=self.alpha)
        return tuned if self.loss is None else replace(tuned, loss=self.loss)


def tune(rows: Rows, *, loss: Loss | None, alpha: float | None) -> Tuned:
    """Choose the loss and α where they are None, on a sample if there are many rows.

    If α is given and the loss is chosen, α is that of least squares: it is multiplied by E[ψ'], as
    it would otherwise shrink more with a loss of smaller weights.
    """
    path = _sampled(rows)
    state = _annealed(path, alpha)
    R = path.residuals(state.beta)
    if not R.any() or _unit(path, state) <= _EXACT * np.sqrt(np.mean(path.T**2)):
        return Tuned(*state, Squared() if loss is None else loss, None)
    if loss is not None:
        loss = loss.resolve(_norms(R), path.a, R.shape[1])
        return Tuned(*_settle(path, loss, state, alpha), loss, None)
    state, loss, noise = _chosen(path, state, alpha)
    tuned = Tuned(*state, loss, noise)
    if _gives_up(path, state, loss):
        return replace(tuned, beta=None, loss=Correntropy(), noise=None)
    return tuned


def _chosen(path: _Path, state: _State, alpha: float | None) -> tuple[_State, Loss, Noise | None]:
    """Return the fit with a chosen loss, the loss and the noise; correntropy if rows are few."""
    if _share(path, state) > _TOO_FEW:
        return state, Correntropy(_ANNEALING[-1] * _unit(path, state)), None
    grain = granularity(path.T[:, 0], path.a)
    for _ in range(LOOKS):
        choice = choose_loss(
            path.residuals(state.beta),
            sample_weight=path.a,
            leverage=_share(path, state),
            grain=grain,
        )
        state = _settle(path, choice.loss, state, alpha)
    return state, choice.loss, choice.noise


def choose_width(rows: Rows, *, loss: Loss | None, alpha: float | None) -> int:
    """Return the number of leading features that predict best, one of `WIDTHS`.

    By the mean loss of the residuals of a robust fit, each divided by 1 - df / n: for least squares
    this is generalised cross-validation.
    """
    widest = _sampled(rows)
    a, dim = widest.a, widest.T.shape[1]
    errors = []
    for width in WIDTHS:
        path = replace(widest, H=widest.H[:, :width])
        state = _annealed(path, alpha)
        errors.append(_norms(path.residuals(state.beta)) / (1 - _share(path, state)) ** 2)
    scales = [mad(s, a, dim) for s in errors]
    exact = np.array(scales) <= _EXACT * np.sqrt(np.mean(widest.T**2))
    if exact.any():
        return WIDTHS[int(np.argmax(exact))]
    best = _first_least(scales)
    # A loss that redescends at about three times the scale of the noise.
    judge = Correntropy(3 * scales[best]) if loss is None else loss
    judge = judge.resolve(errors[best], a, dim)
    return WIDTHS[_first_least([float(a @ judge.rho(s)) for s in errors])]


def _first_least(values: list[float]) -> int:
    """Return the index of the smallest value, the first of those equal up to rounding."""
    return int(np.argmax(np.array(values) <= min(values) * (1 + 1e-9)))


def _sampled(rows: Rows) -> _Path:
    """Return the ridge path of the rows, or of a sample if there are many."""
    size = max(LEAST_ROWS, START_ROWS * rows.n_features)
    a = rows.a
    if rows.n_counted > size:
        rows = draw(rows, size)
        # The weights of a sample add up to its size: its rows are the only information used.
        a = rows.a * (len(rows) / rows.n)
    return _Path(rows.whole()[a > 0], np.asarray(rows.T[a > 0], dtype=np.float64), a[a > 0])


def _annealed(path: _Path, alpha: float | None) -> _State:
    """Return a robust fit: from least squares, σ is lowered to the scale of the noise."""
    state = path.fit(path.T, alpha)
    for factor in _ANNEALING:
        if path.residuals(state.beta).any():
            state = _step(path, Correntropy(factor * _unit(path, state)), state, alpha)
    return state


def _gives_up(path: _Path, state: _State, loss: Loss) -> bool:
    """Whether β = 0 with every row rejected costs hardly more than the fit.

    This happens on nearly exact fits, where the penalty dominates a bounded loss.
    """
    rows = path.a @ loss.rho(_norms(path.residuals(state.beta)))
    penalty = state.alpha * float(np.vdot(state.beta, state.beta))
    return bool(2 * (rows + penalty) >= path.a.sum() * loss.sup)


def _settle(
    path: _Path, loss: Loss, state: _State, alpha: float | None, max_steps: int = 12
) -> _State:
    """Repeat the step until β converges."""
    for _ in range(max_steps):
        before, state = state.beta, _step(path, loss, state, alpha)
        if norm(state.beta - before) <= 1e-4 * norm(state.beta):
            break
    return state


def _step(path: _Path, loss: Loss, state: _State, alpha: float | None) -> _State:
    """Return the ridge fit to pseudo-values."""
    R = path.residuals(state.beta)
    s, q = _norms(R), R.shape[1]
    w, slope = weights_and_slope(loss, s, path.a, q)
    if slope <= 0:
        return state
    # Weights in units of the slope: their products with residuals may overflow.
    moved = path.fit(path.T - R + (w / slope)[:, None] * R, alpha)
    return moved._replace(alpha=moved.alpha * slope)


def _share(path: _Path, state: _State) -> float:
    """Return the degrees of freedom per row."""
    return min(state.degrees_of_freedom / float(path.a.sum()), 0.9)


def _unit(path: _Path, state: _State) -> float:
    """Return the MAD of the residuals, corrected for the degrees of freedom of the fit."""
    R = path.residuals(state.beta)
    return mad(_norms(R), path.a, R.shape[1]) / float(np.sqrt(1 - _share(path, state)))


def _norms(R: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", R, R))
