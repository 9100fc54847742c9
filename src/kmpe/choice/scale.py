"""The scale of a given loss: the fixed point of a rule for σ."""

from dataclasses import dataclass

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.problems.ridge import Ridge
from kmpe.rows.sample import Samples
from kmpe.solvers.annealing import resolve, settle
from kmpe.solvers.minimise import has_many_rows, minimise, refine
from kmpe.solvers.walk import Begun, Chosen

__all__ = ["GivenLoss"]


@dataclass(frozen=True)
class GivenLoss:
    """The choice for a given loss: a number for its σ."""

    loss: Loss

    def __call__(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the loss with its σ a number, and a fit with it."""
        problem, sample, theta = begun.problem, begun.sample, begun.theta
        if not self.loss.has_rule:
            return Chosen(problem, sample, theta, self.loss, caution=begun.caution)
        many = has_many_rows(problem)
        if begun.loss is None and problem.penalised:
            # The start is unpenalised: σ from its residuals would be too small for the penalised
            # fit, and the smaller σ, the stronger the penalty acts.
            part = sample if many else problem

            def converge(theta: Array, loss: Loss) -> Array:
                return minimise(part, part, loss, theta, max_iter=20, tol=1e-6).theta

            # Single steps reach the basin. Which side of a σ its fixed point is on is told only by
            # a fit that has converged.
            rough = settle(part, self.loss, theta, bracketed=True)
            penalised = settle(part, self.loss, rough.theta, converge, bracketed=True)
            theta = penalised.theta
            if not many:
                return Chosen(problem, sample, theta, penalised.loss, caution=begun.caution)
        if not many:
            loss = self.loss if begun.loss is None else begun.loss
            loss = resolve(problem, loss, theta)
            return Chosen(problem, sample, theta, loss, caution=begun.caution)
        first = resolve(sample, self.loss, theta)
        factor = sample.factor(sample.weighted(theta, first))
        # The relative standard error of the MAD of 10 000 rows is 1.17 / √n = 1.2%.
        wide, enough = sample, 10_000
        if len(sample.rows) < enough:
            wide = problem.on(Samples(problem.rows).draw(enough))
        # Residuals of a fit to a sample are smaller than those of a fit to all rows.
        freedom = 1 - wide.rows.n_features / len(wide.rows)

        def move(theta: Array, loss: Loss) -> Array:
            return refine(wide, loss, theta, factor)

        settled = settle(wide, self.loss, theta, move, max_steps=10, freedom=freedom)
        return Chosen(problem, sample, settled.theta, settled.loss, caution=begun.caution)
