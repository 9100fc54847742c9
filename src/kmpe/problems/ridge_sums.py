"""The terms of sums over the rows of a ridge problem: pure functions of a block of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kmpe.arrays import Array
from kmpe.foreign import asarray
from kmpe.problems.base import Criterion
from kmpe.rows.source import Block, Features, is_sparse

__all__ = [
    "Cost",
    "CostAndPull",
    "Moments",
    "Projected",
    "Residuals",
    "SquaredNorms",
    "SquaredResiduals",
    "gram_of",
    "squared_norms",
    "weighted_gram",
]


@dataclass(frozen=True)
class Projected:
    """The feature map h(x)Q."""

    features: Features | None
    Q: Array

    @property
    def n_features(self) -> int:
        """The number of columns of Q."""
        return int(self.Q.shape[1])

    def __call__(self, X: Any) -> Array:
        return asarray((X if self.features is None else self.features(X)) @ self.Q)


@dataclass(frozen=True)
class Residuals:
    """Residuals tᵢ - hᵢβ."""

    theta: Array

    def __call__(self, block: Block) -> Array:
        return asarray(block.T - block.H @ self.theta)


@dataclass(frozen=True)
class SquaredResiduals:
    """Squared residual norms ‖tᵢ - hᵢβ‖²."""

    theta: Array

    def __call__(self, block: Block) -> Array:
        return squared_norms(block.T - block.H @ self.theta)


@dataclass(frozen=True)
class SquaredNorms:
    """Squared norms ‖hᵢV‖²."""

    V: Array

    def __call__(self, block: Block) -> Array:
        return squared_norms(block.H @ self.V)


@dataclass(frozen=True)
class Cost:
    """Σ aᵢ ρ(sᵢ)."""

    theta: Array
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array]:
        return (block.a @ self.loss.rho(squared_norms(block.T - block.H @ self.theta)),)


@dataclass(frozen=True)
class CostAndPull:
    """Σ aᵢ ρ(sᵢ) and HᵀΛ(T - Hβ)."""

    theta: Array
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array, Array]:
        R = block.T - block.H @ self.theta
        rho, w = self.loss.rho_and_weight(squared_norms(R))
        R *= (block.a * w)[:, None]
        return block.a @ rho, block.H.T @ R


@dataclass(frozen=True)
class Moments:
    """Σ aᵢ ρ(sᵢ), Σ aᵢ wᵢ, HᵀCH and HᵀΛ(T - Hβ)."""

    theta: Array
    loss: Criterion

    def __call__(self, block: Block) -> tuple[Array, Array, Array, Array]:
        R = block.T - block.H @ self.theta
        s = squared_norms(R)
        rho, w = self.loss.rho_and_weight(s, full=True)
        aw = block.a * w
        gram = weighted_gram(block.H, block.a * self.loss.metric(s, w))
        return block.a @ rho, aw.sum(), gram, block.H.T @ (aw[:, None] * R)


def gram_of(block: Block) -> tuple[Array]:
    """Return HᵀAH of a block."""
    return (weighted_gram(block.H, block.a),)


def weighted_gram(H: Any, aw: Array) -> Array:
    """Return HᵀΛH for the diagonal Λ ≥ 0, H dense or sparse."""
    if is_sparse(H):
        rows = H.multiply(np.sqrt(aw)[:, None]).tocsr()
        return asarray((rows.T @ rows).toarray())
    rows = np.sqrt(aw)[:, None] * H
    return asarray(rows.T @ rows)


def squared_norms(R: Any) -> Array:
    """Return the squared norms of the rows of R."""
    return asarray(np.einsum("ij,ij->i", R, R))
