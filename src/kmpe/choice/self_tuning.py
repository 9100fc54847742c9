"""Start and choice of the self-tuning ELM: the choice of the loss.

If a fit has many degrees of freedom per row, weights cannot be based on its residuals: an outlier
with few neighbours is interpolated. So rows are weighted by their leave-one-out errors
(`kmpe.choice.widths`), and the fit is least squares with these weights. A loss is used in three
cases: if it is given; if there are too many rows for leave-one-out errors; and if the noise, such
as uniform noise, has a much better loss and there are enough residuals to show it.
"""

from dataclasses import dataclass, replace

import numpy as np

from kmpe.arrays import Array
from kmpe.choice.believable import Mixture
from kmpe.choice.labels import LabelNoise
from kmpe.choice.loss import LOOKS, REFERENCE, choose_loss
from kmpe.choice.noise import GRID, Noise, granularity
from kmpe.choice.scale import GivenLoss
from kmpe.choice.slope import mean_slope
from kmpe.choice.widths import Judged, Machine, judged
from kmpe.losses import Correntropy, Loss, Squared
from kmpe.losses.density import LogDensity
from kmpe.losses.scale import mad
from kmpe.problems.ridge import Ridge
from kmpe.problems.ridge_sums import squared_norms
from kmpe.rows.source import Block, Rows
from kmpe.solvers.minimise import START_ROWS, has_many_rows, minimise, sample_of
from kmpe.solvers.walk import Begun, Chosen

__all__ = ["Decided", "RightLabels", "SelfTuning"]


@dataclass(frozen=True)
class RightLabels:
    """The probability that the label of each row is right, by its scores in a fit."""

    beta: Array
    labels: LabelNoise
    classes: Array

    def __call__(self, block: Block) -> Array:
        """Return the probability for each row of a block."""
        F = block.H @ self.beta + self.classes
        return self.labels.right(F, np.argmax(block.T + self.classes, axis=1))


@dataclass(frozen=True)
class Decided:
    """The decisions: α, the loss to report, the noise, and the weights of the rows if fixed."""

    alpha: float
    loss: Loss
    noise: Noise | None
    weights: Array | RightLabels | None = None


