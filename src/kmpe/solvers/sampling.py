"""Samples of the rows that can stand for all of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Block

__all__ = ["Samples"]

# A sample misses a feature when it has less than this share of its sum of squares: a column
# that is zero but for a few rows, such as a rare category. The rows that have it would look
# like outliers to a fit of the sample.
_MISSED = 0.3
# A column with so many different values in the sample is not a rare one; only for others is it
# worth a pass over all rows to know.
_FEW = 20
# Nearly every column shows as many in so many rows.
_GLANCE = 512
_GROWTH = 4


@dataclass(frozen=True)
class Samples:
    """Seeded samples of a problem's rows.

    Parameters
    ----------
    problem : Ridge
        The problem on all rows.
    n : int
        The number of rows that count.
    rng : Generator
        What is drawn next depends on what was drawn before.
    """

    problem: Ridge
    n: int
    rng: np.random.Generator

    @classmethod
    def of(cls, problem: Ridge, seed: int) -> "Samples":
        """Return the samples that a seed gives."""
        n = int(np.count_nonzero(problem.sample_weight))
        return cls(problem, n, np.random.default_rng(seed))

    def draw(self, size: int) -> Ridge:
        """Draw ``size`` rows, or more if a feature is missing from these, or all of them."""
        while size <= self.n // 2:
            sample = self.problem.sample(size, self.rng)
            if not _is_suspect(sample) or np.all(_energy(sample) >= _MISSED * self._energy):
                return sample
            size *= _GROWTH
        return self.problem

    @cached_property
    def _energy(self) -> Array:
        return _energy(self.problem)


def _is_suspect(sample: Ridge) -> bool:
    """Return whether a feature has one value on nearly all rows of the sample."""
    H = sample.rows.features(slice(None))
    doubtful = np.flatnonzero(_changes(H[:: max(1, len(H) // _GLANCE)]) < _FEW)
    return len(doubtful) > 0 and bool(_changes(H[:, doubtful]).min() < _FEW)


def _changes(H: Array) -> npt.NDArray[np.intp]:
    """Return how many rows of each feature differ from one of them."""
    # A rare value is hardly that of both rows.
    one, other = (np.count_nonzero(row != H, axis=0) for row in (H[0], H[len(H) // 2]))
    return np.asarray(np.minimum(one, other))


def _energy(problem: Ridge) -> Array:
    """Return the weighted sum of squares of each feature."""

    def term(block: Block) -> tuple[Array]:
        return (block.a @ np.square(block.H),)

    return problem.rows.total(term)[0]
