"""The scale of a PCA's loss, and which rows count on the way to it.

A start from half of the rows knows nothing of the others, and a narrow loss would never see them
from there. First come all rows that are no outliers, then those that are none for certain
(reweighting as in Hubert, Rousseeuw and Vanden Branden 2005), then the rule for σ settles.
"""

from dataclasses import dataclass, replace
from typing import cast

from kmpe.losses import Loss, Trimmed
from kmpe.losses.scale import FAR_OUT, cutoff
from kmpe.problems.pca import Scatter, Subspace, WeightedPCA
from kmpe.solvers.annealing import Settled, settle, solve_once
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.walk import Begun, Chosen

__all__ = ["SAFE", "PCAScale"]

#: The loss that needs no tuning, and the one that every robust start ends with.
SAFE = Trimmed("cutoff")


@dataclass(frozen=True)
class PCAScale:
    """The choice that is left where the loss of a PCA is given: a number for its σ.

    Parameters
    ----------
    loss : Loss
        The loss.
    robust : bool
        Whether the start is that of half of the rows.
    """

    loss: Loss
    robust: bool

    def __call__(self, begun: Begun[WeightedPCA, Subspace]) -> Chosen[WeightedPCA, Subspace]:
        """Return the loss with its σ a number, and a subspace that suits it."""
        problem, sample = begun.problem, begun.sample
        if not self.robust:
            settled = settle(problem, self.loss, begun.theta)
            return Chosen(problem, sample, settled.theta, settled.loss, steps=settled.steps)
        settled = self._settled(sample, begun.theta)
        if sample is problem:
            return Chosen(problem, sample, settled.theta, settled.loss, steps=settled.steps)
        fit = reweight(sample, settled.loss, settled.theta, max_iter=20, tol=1e-5)
        some = cast(Scatter, sample)
        sketch = some.scatter(some.weighted(fit.theta, fit.criterion))[0]
        problem = replace(cast(Scatter, problem), sketch=sketch)
        return Chosen(problem, sample, fit.theta, settled.loss)

    def _settled(self, problem: WeightedPCA, theta: Subspace, steps: int = 2) -> Settled[Subspace]:
        move = solve_once(problem)
        theta = settle(problem, SAFE, theta, move, max_steps=steps, bounded=True).theta
        for _ in range(steps if self.loss != SAFE else 0):
            s = problem.squared_residuals(theta)
            edge = cutoff(s, problem.sample_weight, problem.dim, z=FAR_OUT)
            theta = move(theta, Trimmed(edge))
        # After six steps a scale has settled, or goes in circles.
        return settle(problem, self.loss, theta, move, max_steps=6, bounded=True)
