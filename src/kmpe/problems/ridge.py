"""Weighted ridge regression: min ½ Σ aᵢ wᵢ ‖tᵢ - hᵢβ‖² + ½ α ‖β‖², (23) of the paper."""

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy import linalg

from kmpe.arrays import Array
from kmpe.rows.source import Block, Rows

__all__ = ["Factor", "Ridge"]

_EPS = float(np.finfo(np.float64).eps)
_TINY = float(np.finfo(np.float64).tiny)
# Cholesky of a matrix of condition 1e12 still has four digits.
_SHARP = 1e-6


class RhoAndWeight(Protocol):
    """What a fused pass asks of a loss."""

    def rho_and_weight(self, s: Array, /) -> tuple[Array, Array]:
        """Return ρ(s) and ρ'(s)."""


@dataclass(frozen=True)
class Ridge:
    """The ridge problem on rows of features.

    Its parameter is β, of shape (L, q), or γ with β = Qγ where Q is ``basis``. With α = 0 every
    solution is the one of smallest norm, as the pseudo-inverse gives it. Each feature may have
    an α of its own, ``alpha`` of shape (L, 1).
    """

    rows: Rows
    alpha: float | Array
    basis: Array | None = None

    @classmethod
    def of(cls, rows: Rows, alpha: float) -> "Ridge":
        """Return the problem in its smallest form.

        With fewer rows than features every solution lies in the span of the rows: H = RᵀQᵀ,
        β = Qγ, and the problem in γ has the same penalty and as many unknowns as rows.
        """
        if len(rows) >= rows.n_features:
            return cls(rows, alpha)
        H = np.concatenate([block.H for block in rows.blocks()])
        Q, R = linalg.qr(H.T, mode="economic", check_finite=False)
        return cls(Rows.of(np.ascontiguousarray(R.T), rows.T, rows.a), alpha, Q)

    def sample(self, size: int, rng: np.random.Generator) -> "Ridge":
        """Return the problem on a sample of the rows, which stand for all of them."""
        return replace(self, rows=self.rows.sample(size, rng))

    def coefficients(self, theta: Array) -> Array:
        """Return the β of a parameter of this problem."""
        return theta if self.basis is None else self.basis @ theta

    @property
    def sample_weight(self) -> Array:
        """The number of times that each row counts."""
        return self.rows.a

    @property
    def dim(self) -> int:
        """The number of components of one residual."""
        return self.rows.n_targets

    @property
    def penalised(self) -> bool:
        """Whether any α is above 0."""
        return bool(np.any(self.alpha))

    @property
    def zero(self) -> Array:
        """The parameter of the model that predicts zero."""
        return np.zeros((self.rows.n_features, self.rows.n_targets))

    def squared_residuals(self, beta: Array) -> Array:
        """Return ‖tᵢ - hᵢβ‖² of every row."""
        s = np.empty(len(self.rows))

        def fill(block: Block) -> None:
            s[block.where] = _squared_norms(block.T - block.H @ beta)

        self.rows.each(fill)
        return s

    def penalty(self, beta: Array) -> float:
        """Return ½ α ‖β‖²."""
        return 0.5 * float(np.vdot(beta, self.alpha * beta))

    def cost_and_gradient(
        self, beta: Array, loss: RhoAndWeight, w: Array | None = None
    ) -> tuple[float, Array]:
        """Return ½ Σ aᵢ ρ(sᵢ) + ½ α ‖β‖² and its gradient αβ - HᵀΛ(T - Hβ), in one pass.

        The weight of every row is left in ``w`` on the way.
        """

        def term(block: Block) -> tuple[Array, Array]:
            R = block.T - block.H @ beta
            rho, weight = loss.rho_and_weight(_squared_norms(R))
            if w is not None:
                w[block.where] = weight
            R *= (block.a * weight)[:, None]
            return block.a @ rho, block.H.T @ R

        with np.errstate(over="ignore"):
            total, pull = self.rows.total(term)
        return 0.5 * float(total) + self.penalty(beta), self.alpha * beta - pull

    def solve(self, w: Array, beta: Array) -> Array:
        """Return the minimiser of the problem weighted by ``w``, as a step from ``beta``.

        β - B⁻¹∇ with B = HᵀΛH + αI equals (23) in exact arithmetic. In floating point the
        rounding of B then slows the iteration down but does not move where it ends.
        """
        if not self.penalised:
            return self._minimum_norm(w)
        factor, descent = self.normal(w, beta)
        return beta + factor.solve(descent)

    def factor(self, w: Array) -> "Factor":
        """Return the factor of HᵀΛH + αI."""
        return self.normal(w, self.zero)[0]

    def between(self, beta: Array, target: Array, step: float) -> Array:
        """Return the parameter that lies ``step`` of the way from ``beta`` to ``target``."""
        return beta + step * (target - beta)

    def change(self, beta: Array, other: Array) -> float:
        """Return the distance of two parameters relative to their size."""
        size = max(float(np.linalg.norm(beta)), float(np.linalg.norm(other)))
        return float(np.linalg.norm(beta - other)) / size if size > 0 else 0.0

    def normal(self, w: Array, beta: Array) -> tuple["Factor", Array]:
        """Return the factor of HᵀΛH + αI, and the descent HᵀΛ(T - Hβ) - αβ."""
        gram, pull = self.moments(w, beta)
        gram.flat[:: len(gram) + 1] += np.ravel(self.alpha)
        return Factor.of(gram), pull - self.alpha * beta

    def moments(self, w: Array, beta: Array) -> tuple[Array, Array]:
        """Return HᵀΛH and HᵀΛ(T - Hβ)."""

        def term(block: Block) -> tuple[Array, Array]:
            aw = (block.a * w[block.where])[:, None]
            scaled = np.sqrt(aw) * block.H
            return scaled.T @ scaled, block.H.T @ (aw * (block.T - block.H @ beta))

        gram, pull = self.rows.total(term)
        return gram, pull

    def _minimum_norm(self, w: Array) -> Array:
        """Return the minimiser of smallest norm, by the singular values of √Λ H.

        The rows are first brought to a triangle, block by block, by orthogonal rotations: these
        keep the singular values that a Gram matrix would lose. Not as a step: where the rank
        is lost in rounding, steps would add up to more norm.
        """
        L = self.rows.n_features
        triangle = np.empty((0, L + self.dim))
        for H, T, a, where in self.rows.blocks():
            root = np.sqrt(a * w[where])[:, None]
            stack = np.concatenate([triangle, root * np.hstack([H, T])])
            triangle = np.asarray(np.linalg.qr(stack, mode="r"))
        cutoff = max(len(self.rows), L) * _EPS
        H, T = triangle[:, :L], triangle[:, L:]
        return np.asarray(linalg.lstsq(H, T, cond=cutoff, check_finite=False)[0])


@dataclass(frozen=True)
class Factor:
    """The Cholesky factor of a positive definite B, and what had to be added to B to have one."""

    upper: Array
    jitter: float

    @classmethod
    def of(cls, B: Array) -> "Factor":
        """Factor B, positive definite up to rounding.

        A multiple of the identity is added when Cholesky finds B singular, tenfold until it
        does not: a step gets shorter and stays a descent.
        """
        jitter = 0.0
        while True:
            try:
                upper = linalg.cholesky(B + jitter * np.eye(len(B)), check_finite=False)
                return cls(upper, jitter)
            except linalg.LinAlgError:
                jitter = max(10 * jitter, _EPS * float(np.trace(B)), _TINY)

    def solve(self, g: Array) -> Array:
        """Return B⁻¹g."""
        return np.asarray(linalg.cho_solve((self.upper, False), g, check_finite=False))

    @property
    def sharp(self) -> bool:
        """Whether B is so far from singular that its rounding does no harm."""
        diagonal = np.abs(np.diagonal(self.upper))
        return self.jitter == 0 and bool(diagonal.min() > _SHARP * diagonal.max())


def _squared_norms(R: Array) -> Array:
    return np.asarray(np.einsum("ij,ij->i", R, R))
