"""The scale σ of the loss of a PCA.

A rule for σ is applied after each step. With p > 2 a smaller σ can lead to residuals for which the
rule returns a larger one; from a robust start σ is therefore bracketed, so that it converges.
"""

import math
from dataclasses import dataclass
from typing import cast

from kmpe.arrays import ROUNDING
from kmpe.losses import Loss, Squared, Trimmed
from kmpe.losses.scale import FAR_OUT, cutoff
from kmpe.problems.pca import Scatter, Subspace, WeightedPCA
from kmpe.solvers.annealing import settle, solve_once
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.walk import Begun, Chosen

__all__ = ["PCAScale"]


@dataclass(frozen=True)
class PCAScale:
    """The choice for a PCA: a number for the σ of its loss.

    Parameters
    ----------
    loss : Loss, optional
        The loss; by default least squares for all rows within the cut-off of the start.
    robust : bool
        Whether the start is robust. From plain PCA a rule is applied until σ converges, as in the
        paper.
    """

    loss: Loss | None
    robust: bool

    def __call__(self, begun: Begun[WeightedPCA, Subspace]) -> Chosen[WeightedPCA, Subspace]:
        """Return the loss with its σ a number, and its subspace."""
        problem, sample, theta = begun.problem, begun.sample, begun.theta
        loss = self._loss(begun)
        if not self.robust:
            settled = settle(problem, loss, theta)
            return Chosen(problem, sample, settled.theta, settled.loss, steps=settled.steps)
        if self.loss is not None:
            theta = _with_doubtful_rows(sample, theta)
        settled = settle(sample, loss, theta, bounded=True, bracketed=True)
        loss, theta = settled.loss, settled.theta
        if sample is problem:
            return Chosen(problem, sample, theta, loss, begun.details, steps=settled.steps)
        fit = reweight(sample, loss, theta, max_iter=20, tol=1e-5)
        some = cast(Scatter, sample)
        at = some.weighted(fit.theta, fit.criterion) if fit.at is None else fit.at
        if at.mass > 0:  # with p > 2 rows that are fitted exactly have weight 0
            problem = cast(Scatter, problem).sketched(some.scatter(at)[0], len(some.points))
        return Chosen(problem, sample, fit.theta, loss, details=begun.details)

    def _loss(self, begun: Begun[WeightedPCA, Subspace]) -> Loss:
        if self.loss is not None:
            return self.loss
        if not self.robust:
            return Trimmed()
        # Too few rows for a cut-off.
        if math.isinf(begun.scale):
            return Squared()
        # If rows are fitted exactly, residuals are rounding errors.
        least = math.sqrt(ROUNDING) * begun.problem.points.spread
        return Trimmed(max(begun.scale, least) or 1.0)


def _with_doubtful_rows(problem: WeightedPCA, theta: Subspace, steps: int = 2) -> Subspace:
    """Return the fit to all rows except gross outliers.

    A loss with a small σ would not reach the others from a start without them.
    """
    move = solve_once(problem)
    for _ in range(steps):
        s = problem.squared_residuals(theta)
        theta = move(theta, Trimmed(cutoff(s, problem.sample_weight, problem.dim, z=FAR_OUT)))
    return theta
