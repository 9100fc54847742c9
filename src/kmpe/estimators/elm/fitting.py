"""Fits of self-tuning ELMs, and of ELMs with a random layer as in the paper."""

import warnings
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from kmpe.arrays import Array
from kmpe.choice.labels import LabelNoise
from kmpe.choice.noise import Noise
from kmpe.choice.penalty import Tuning, choose_width
from kmpe.choice.self_tuning import RightLabels, SelfTuning
from kmpe.choice.widths import Machine, choose_machine
from kmpe.estimators.inputs import RobustnessWarning
from kmpe.foreign import Foreign, asarray
from kmpe.inference.intervals import leave_one_out
from kmpe.inference.quantiles import middle_of, quantile_of
from kmpe.losses import Loss
from kmpe.problems.ridge import Ridge
from kmpe.rows.arranged import Arranged
from kmpe.rows.files import Reader
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.kernel_nodes import KernelNodes
from kmpe.rows.source import Block, Outputs, Rows
from kmpe.rows.threads import MOST_KEPT, free_memory
from kmpe.solvers.minimise import solve
from kmpe.solvers.progress import station
from kmpe.solvers.record import Fit
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.walk import Chosen, Walked, walk

__all__ = ["Fitted", "Settings", "Unit", "fit_drawn", "fit_tuned", "walk_drawn", "walk_tuned"]

_DEAD = (
    "Every hidden node is 0 on every row, so that 0 is predicted: scale X so that differences of "
    "order 1 matter, or choose another activation."
)


@dataclass(frozen=True)
class Settings:
    """The user's settings; None is to be chosen."""

    loss: Loss | None
    alpha: float | None
    n_hidden: int | None
    init: str
    max_iter: int
    tol: float
    memory_limit: float | None

    def solve(self, chosen: Chosen[Ridge, Array]) -> Fit[Array]:
        """Complete the fit; with init="zero" by Algorithm 1 to the letter."""
        if self.init == "zero" and self.loss is not None:
            parts = chosen.problem, chosen.loss, chosen.theta
            return reweight(*parts, max_iter=self.max_iter, tol=self.tol, as_printed=True)
        return solve(chosen, max_iter=self.max_iter, tol=self.tol)

    def keeps(self, X: Any, features: int, itemsize: int) -> bool:
        """Whether H fits into memory: a quarter of what is free by default."""
        limit = self.memory_limit
        if limit is None:
            # X in a file may be larger than memory, and so may H; of a device nothing is known.
            large = isinstance(X, Reader) or (isinstance(X, Foreign) and not X.library.on_cpu)
            limit = min(0.25 * free_memory(), MOST_KEPT if large else np.inf)
        return bool(X.shape[0] * features * itemsize <= limit)


@dataclass(frozen=True)
class Unit:
    """The centre of the targets and a unit, a power of 2, in which squares do not overflow.

    The centre is the median of each target: the self-tuning ELM penalises its constant, which has
    no effect near zero.
    """

    centre: Array
    size: float = 1.0

    @classmethod
    def of(cls, rows: Rows, loss: Loss | None, *, classes: bool = False) -> "Unit":
        """Return the unit of targets; if σ of the loss is a number, it is the user's unit."""
        centre = middle_of(rows)
        return cls(centre, 1.0 if classes else _size(rows, centre, loss))

    @classmethod
    def about_zero(cls, rows: Rows, loss: Loss | None) -> "Unit":
        """Return the unit of targets for a random layer, which has no constant."""
        centre = np.zeros(rows.n_targets)
        return cls(centre, _size(rows, centre, loss))

    def __call__(self, T: Array) -> Array:
        """Return targets about their centre, in this unit."""
        return np.asarray((T - self.centre) / self.size)

    def of_loss(self, loss: Loss) -> Loss:
        """Return a loss in the unit of the user."""
        return loss.at(self.size * loss.scale) if hasattr(loss, "sigma") else loss

    def of_noise(self, noise: Noise | None) -> Noise | None:
        """Return the noise in the unit of the user."""
        return None if noise is None else replace(noise, sigma=self.size * noise.sigma)

    def of_fit(self, fit: Fit[Array]) -> Fit[Array]:
        """Return a fit with costs in the unit of the user."""
        return replace(fit, history=tuple(self.size**2 * cost for cost in fit.history))


@dataclass(frozen=True)
class Fitted:
    """The results of a fit, for rows in the user's order."""

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


class TunedWalk(NamedTuple):
    """A chosen machine, and its fit to centred and scaled targets."""

    unit: Unit
    machine: Machine
    rows: Rows
    walked: Walked[Ridge, Array]

    @property
    def beta(self) -> Array:
        """The coefficients of the plain features, for the targets as given."""
        theta = self.walked.chosen.problem.coefficients(self.walked.fit.theta)
        return self.machine.features.original(self.unit.size * theta, self.unit.centre)


def walk_tuned(rows: Rows, settings: Settings, *, classes: bool) -> TunedWalk:
    """Choose a machine for rows of inputs, and fit it to them."""
    unit = Unit.of(rows, settings.loss, classes=classes)
    rows, taken = rows.centred(unit.centre, unit.size), unit.centre if classes else None
    station("widths on a sample")
    machine = choose_machine(rows, n_hidden=settings.n_hidden, alpha=settings.alpha, classes=taken)
    layer = machine.features
    rows = replace(rows.per(machine.unit), features=layer)
    if settings.keeps(rows.X, layer.n_features, 8):
        rows = rows.stored()
    tuning = SelfTuning(machine, settings.loss, settings.init, taken)
    walked = walk(Ridge.of(rows), tuning.start, tuning.choose, settings.solve)
    return TunedWalk(unit, machine, rows, walked)


