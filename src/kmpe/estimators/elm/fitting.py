"""Fits of the two kinds of machines: one that tunes itself, and one drawn as the paper has it."""

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from kmpe.arrays import Array
from kmpe.choice.labels import LabelNoise
from kmpe.choice.noise import Noise
from kmpe.choice.penalty import Tuning, choose_width
from kmpe.choice.self_tuning import SelfTuning
from kmpe.choice.widths import choose_machine
from kmpe.estimators.inputs import RobustnessWarning
from kmpe.inference.intervals import leave_one_out
from kmpe.losses import Loss
from kmpe.losses.scale import middle
from kmpe.problems.ridge import Ridge
from kmpe.rows.arranged import Arranged
from kmpe.rows.files import Reader
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.kernel_nodes import KernelNodes
from kmpe.rows.source import Outputs, Rows
from kmpe.rows.threads import MOST_KEPT, free_memory
from kmpe.solvers.minimise import solve
from kmpe.solvers.record import Fit
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.walk import Chosen, Walked, walk

__all__ = ["Fitted", "Settings", "Unit", "fit_drawn", "fit_tuned"]

_DEAD = (
    "Every hidden node is 0 on every row, so that 0 is predicted: scale X so that differences of "
    "order 1 matter, or choose another activation."
)


@dataclass(frozen=True)
class Settings:
    """What the user asks for; None is to be chosen."""

    loss: Loss | None
    alpha: float | None
    n_hidden: int | None
    init: str
    max_iter: int
    tol: float
    memory_limit: float | None

    def solve(self, chosen: Chosen[Ridge, Array]) -> Fit[Array]:
        """End the fit; from "zero", by Algorithm 1 to the letter."""
        if self.init == "zero" and self.loss is not None:
            parts = chosen.problem, chosen.loss, chosen.theta
            return reweight(*parts, max_iter=self.max_iter, tol=self.tol, as_printed=True)
        return solve(chosen, max_iter=self.max_iter, tol=self.tol)

    def keeps(self, X: Any, features: int, itemsize: int) -> bool:
        """Whether H fits into memory: a quarter of what is free by default."""
        limit = self.memory_limit
        if limit is None:
            # What is read from a file was too large for the memory: H will be as well.
            most = MOST_KEPT if isinstance(X, Reader) else np.inf
            limit = min(0.25 * free_memory(), most)
        return bool(X.shape[0] * features * itemsize <= limit)


@dataclass(frozen=True)
class Unit:
    """Where targets are measured from, and a unit of them, a power of 2: squares are then numbers.

    They are taken about their medians: a constant is part of the machine that tunes itself, and
    near them its penalty is not felt.
    """

    centre: Array
    size: float = 1.0

    @classmethod
    def of(cls, T: Array, a: Array, loss: Loss | None, *, classes: bool = False) -> "Unit":
        """Return the unit of targets; a loss with a number for its σ has that of the user."""
        centre = np.array([middle(t, a) for t in T.T])
        return cls(centre, 1.0 if classes else _size(T - centre, loss))

    @classmethod
    def about_zero(cls, T: Array, loss: Loss | None) -> "Unit":
        """Return the unit of targets of a drawn layer, which has no constant."""
        return cls(np.zeros(T.shape[1]), _size(T, loss))

    def __call__(self, T: Array) -> Array:
        """Return targets about their centre, in this unit."""
        return np.asarray((T - self.centre) / self.size)

    def of_loss(self, loss: Loss) -> Loss:
        """Return a loss in the unit of the user."""
        return loss.at(self.size * loss.scale) if hasattr(loss, "sigma") else loss


@dataclass(frozen=True)
class Fitted:
    """A fit: what every machine has, for rows in the order that the user gave."""

    layer: HiddenLayer | KernelNodes
    beta: Array
    dtype: npt.DTypeLike
    alpha: float
    loss: Loss
    noise: Noise | None
    weights: Array
    fit: Fit[Array]
    degrees_of_freedom: float
    R: Array
    a: Array
    table: list[dict[str, float | str]]
    labels: LabelNoise | None = None


