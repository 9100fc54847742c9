"""The adaptive loss of a linear regression: alternate between estimating the noise and fitting.

A better fit leaves residuals that show the noise more clearly, so the choice of the loss
(`kmpe.choice.loss`) and the fit alternate, on a sample if there are many rows. Bad leverage points
of the start have weight 0: a loss for heavy tails, which never rejects a row completely, would
follow them.

If the noise is independent of the inputs, every loss estimates the same slopes. If those of the
chosen loss differ significantly from those of the MM-estimate (`hausman`), the noise depends on the
inputs, its density is not meaningful, and the MM-estimate is used.
"""

from dataclasses import dataclass, replace

from kmpe.arrays import Array
from kmpe.choice.loss import LOOKS, REFERENCE, Choice, choose_loss
from kmpe.choice.noise import Noise, granularity
from kmpe.choice.slope import mean_slope
from kmpe.inference.hausman import hausman
from kmpe.losses import Correntropy, Loss, Squared, Tukey
from kmpe.problems.leverage import root_of_inverse
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.minimise import START_ROWS, has_many_rows, minimise
from kmpe.solvers.record import Density
from kmpe.solvers.walk import Begun, Chosen
from kmpe.starts.regression import BadLeverage, Inexact, Start, Status

__all__ = ["AdaptiveLoss", "Looked", "looked"]

_DEPENDENT = (
    "The slopes under the loss that suits the residuals differ from those of the MM-estimate "
    "(p = {p:.1g}): the noise depends on the inputs. The MM-estimate, {loss}, is used."
)


@dataclass(frozen=True)
class Looked:
    """The details of a choice: the noise, and its density if it is independent of the inputs."""

    noise: Noise | None
    density: Density | None


def looked(chosen: Chosen[Ridge, Array]) -> Looked:
    """Return the details of a choice; empty if the loss was given."""
    return chosen.details if isinstance(chosen.details, Looked) else Looked(None, None)


@dataclass(frozen=True)
class AdaptiveLoss:
    """The choice of the loss from the residuals.

    A penalty is that of least squares; for another loss it is multiplied by E[ψ'].
    """

    max_iter: int

    def __call__(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the loss chosen for the noise, and its fit to the sample."""
        start: Start = begun.details
        if start.scale == 0:
            return _exact(begun)
        if start.status is not Status.FEW_ROWS:
            begun = _without(BadLeverage.of(begun.sample.rows, start), begun)
        problem, sample = begun.problem, begun.sample
        # With fewer than 4 rows per coefficient the noise cannot be estimated: for 60 rows of 28
        # inputs 95% intervals of a chosen loss cover 85 to 91%, those of the plain loss 95 to 98%,
        # and its slopes have 0.8 of the squared error (`python benchmarks/coverage.py`).
        if start.n < 4 * problem.rows.n_features:
            return self._few_rows(begun)
        a, theta = sample.sample_weight, begun.theta
        counts = _counted(problem, sample).a
        leverages = sample.leverages(root_of_inverse(sample.gram() * (counts.sum() / a.sum())))
        grain = granularity(sample.rows.T[:, 0], a)
        choice = Choice(Squared(), None)
        for _ in range(LOOKS):
            R = sample.residuals(theta)
            if not R[a > 0].any():
                return Chosen(problem, sample, theta, Squared(), caution=begun.caution)
            choice = choose_loss(R, sample_weight=counts, leverage=leverages, grain=grain)
            theta = self._fit(sample, choice.loss, theta)
        return self._checked(replace(begun, theta=theta), choice)

    def _few_rows(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the plain loss at the scale of the start, for few rows."""
        loss = Correntropy(REFERENCE * begun.details.scale)
        theta = self._fit(begun.sample, loss, begun.theta)
        return _chosen(begun.problem, begun.sample, theta, loss, Looked(None, None), begun.caution)

    def _checked(self, begun: Begun[Ridge, Array], choice: Choice) -> Chosen[Ridge, Array]:
        """Return the choice, or the plain loss if slopes differ, with adapted penalties."""
        problem, sample, theta = begun.problem, begun.sample, begun.theta
        # One in a thousand data sets with independent noise is rejected. Few rows have no power.
        level, loss, caution = 1e-3, choice.loss, begun.caution
        density = choice.noise.density if choice.noise else None
        if sample.dim == 1 and has_many_rows(sample, START_ROWS):
            # Started at the chosen fit, so that good leverage points keep their weight.
            reference = Tukey(Tukey.efficient * begun.details.scale)
            rival = self._fit(sample, reference, theta)
            R, R0 = sample.residuals(theta)[:, 0], sample.residuals(rival)[:, 0]
            p = hausman(_counted(problem, sample), R, loss, R0, reference, level=level)
            if p < level:
                theta, loss, density = rival, reference, None
                caution = " ".join([caution, _DEPENDENT.format(p=p, loss=loss)]).strip()
        return _chosen(problem, sample, theta, loss, Looked(choice.noise, density), caution)

    def _fit(self, sample: Ridge, loss: Loss, theta: Array) -> Array:
        suited = _weighed_alike(sample, sample, loss, theta)
        # The accuracy of the cost, as a share of one row's: coefficients are then accurate to a
        # tenth of their standard errors.
        tol = 0.01 / sample.rows.n
        fit = minimise(suited, suited, loss, theta, max_iter=self.max_iter, tol=tol)
        return fit.theta


def _exact(begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
    """Return least squares on the rows that the start fits exactly, which are the majority."""
    begun = _without(Inexact(begun.theta), begun)
    caution = begun.caution or (begun.details.sentence if begun.details.exact < 1 else "")
    return Chosen(begun.problem, begun.sample, begun.theta, Squared(), caution=caution)


def _without(rule: BadLeverage | Inexact, begun: Begun[Ridge, Array]) -> Begun[Ridge, Array]:
    """Return the start with weight 0 for the rows that a rule marks."""
    problem = sample = replace(begun.problem, rows=begun.problem.rows.without(rule))
    if begun.sample is not begun.problem:
        sample = replace(begun.sample, rows=begun.sample.rows.without(rule))
    return replace(begun, problem=problem, sample=sample)


def _counted(problem: Ridge, sample: Ridge) -> Rows:
    """Return the rows of a sample with weights that add up to its size."""
    rows = sample.rows
    return rows if sample is problem else replace(rows, a=rows.a * (rows.n_counted / rows.n))


def _chosen(
    problem: Ridge, sample: Ridge, theta: Array, loss: Loss, details: Looked, caution: str
) -> Chosen[Ridge, Array]:
    """Return the choice, with penalties adapted to the loss."""
    problem = _weighed_alike(problem, sample, loss, theta)
    sample = _weighed_alike(sample, sample, loss, theta)
    return Chosen(problem, sample, theta, loss, details=details, caution=caution)


def _weighed_alike(problem: Ridge, sample: Ridge, loss: Loss, theta: Array) -> Ridge:
    """Return the problem with penalties multiplied by E[ψ'] of the loss."""
    if not problem.penalised:
        return problem
    slope = mean_slope(loss, sample.squared_residuals(theta), sample.sample_weight, sample.dim)
    return replace(problem, penalties=problem.penalties * slope)
