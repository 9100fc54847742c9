"""The start of a linear regression: independent columns, and an MM-estimate on a sample."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from kmpe.arrays import SINGULAR, Array
from kmpe.problems.factor import Factor
from kmpe.problems.ridge import Ridge
from kmpe.rows.sample import draw
from kmpe.solvers.minimise import LEAST_ROWS, START_ROWS, sample_of
from kmpe.solvers.walk import Begun
from kmpe.starts.regression import Status, high_breakdown

__all__ = ["LinearStart"]


@dataclass(frozen=True)
class LinearStart:
    """The high-breakdown start of a linear regression.

    Parameters
    ----------
    n : float, optional
        The number of rows that the problem represents, if equal rows have been merged; by default
        from their weights.
    """

    n: float | None = None

    def __call__(self, problem: Ridge) -> Begun[Ridge, Array]:
        """Return the initial estimate; linearly dependent columns are replaced by a basis."""
        sample = sample_of(problem)
        if not problem.penalised:
            Q = _independent(problem, sample)
            if Q is not None:
                alone = sample is problem
                problem = problem.in_basis(Q)
                sample = problem if alone else sample.in_basis(Q)
        # So many rows find the basin; more would only cost more.
        some = draw(sample.rows, max(LEAST_ROWS, START_ROWS * sample.rows.n_features))
        n = self.n if some is problem.rows else None
        start = high_breakdown(some.whole(), np.asarray(some.T, dtype=np.float64), some.a, n)
        caution = start.sentence if start.status is Status.FEW_ROWS else ""
        return Begun(
            problem, sample, start.theta, details=start, caution=caution, scale=start.scale
        )


def _independent(problem: Ridge, sample: Ridge) -> Array | None:
    """Return an orthonormal basis of the space that the rows span, None if it is the whole."""
    if Factor.of(sample.gram()).sharp:
        return None
    gram = problem.gram()
    size = np.sqrt(np.diagonal(gram))
    size = np.where(size > 0, size, 1.0)
    values, vectors = linalg.eigh(gram / size / size[:, None], check_finite=False)
    kept = values > SINGULAR * values[-1]
    if kept.all() or not kept.any():
        return None
    # Rows lie in the span of D V; the minimiser of smallest norm does as well.
    return np.asarray(linalg.qr(size[:, None] * vectors[:, kept], mode="economic")[0])