def fit_tuned(table: Arranged, unit: float, settings: Settings, *, classes: bool) -> Fitted:
    """Fit the machine that tunes itself; residuals are those of each row left out."""
    X, a = table.X, table.a
    of_targets = Unit.of(table.T, a, settings.loss, classes=classes)
    centre, size, T = of_targets.centre, of_targets.size, of_targets(table.T)
    # Farther out than 1e8 of their medians targets have no weight, and their squares no digits.
    near = np.clip(T, -1e8, 1e8) if size != 1 else T
    T, far = near, T - near
    taken = centre if classes else None
    machine = choose_machine(
        Rows(X, T, a), n_hidden=settings.n_hidden, alpha=settings.alpha, classes=taken
    )
    layer = machine.features
    rows = Rows(X, T, a / machine.unit, layer)
    if settings.keeps(X, layer.n_features, 8):
        rows = rows.stored()
    tuning = SelfTuning(machine, settings.loss, settings.init, taken)
    walked = walk(Ridge.of(rows), tuning.start, tuning.choose, settings.solve)
    problem, fit, decided = walked.chosen.problem, walked.fit, walked.chosen.details
    beta = layer.original(size * problem.coefficients(fit.theta), centre)
    R, h = problem.residuals(fit.theta) + far, _leverages(walked)
    idle = _idle(table, layer.plain(), beta) / size
    w = _weights(fit, R) if decided.weights is None else decided.weights
    _warn(fit)
    noise = decided.noise
    return Fitted(
        layer.plain(),
        beta,
        X.dtype,
        decided.alpha * unit * machine.unit,
        of_targets.of_loss(decided.loss),
        None if noise is None else replace(noise, sigma=size * noise.sigma),
        np.append(w, _weights(fit, idle))[table.back],
        replace(fit, history=tuple(size * size * cost for cost in fit.history)),
        float(h.sum()),
        size * np.concatenate([leave_one_out(R, h), idle])[table.back],
        _shared(np.append(rows.a, np.zeros(len(idle))), table),
        machine.table,
        machine.labels,
    )


def fit_drawn(table: Arranged, unit: float, layer: HiddenLayer, settings: Settings) -> Fitted:
    """Fit a random layer, as the paper has it; of a layer without a number, some first nodes."""
    X, T, alpha = table.X, table.T, settings.alpha
    alpha = None if alpha is None else alpha / unit
    tuning = Tuning(settings.loss, alpha, settings.init)
    rows = Rows(X, T, table.a, layer)
    if settings.n_hidden is None:
        layer = layer.first(choose_width(rows, loss=settings.loss, alpha=alpha))
        rows = replace(rows, features=layer)
    if settings.keeps(X, layer.n_features, X.dtype.itemsize):
        rows = rows.stored(X.dtype)
    walked = walk(Ridge.of(rows), tuning.start, tuning.choose, settings.solve)
    problem, fit, tuned = walked.chosen.problem, walked.fit, walked.chosen.details
    if T.any() and not fit.theta.any() and not problem.with_penalties(0.0).gram().any():
        warnings.warn(_DEAD, RobustnessWarning, stacklevel=5)
    _warn(fit)
    beta = problem.coefficients(fit.theta)
    idle = _idle(table, layer, beta)
    R = np.concatenate([problem.residuals(fit.theta), idle])
    return Fitted(
        layer,
        beta,
        X.dtype,
        tuned.alpha * unit,
        fit.loss,
        tuned.noise,
        _weights(fit, R)[table.back],
        fit,
        tuned.degrees_of_freedom,
        R[table.back],
        _shared(np.append(problem.sample_weight, np.zeros(len(idle))), table),
        [],
    )


def _size(T: Array, loss: Loss | None) -> float:
    """Return a power of 2 near the median size of the targets, or 1 beside a given σ."""
    sizes = np.abs(T[T != 0])
    if len(sizes) == 0 or not (loss is None or loss.has_rule or loss.quadratic):
        return 1.0
    return float(2.0 ** np.round(np.log2(np.median(sizes))))


def _leverages(walked: Walked[Ridge, Array]) -> Array:
    """Return the share of each residual that the fit to its row has taken."""
    problem, fit = walked.chosen.problem, walked.fit
    criterion = fit.criterion
    V = problem.factor(problem.weighted(fit.theta, criterion)).root_of_inverse()
    w = _weights(fit, problem.residuals(fit.theta))
    return np.asarray(np.minimum(problem.sample_weight * w * problem.leverages(V), 0.99))


def _shared(a: Array, table: Arranged) -> Array:
    """Return the weights of rows in the order given; equal ones share that of the one fitted."""
    back = table.back
    return np.asarray(a[back] / (1 if isinstance(back, slice) else np.bincount(back)[back]))


def _idle(table: Arranged, layer: HiddenLayer | KernelNodes, beta: Array) -> Array:
    """Return the residuals of the rows without weight."""
    outputs = Rows.inputs(table.X0, layer).column(Outputs(beta), beta.shape[1])
    return np.asarray(table.T0 - outputs)


def _weights(fit: Fit[Array], R: Array) -> Array:
    """Return the weights of rows of such residuals at the solution."""
    return np.asarray(fit.criterion.weight(np.einsum("ij,ij->i", R, R)))


def _warn(fit: Fit[Array]) -> None:
    if not fit.status.converged:
        warnings.warn(fit.message, ConvergenceWarning, stacklevel=6)
