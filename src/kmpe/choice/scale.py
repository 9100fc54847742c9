"""The scale of a loss that is given: a rule for σ is applied until σ settles."""

from dataclasses import dataclass

from kmpe.arrays import Array
from kmpe.losses import Loss
from kmpe.problems.ridge import Ridge
from kmpe.rows.sample import Samples
from kmpe.solvers.annealing import resolve, settle
from kmpe.solvers.minimise import has_many_rows, refine
from kmpe.solvers.walk import Begun, Chosen

__all__ = ["GivenLoss"]


@dataclass(frozen=True)
class GivenLoss:
    """The choice that is left where the loss is given: a number for its σ."""

    loss: Loss

    def __call__(self, begun: Begun[Ridge, Array]) -> Chosen[Ridge, Array]:
        """Return the loss with its σ a number, and a fit with it."""
        problem, sample, theta = begun.problem, begun.sample, begun.theta
        if not self.loss.has_rule:
            return Chosen(problem, sample, theta, self.loss, caution=begun.caution)
        if begun.loss is None and problem.penalised and not has_many_rows(problem):
            # The start knows no penalty: σ of its residuals would be too small for those that a
            # penalty leaves, and the smaller σ is the more the penalty weighs.
            penalised = settle(problem, self.loss, theta, bracketed=True)
            return Chosen(problem, sample, penalised.theta, penalised.loss, caution=begun.caution)
        if not has_many_rows(problem):
            loss = self.loss if begun.loss is None else begun.loss
            loss = resolve(problem, loss, theta)
            return Chosen(problem, sample, theta, loss, caution=begun.caution)
        first = resolve(sample, self.loss, theta)
        factor = sample.factor(sample.weighted(theta, first))
        # The median residual of so many rows is known to 1.2% (its standard error is 1.17 / √n).
        wide, enough = sample, 10_000
        if len(sample.rows) < enough:
            wide = problem.on(Samples(problem.rows).draw(enough))
        # The fit of a sample makes its residuals smaller than those of all rows will be.
        freedom = 1 - wide.rows.n_features / len(wide.rows)

        def move(theta: Array, loss: Loss) -> Array:
            return refine(wide, loss, theta, factor)

        settled = settle(wide, self.loss, theta, move, max_steps=10, freedom=freedom)
        return Chosen(problem, sample, settled.theta, settled.loss, caution=begun.caution)
