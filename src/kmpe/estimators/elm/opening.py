"""The first batches of a stream, on which a self-tuning ELM is chosen."""

import numbers
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from kmpe.estimators.elm.fitting import Unit
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.kernel_nodes import KernelNodes
from kmpe.rows.source import Rows, is_sparse

__all__ = ["Opening", "check_stream", "features_of"]


@dataclass(frozen=True)
class Opening:
    """Batches so far, and the number of rows when the machine was last chosen on them."""

    batches: tuple[Rows, ...] = ()
    n_chosen: int = 0

    @classmethod
    def of(cls, tunes_itself: bool) -> "Opening | None":
        """Return the opening of a stream; None if nothing is to be chosen."""
        return cls() if tunes_itself else None

    def with_batch(self, batch: Rows) -> "Opening":
        """Return the opening with one more batch, which must have the same number of targets."""
        before = self.batches[0].n_targets if self.batches else batch.n_targets
        if batch.n_targets != before:
            raise ValueError(
                f"the number of targets changes from {before} to {batch.n_targets} "
                "within a stream: call fit, or use a new estimator, to begin another stream"
            )
        return replace(self, batches=(*self.batches, batch))

    def chosen(self) -> "Opening":
        """Return the opening after its machine was chosen."""
        return replace(self, n_chosen=self._n)

    @property
    def has_grown(self) -> bool:
        """Whether to choose again: the number of rows has grown by a third since the last time."""
        return 3 * self._n >= 4 * self.n_chosen

    @property
    def is_long(self) -> bool:
        """Whether the choice is final: it uses at most 500 rows, however many there are."""
        return self._n >= 500 and self.n_chosen == self._n

    @property
    def _n(self) -> int:
        return sum(len(batch) for batch in self.batches)

    def joined(self) -> Rows:
        """Return the rows of all batches."""
        inputs = [batch.X for batch in self.batches]
        X = sparse.csr_array(sparse.vstack(inputs)) if is_sparse(inputs[0]) else np.vstack(inputs)
        T = np.concatenate([batch.T for batch in self.batches])
        return Rows(X, T, np.concatenate([batch.a for batch in self.batches]))


def features_of(batch: Rows, layer: HiddenLayer | KernelNodes | None, unit: Unit) -> Rows:
    """Return a batch with its features in memory."""
    # The stream refuses a different number of targets.
    T = unit(batch.T) if batch.n_targets == len(unit.centre) else batch.T
    return replace(batch, T=T, features=layer).stored()


def check_stream(forgetting: object, memory_limit: object) -> None:
    """Refuse an invalid forgetting factor or memory limit."""
    if not (isinstance(forgetting, numbers.Real) and 0 < float(forgetting) <= 1):
        raise ValueError(f"forgetting={forgetting!r} must be above 0 and at most 1")
    real = isinstance(memory_limit, numbers.Real) and float(memory_limit) >= 0
    if memory_limit is not None and not real:
        raise ValueError(f"memory_limit={memory_limit!r} must be None or a number of bytes")
