"""Ridge regression on features: min ½ Σ aᵢ ρ(‖tᵢ - hᵢβ‖²) + ½ Σ αⱼ ‖βⱼ‖², (23) of the paper.

For linear regression the features are standardised columns and a column of ones, for an extreme
learning machine the outputs of a hidden layer. Weighted at β with Λ = diag(aᵢ ρ'(sᵢ)) its minimiser
is

    β + B⁻¹g,   B = HᵀCH + diag(α),   g = HᵀΛ(T - Hβ) - αβ,

with C = Λ, which equals (23) in exact arithmetic. Written as a step from β, rounding errors of B
slow the iteration down but do not change its limit; nor does a C larger than Λ, which is needed for
losses that are not concave in s. If B is singular and nothing is penalised, the minimiser of
smallest norm is computed from the rows themselves.
"""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy import linalg

from kmpe.arrays import SINGULAR, Array, Index, norm
from kmpe.problems.base import Criterion, Weighted
from kmpe.problems.factor import Factor
from kmpe.problems.ridge_sums import (
    Cost,
    CostAndPull,
    Moments,
    Projected,
    Residuals,
    SquaredNorms,
    SquaredResiduals,
    gram_of,
    squared_norms,
)
from kmpe.rows.checks import LARGEST
from kmpe.rows.source import Rows, is_sparse

__all__ = ["Point", "Ridge"]

_EPS = float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Point:
    """A parameter with its cost and gradient."""

    theta: Array
    cost: float
    gradient: Array


