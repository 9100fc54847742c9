"""The terms of sums over the rows of a PCA: pure functions of a block of rows minus the offset."""

from dataclasses import dataclass

import numpy as np

from kmpe.arrays import LAST_DIGITS, ROUNDING, Array
from kmpe.foreign import asarray, self_product
from kmpe.problems.base import Criterion
from kmpe.rows.source import Block

__all__ = [
    "Both",
    "Cost",
    "Distances",
    "Mean",
    "Measured",
    "Products",
    "ScatterMatrix",
    "Scores",
    "WeightedScores",
]


@dataclass(frozen=True)
class Distances:
    """Squared distances of rows y from the subspace μ + span W: ‖y - μ‖² - ‖Wᵀ(y - μ)‖²."""

    mean: Array
    W: Array

    def __call__(self, block: Block) -> Array:
        """Return one distance for each row."""
        return self.with_scores(block)[0]

    @property
    def axes(self) -> Array:
        """The matrix that rows are multiplied with: μ and the directions, as rows."""
        return np.vstack([self.mean, self.W.T])

    def with_scores(self, block: Block) -> tuple[Array, Array, Array]:
        """Return the distances, the scores Wᵀy, one column per row, and ‖y‖²."""
        # As (axes × rows): with few axes a third faster than (rows × axes).
        P, norms = self.axes @ block.H.T, block.T[:, 0]
        return self.of(P, norms), P[1:], norms

    def of(self, P: Array, norms: Array) -> Array:
        """Return the distances of rows, given their products with the axes and ‖y‖²."""
        T = P[1:] - (self.mean @ self.W)[:, None]
        square = float(self.mean @ self.mean)
        s = norms + (square - 2 * P[0]) - np.einsum("ij,ij->j", T, T)
        # Whether a row is met exactly must not be for the last digits to decide.
        s[s <= LAST_DIGITS * (norms + square)] = 0.0
        return asarray(s)


@dataclass(frozen=True)
class Both:
    """The scores Wᵀ(y - μ) of rows, and in a last column their squared orthogonal distances.

    A squared distance below the rounding error of ‖y - μ‖² is 0.
    """

    mean: Array
    W: Array

    def __call__(self, block: Block) -> Array:
        """Return one row for each."""
        return self.of(block.H)

    def of(self, Y: Array) -> Array:
        """Return one row for each row of an array."""
        Y = Y - self.mean
        T = Y @ self.W
        norms = np.einsum("ij,ij->i", Y, Y)
        squared = norms - np.einsum("ij,ij->i", T, T)
        return np.column_stack([T, np.where(squared > ROUNDING * norms, squared, 0.0)])


@dataclass(frozen=True)
class Cost:
    """Σ aᵢ ρ(sᵢ)."""

    distances: Distances
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array]:
        return (block.a @ self.loss.rho(self.distances(block)),)


@dataclass(frozen=True)
class ScatterMatrix:
    """Σ aᵢ ρ, Σ aᵢ wᵢ, Σ aᵢ wᵢ yᵢyᵢᵀ and Σ aᵢ wᵢ yᵢ."""

    distances: Distances
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array, Array, Array, Array]:
        rho, w = self.loss.rho_and_weight(self.distances(block))
        aw = block.a * w
        root = np.sqrt(aw)
        Y = block.H * root[:, None]
        return block.a @ rho, aw.sum(), self_product(Y), root @ Y


@dataclass(frozen=True)
class Scores:
    """Σ aᵢ ρ, Σ aᵢ wᵢ, Σ aᵢ wᵢ (1, yᵢᵀW)ᵀyᵢᵀ, Σ aᵢ wᵢ ‖yᵢ‖² and Σ aᵢ wᵢ sᵢ."""

    distances: Distances
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array, Array, Array, Array, Array]:
        s, scores, norms = self.distances.with_scores(block)
        rho, w = self.loss.rho_and_weight(s)
        aw = block.a * w
        both = np.vstack([aw, scores * aw]) @ block.H
        return block.a @ rho, aw.sum(), both, aw @ norms, aw @ s


@dataclass(frozen=True)
class Mean:
    """Σ aᵢ ρ, Σ aᵢ wᵢ, Σ aᵢ wᵢ yᵢ and Σ aᵢ wᵢ ‖yᵢ‖²."""

    distances: Distances
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array, Array, Array, Array]:
        s, _, norms = self.distances.with_scores(block)
        rho, w = self.loss.rho_and_weight(s)
        aw = block.a * w
        return block.a @ rho, aw.sum(), aw @ block.H, aw @ norms


@dataclass(frozen=True)
class Products:
    """(Σ aᵢ wᵢ yᵢ(yᵢᵀV))ᵀ."""

    distances: Distances
    loss: Criterion
    V: Array

    def __call__(self, block: Block) -> tuple[Array]:
        aw = block.a * self.loss.weight(self.distances(block))
        return ((self.V.T @ block.H.T * aw) @ block.H,)


@dataclass(frozen=True)
class Measured:
    """Scores and squared distance of rows in one subspace, and their squared distance from another.

    Squared distances below the rounding error of ‖y‖² are 0.
    """

    inner: Distances
    other: Distances

    def __call__(self, block: Block) -> Array:
        """Return one row for each."""
        axes, norms = self.inner.axes, block.T[:, 0]
        P = np.vstack([axes, self.other.axes]) @ block.H.T
        inner, other = P[: len(axes)], P[len(axes) :]
        s = self.inner.of(inner, norms)
        s[s <= ROUNDING * norms] = 0.0
        T = inner[1:].T - self.inner.mean @ self.inner.W
        return np.column_stack([T, s, self.other.of(other, norms)])


@dataclass(frozen=True)
class WeightedScores:
    """Σ aᵢ wᵢ, and with scores t and orthogonal distance e of each row Σ aᵢ wᵢ (t, ttᵀ, ‖e‖²)."""

    distances: Distances
    at: Distances
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array, Array, Array, Array]:
        aw = block.a * self.loss.weight(self.at(block))
        s, scores, _ = self.distances.with_scores(block)
        T = scores - (self.distances.mean @ self.distances.W)[:, None]
        return aw.sum(), T @ aw, (T * aw) @ T.T, aw @ s
