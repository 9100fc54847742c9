"""Rows that are not in the memory of this process: on a cluster, or on a device.

Sums, quantiles and samples are all that a fit asks of them. What would need a value of every row in
one place is refused.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn, Self

import numpy as np
import numpy.typing as npt

from kmpe.arrays import Array
from kmpe.rows.source import Block, Rows

__all__ = ["RowsElsewhere", "refuse"]


def refuse() -> NoReturn:
    """Refuse what needs all rows in one place."""
    raise ValueError(
        "this fit needs a value of every row in one place, which the rows of a Dask collection, or "
        "of an array on a device, do not have. It is so with a rule for sigma beside "
        'init="pca" or init="zero", and where a column is zero on nearly all rows, so that no '
        "sample stands for them: give sigma as a number, leave the column out, or fit in memory"
    )


@dataclass(frozen=True)
class RowsElsewhere(Rows):
    """Rows that are elsewhere. Some of them are brought here by `block`."""

    @property
    @abstractmethod
    def largest_target(self) -> float:
        """The largest absolute value of the targets that were given."""

    @abstractmethod
    def fetched(self) -> Rows:
        """Return all rows in memory, where they are as few as a sample."""

    @abstractmethod
    def ranked(self, value: Callable[[Block], Array], ranks: Array) -> Array:
        """Return a value of the rows where their weights, in its order, first exceed ``ranks``."""

    def quantile(self, value: Callable[[Block], Array], q: float) -> float:
        """Return the q-quantile of a value of the rows, each as often as it counts."""
        return float(self.ranked(value, np.array([self._rank(q)]))[0])

    def middle(self, value: Callable[[Block], Array]) -> float:
        """Return the median of a value, the mean of the two middle values."""
        rank = self._rank(0.5)
        low, high = self.ranked(value, np.array([rank, self.n - rank]))
        return float(low / 2 + high / 2)

    def _rank(self, q: float) -> float:
        # Just below the rank of `kmpe.losses.scale.quantile`, to be safe from rounding of q n.
        return float(max(np.ceil(q * self.n) - 0.5, 0.5))

    @abstractmethod
    def beside(self, value: Callable[[Block], Array], width: int) -> Self:
        """Return these rows with a value of each in place of their targets."""

    def column(
        self,
        value: Callable[[Block], npt.NDArray[Any]],  # noqa: ARG002 - refused
        width: int | None = None,  # noqa: ARG002 - refused
    ) -> npt.NDArray[Any]:
        refuse()

    def blocks(self) -> NoReturn:
        refuse()

    def whole(self) -> NoReturn:
        refuse()