@dataclass(frozen=True)
class Ridge:
    """The ridge problem on rows of features.

    Its parameter is β, of shape (L, q), or γ with β = Qγ where Q is ``basis``. With α = 0 every
    solution is the one of smallest norm, as the pseudo-inverse gives it.

    Parameters
    ----------
    rows : Rows
        The rows.
    penalties : array of shape (L,)
        α of each feature.
    basis : array of shape (k, L), optional
        Orthonormal columns Q.
    """

    rows: Rows
    penalties: Array
    basis: Array | None = None
    majorises: ClassVar[bool] = True

    @classmethod
    def of(cls, rows: Rows, alpha: float = 0.0) -> "Ridge":
        """Return the problem with one α, in its smallest form.

        With fewer rows than features every solution lies in the span of the rows: H = RᵀQᵀ,
        β = Qγ, and the problem in γ has the same penalty and at most as many unknowns as rows.
        """
        if len(rows) >= rows.n_features:
            return cls(rows, np.full(rows.n_features, alpha))
        Q, R, order = linalg.qr(rows.whole().T, mode="economic", pivoting=True, check_finite=False)
        # Directions that a Gram matrix cannot tell from rounding are dropped.
        seen = np.abs(np.diagonal(R))
        rank = max(1, int(np.count_nonzero(seen > math.sqrt(SINGULAR) * seen[0])))
        H = np.empty((len(rows), rank))
        H[order] = R[:rank].T
        return cls(Rows.of(H, rows.T, rows.a), np.full(rank, alpha), np.asarray(Q[:, :rank]))

    def on(self, rows: Rows) -> "Ridge":
        """Return the problem on other rows, with penalties in proportion to their number."""
        return replace(self, rows=rows, penalties=self.penalties * (rows.n / self.rows.n))

    def take(self, chosen: Index) -> "Ridge":
        """Return the problem on some of its rows, in memory."""
        return self.on(self.rows.take(chosen))

    def with_penalties(self, penalties: Array | float) -> "Ridge":
        """Return the problem with other penalties, one for each feature or one for all."""
        return replace(self, penalties=np.broadcast_to(penalties, self.rows.n_features))

    def in_basis(self, Q: Array) -> "Ridge":
        """Return the problem in γ, β = Qγ, for an unpenalised problem."""
        rows = replace(self.rows, features=Projected(self.rows.features, Q))
        if self.rows.features is None:
            rows = rows.stored()
        basis = Q if self.basis is None else self.basis @ Q
        return Ridge(rows, np.zeros(Q.shape[1]), basis)

    def beside(self, H: Array, T: Array) -> "Ridge":
        """Return the problem with further rows of weight 0 appended, in memory."""
        if len(T) == 0:
            return self
        H = H if self.basis is None else H @ self.basis
        rows = Rows.of(
            np.concatenate([self.rows.whole(), H]),
            np.concatenate([self.rows.T, T]),
            np.append(self.sample_weight, np.zeros(len(T))),
        )
        return replace(self, rows=rows)

    def coefficients(self, theta: Array) -> Array:
        """Return β for a parameter of this problem."""
        return theta if self.basis is None else self.basis @ theta

    @property
    def sample_weight(self) -> Array:
        """The sample weights, as numbers of repeats."""
        return self.rows.a

    @property
    def n(self) -> float:
        """The sum of the sample weights."""
        return self.rows.n

    @property
    def dim(self) -> int:
        """The number of components of one residual."""
        return self.rows.n_targets

    @property
    def least_scale(self) -> float:
        """The scale below which residuals are rounding: a share of the spread of the targets."""
        T = np.asarray(self.rows.T[self.sample_weight > 0], dtype=np.float64)
        spread = float(np.abs(T - T.mean(axis=0)).mean()) or float(np.abs(T).max())
        return 1e-9 * spread  # seven of sixteen digits may be lost in computing the features

    @property
    def penalised(self) -> bool:
        """Whether any α is above 0."""
        return bool(np.any(self.penalties))

    @property
    def zero(self) -> Array:
        """The parameter of the model that predicts zero."""
        return np.zeros((self.rows.n_features, self.rows.n_targets))

    # -- one value for each row ------------------------------------------------------------

    def residuals(self, theta: Array) -> Array:
        """Return tᵢ - hᵢβ of every row, shape (n, q)."""
        return np.asarray(self.rows.column(Residuals(theta), self.dim))

    def squared_residuals(self, theta: Array) -> Array:
        """Return ‖tᵢ - hᵢβ‖² of every row."""
        return np.asarray(self.rows.column(SquaredResiduals(theta)))

    def leverages(self, whiten: Array) -> Array:
        """Return ‖hᵢ V‖² of every row: with VVᵀ = (HᵀAH)⁻¹, the diagonal of the hat matrix / aᵢ."""
        return np.asarray(self.rows.column(SquaredNorms(whiten)))

    # -- sums over the rows ----------------------------------------------------------------

    def penalty(self, theta: Array) -> float:
        """Return ½ Σ αⱼ ‖βⱼ‖²."""
        if not self.penalised:
            return 0.0
        return 0.5 * float(self.penalties @ np.einsum("ij,ij->i", theta, theta))

    def cost(self, theta: Array, loss: Criterion) -> float:
        """Return ½ Σ aᵢ ρ(sᵢ) + penalty."""
        with np.errstate(over="ignore", invalid="ignore"):
            (total,) = self.rows.total(Cost(theta, loss))
        return 0.5 * float(total) + self.penalty(theta)

    def point(self, theta: Array, loss: Criterion) -> Point:
        """Return the cost and its gradient αβ - HᵀΛ(T - Hβ), in one pass."""
        with np.errstate(over="ignore", invalid="ignore"):
            total, pull = self.rows.total(CostAndPull(theta, loss))
        cost = 0.5 * float(total) + self.penalty(theta)
        return Point(theta, cost, self.penalties[:, None] * theta - pull)

    def weighted(self, theta: Array, loss: Criterion) -> Weighted[Array]:
        """Return the cost, and the moments HᵀΛH and HᵀΛ(T - Hβ), in one pass."""
        with np.errstate(over="ignore", invalid="ignore"):
            total, mass, gram, pull = self.rows.total(Moments(theta, loss))
        misfit, penalty = 0.5 * float(total), self.penalty(theta)
        return Weighted(theta, loss, misfit, penalty, float(mass), (gram, pull))

    def gram(self) -> Array:
        """Return HᵀAH + diag(α)."""
        (gram,) = self.rows.total(gram_of)
        return self._with_penalties(gram)

    # -- the weighted problem --------------------------------------------------------------

    def factor(self, weighted: Weighted[Array]) -> Factor:
        """Return the factor of HᵀΛH + diag(α)."""
        return Factor.of(self._with_penalties(weighted.moments[0]))

    def step(self, weighted: Weighted[Array], factor: Factor) -> Array:
        """Return β + B⁻¹g, given the factor of B."""
        descent = weighted.moments[1] - self.penalties[:, None] * weighted.theta
        return weighted.theta + factor.solve(descent)

    def solve(self, weighted: Weighted[Array]) -> Array:
        """Return the minimiser of the weighted problem, that of smallest norm if there are many."""
        factor = self.factor(weighted)
        # A penalty below the rounding errors of HᵀΛH does not make it positive definite.
        if factor.sharp or (self.penalised and factor.jitter == 0):
            return self.step(weighted, factor)
        return self._minimum_norm(weighted)

    def between(self, theta: Array, target: Array, step: float) -> Array:
        """Return the parameter that lies ``step`` of the way from ``theta`` to ``target``."""
        return theta + step * (target - theta)

    def change(self, theta: Array, other: Array) -> float:
        """Return the distance of two parameters relative to their size."""
        size = max(norm(theta), norm(other))
        return norm(theta - other) / size if size > 0 else 0.0

    def _with_penalties(self, gram: Array) -> Array:
        gram = gram.copy()
        gram.flat[:: len(gram) + 1] += self.penalties
        return gram

    def _minimum_norm(self, weighted: Weighted[Array]) -> Array:
        """Return the minimiser of smallest norm, by the singular values of √Λ H.

        A QR decomposition, updated block by block, preserves the small singular values that a Gram
        matrix would lose. β is computed afresh and not as a step: in directions that rounding
        leaves undetermined, steps would accumulate.
        """
        L = self.rows.n_features
        triangle = np.empty((0, L + self.dim))
        for block in self.rows.blocks():
            H = block.H.toarray() if is_sparse(block.H) else block.H
            aw = block.a * weighted.loss.weight(squared_norms(block.T - H @ weighted.theta))
            stack = np.concatenate([triangle, np.sqrt(aw)[:, None] * np.hstack([H, block.T])])
            triangle = np.asarray(np.linalg.qr(stack, mode="r"))
        cutoff = max(len(self.rows), L) * _EPS
        H, T = triangle[:, :L], triangle[:, L:]
        # Features whose squares underflow are taken as zero, as in a Gram matrix.
        H = np.where(np.abs(H).max(axis=0, initial=0.0) > 1 / LARGEST, H, 0.0)
        return np.asarray(linalg.lstsq(H, T, cond=cutoff, check_finite=False)[0])