def fit_tuned(table: Arranged, unit: float, settings: Settings, *, classes: bool) -> Fitted:
    """Fit a self-tuning ELM; residuals are leave-one-out residuals."""
    given = Rows(table.X, table.T, table.a)
    found = walk_tuned(given, settings, classes=classes)
    of_targets, machine, walked = found.unit, found.machine, found.walked
    problem, fit, decided = walked.chosen.problem, walked.fit, walked.chosen.details
    layer, beta = machine.features.plain(), found.beta
    size, far = of_targets.size, of_targets(table.T) - found.rows.T
    R, h = problem.residuals(fit.theta) + far, _leverages(walked)
    idle = _idle(table, layer, beta) / size
    w = decided.weights
    if w is None:
        w = _weights(fit, R)
    elif isinstance(w, RightLabels):
        w = found.rows.column(w)
    _warn(fit)
    a = np.append(found.rows.a, np.zeros(len(idle)))
    return Fitted(
        layer,
        beta,
        table.X.dtype,
        decided.alpha * unit * machine.unit,
        of_targets.of_loss(decided.loss),
        of_targets.of_noise(decided.noise),
        np.append(w, _weights(fit, idle))[table.back],
        of_targets.of_fit(fit),
        float(h.sum()),
        size * np.concatenate([leave_one_out(R, h), idle])[table.back],
        _shared(a, table),
        machine.table,
        machine.labels,
    )


def walk_drawn(
    rows: Rows, unit: float, settings: Settings
) -> tuple[HiddenLayer, Walked[Ridge, Array]]:
    """Fit a random layer; if the number of nodes is not given, the first nodes are chosen."""
    layer, kind = rows.features, rows.X.dtype
    assert isinstance(layer, HiddenLayer)
    alpha = None if settings.alpha is None else settings.alpha / unit
    if settings.n_hidden is None:
        layer = layer.first(choose_width(rows, loss=settings.loss, alpha=alpha))
        rows = replace(rows, features=layer)
    if settings.keeps(rows.X, layer.n_features, kind.itemsize):
        rows = rows.stored(kind)
    tuning = Tuning(settings.loss, alpha, settings.init)
    walked = walk(Ridge.of(rows), tuning.start, tuning.choose, settings.solve)
    theta = walked.fit.theta
    if not theta.any() and not walked.chosen.problem.with_penalties(0.0).gram().any():
        warnings.warn(_DEAD, RobustnessWarning, stacklevel=6)
    _warn(walked.fit)
    return layer, walked


def fit_drawn(table: Arranged, unit: float, layer: HiddenLayer, settings: Settings) -> Fitted:
    """Fit a random layer, as in the paper."""
    layer, walked = walk_drawn(Rows(table.X, table.T, table.a, layer), unit, settings)
    problem, fit, tuned = walked.chosen.problem, walked.fit, walked.chosen.details
    beta = problem.coefficients(fit.theta)
    idle = _idle(table, layer, beta)
    R = np.concatenate([problem.residuals(fit.theta), idle])
    return Fitted(
        layer,
        beta,
        table.X.dtype,
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


@dataclass(frozen=True)
class _FarOut:
    """The largest absolute difference of the targets of each row from a centre."""

    centre: Array

    def __call__(self, block: Block) -> Array:
        return asarray(np.abs(block.T - self.centre).max(axis=1))


@dataclass(frozen=True)
class _Away:
    """The total weight of the rows whose targets differ from the centre."""

    far: _FarOut

    def __call__(self, block: Block) -> tuple[Array]:
        return (asarray(block.a @ (self.far(block) > 0)),)


def _size(rows: Rows, centre: Array, loss: Loss | None) -> float:
    """Return a power of 2 near the median size of the targets, or 1 if σ is given.

    The size is the distance from the centre; rows at the centre are left out.
    """
    far = _FarOut(centre)
    away = float(rows.total(_Away(far))[0])
    if away == 0 or not (loss is None or loss.has_rule or loss.quadratic):
        return 1.0
    typical = quantile_of(rows, far, 1 - 0.5 * away / rows.n)
    return float(2.0 ** np.round(np.log2(typical))) if typical > 0 else 1.0


def _leverages(walked: Walked[Ridge, Array]) -> Array:
    """Return the leverage of each row."""
    problem, fit = walked.chosen.problem, walked.fit
    criterion = fit.criterion
    V = problem.factor(problem.weighted(fit.theta, criterion)).root_of_inverse()
    w = _weights(fit, problem.residuals(fit.theta))
    return np.asarray(np.minimum(problem.sample_weight * w * problem.leverages(V), 0.99))


def _shared(a: Array, table: Arranged) -> Array:
    """Return the weights of rows in the given order; merged equal rows share one weight."""
    back = table.back
    return np.asarray(a[back] / (1 if isinstance(back, slice) else np.bincount(back)[back]))


def _idle(table: Arranged, layer: HiddenLayer | KernelNodes, beta: Array) -> Array:
    """Return the residuals of the rows of weight 0."""
    outputs = Rows.inputs(table.X0, layer).column(Outputs(beta), beta.shape[1])
    return np.asarray(table.T0 - outputs)


def _weights(fit: Fit[Array], R: Array) -> Array:
    """Return the weights of rows with given residuals at the solution."""
    return np.asarray(fit.criterion.weight(np.einsum("ij,ij->i", R, R)))


def _warn(fit: Fit[Array]) -> None:
    if not fit.status.converged:
        warnings.warn(fit.message, ConvergenceWarning, stacklevel=6)