@dataclass(frozen=True)
class SelfTuning:
    """Start and choice of the fit with a chosen machine.

    Parameters
    ----------
    machine : Machine
        The machine.
    loss : Loss, optional
        The loss; None chooses it.
    init : {"robust", "ridge", "zero"}
        The start for a given loss: the fit to rows that are no outliers, to all rows, or 0.
    classes : array of shape (q,), optional
        As in `choose_machine`.
    """

    machine: Machine
    loss: Loss | None
    init: str = "robust"
    classes: Array | None = None

    def start(self, problem: Ridge) -> Begun[Ridge, Array]:
        """Return the initial estimate; its problem has the chosen penalty."""
        machine = self.machine
        some, H = machine.some, machine.H
        w = machine.w if self.init == "robust" or self.loss is None else np.ones(len(H))
        fit = judged(H, some.Y, some.a, w, machine.alpha)
        if self.loss is not None:
            # With degrees of freedom of half the rows, residuals are too small for a scale.
            E = fit.errors.errors
            loss = self.loss.resolve(squared_norms(E), some.a, E.shape[1])
            alpha = machine.alpha * self._slope(loss, fit.beta)
            return self._begun(problem, fit.beta, Decided(alpha, loss, None), loss)
        suited = None if machine.labels is not None else self._suited(fit)
        if suited is not None:
            beta, decided = suited
            return self._begun(problem, beta, decided, decided.loss)
        loss, noise = _shown(machine.mixture, fit), self._noise(fit)
        if machine.place is None and machine.labels is None:
            alpha = machine.alpha * self._slope(loss, fit.beta)
            return self._begun(problem, fit.beta, Decided(alpha, loss, noise), loss)
        weights: Array | RightLabels
        if machine.place is not None:
            weights = machine.w[machine.place]
            rows = replace(problem.rows, a=problem.sample_weight * weights)
        else:
            # Labels of rows outside the sample are judged by the fit to it.
            assert machine.labels is not None
            assert self.classes is not None
            weights = RightLabels(fit.beta, machine.labels, self.classes)
            rows = problem.rows.reweighed(weights)
        decided = Decided(machine.alpha, loss, noise, weights)
        return self._begun(replace(problem, rows=rows), fit.beta, decided, Squared())

    def choose(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the loss with its σ a number."""
        assert begun.loss is not None
        return replace(GivenLoss(begun.loss)(begun), details=begun.details)

    def _begun(
        self, problem: Ridge, beta: Array, decided: Decided, loss: Loss
    ) -> Begun[Ridge, Array]:
        problem = problem.with_penalties(decided.alpha)
        sample = sample_of(problem) if has_many_rows(problem) else problem
        theta = beta if problem.basis is None else problem.basis.T @ beta
        if self.init == "zero" and self.loss is not None:
            theta = problem.zero
        return Begun(problem, sample, theta, loss, details=decided)

    def _noise(self, fit: Judged) -> Noise | None:
        """Return the noise estimated from leave-one-out errors."""
        E = fit.errors.errors
        if E.shape[1] > 1 or not E.any():
            return None
        return choose_loss(E, sample_weight=self.machine.some.a).noise

    def _suited(self, fit: Judged) -> tuple[Array, Decided] | None:
        """Return the fit with the loss chosen for the noise, if its gain is large.

        Residuals show the noise only if there are enough rows per degree of freedom. Then tails of
        Student's t belong to the noise, and this loss takes account of them; otherwise its variance
        must be a tenth below that of a plain robust loss, as for uniform noise.
        """
        machine = self.machine
        some, H, alpha = machine.some, machine.H, machine.alpha
        share = fit.degrees_of_freedom / float(self._counts.sum())
        if some.Y.shape[1] > 1 or share > 1 / START_ROWS:
            return None
        beta, grain = fit.beta, granularity(some.Y[:, 0], some.a)
        rows = Ridge.of(Rows.of(H, some.Y, some.a))
        for _ in range(LOOKS):
            R = some.Y - H @ beta
            if not R.any():
                return None
            choice = choose_loss(R, sample_weight=some.a, leverage=share, grain=grain)
            plain = Correntropy(REFERENCE * mad(squared_norms(R), some.a))
            if choice.noise is None:
                return None
            gain = choice.noise.variance_ratio(choice.loss, plain)
            if gain > 0.9 and not machine.mixture.steady:
                return None
            alpha = machine.alpha * self._slope(choice.loss, beta)
            rows = rows.with_penalties(alpha)
            theta = beta if rows.basis is None else rows.basis.T @ beta
            # The accuracy of the cost, as a share of that of one row, is enough to choose a loss.
            found = minimise(rows, rows, choice.loss, theta, max_iter=50, tol=0.01 / len(H))
            beta = rows.coefficients(found.theta)
        return beta, Decided(alpha, choice.loss, choice.noise)

    @property
    def _counts(self) -> Array:
        return self.machine.some.a * self.machine.w

    def _slope(self, loss: Loss, beta: Array) -> float:
        """Return E[ψ'] over the rows that are no outliers."""
        R = self.machine.some.Y - self.machine.H @ beta
        return mean_slope(loss, squared_norms(R), self._counts, R.shape[1])


def _shown(mixture: Mixture, fit: Judged) -> Loss:
    """Return the loss whose weights at the leave-one-out errors are those of the rows."""
    E, errors = fit.errors.errors, fit.errors
    if not mixture.has_outliers:
        return Squared()
    sd = float(np.sqrt(np.median(errors.open + errors.noise)))
    sigma = mixture.scale * sd * float(np.sqrt(E.shape[1]))
    return LogDensity.of(GRID, mixture.log_density(mixture.scale * GRID), sigma)
