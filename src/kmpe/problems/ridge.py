"""Weighted ridge regression: min ½ Σ aᵢ wᵢ ‖tᵢ - hᵢβ‖² + ½ α ‖β‖², (23) of the paper."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import linalg

from kmpe.rows import Rows
from kmpe.scale import Array

__all__ = ["Ridge"]


@dataclass(frozen=True)
class Ridge:
    """The ridge problem on rows of features.

    Its parameter is β, of shape (L, q), or γ with β = Qγ where Q is ``basis``. With α = 0 every
    solution is the one of smallest norm, as the pseudo-inverse gives it.
    """

    rows: Rows
    alpha: float
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
    def zero(self) -> Array:
        """The parameter of the model that predicts zero."""
        return np.zeros((self.rows.n_features, self.rows.n_targets))

    def squared_residuals(self, beta: Array) -> Array:
        """Return ‖tᵢ - hᵢβ‖² of every row."""
        s = np.empty(len(self.rows))
        for H, T, where in self.rows.blocks():
            R = T - H @ beta
            s[where] = np.einsum("ij,ij->i", R, R)
        return s

    def penalty(self, beta: Array) -> float:
        """Return ½ α ‖β‖²."""
        return 0.5 * self.alpha * float(np.vdot(beta, beta))

    def solve(self, w: Array, beta: Array) -> Array:
        """Return the minimiser of the problem weighted by ``w``, as a step from ``beta``.

        β - B⁻¹∇ with B = HᵀΛH + αI equals (23) in exact arithmetic. In floating point the
        rounding of B then slows the iteration down but does not move where it ends.
        """
        return self._minimum_norm(w) if self.alpha == 0 else beta + self._step(w, beta)

    def between(self, beta: Array, target: Array, step: float) -> Array:
        """Return the parameter that lies ``step`` of the way from ``beta`` to ``target``."""
        return beta + step * (target - beta)

    def change(self, beta: Array, other: Array) -> float:
        """Return the distance of two parameters relative to their size."""
        size = max(float(np.linalg.norm(beta)), float(np.linalg.norm(other)))
        return float(np.linalg.norm(beta - other)) / size if size > 0 else 0.0

    def _step(self, w: Array, beta: Array) -> Array:
        gram = self.alpha * np.eye(self.rows.n_features)
        descent = -self.alpha * beta
        for H, T, where in self.rows.blocks():
            aw = (self.rows.a[where] * w[where])[:, None]
            scaled = np.sqrt(aw) * H
            gram += scaled.T @ scaled
            descent += H.T @ (aw * (T - H @ beta))
        return _solve_positive(gram, descent)

    def _minimum_norm(self, w: Array) -> Array:
        # Not as a step: where the rank is lost in rounding, steps would add up to more norm.
        root = np.sqrt(self.rows.a * w)[:, None]
        H, T = self._whole
        cutoff = max(H.shape) * float(np.finfo(np.float64).eps)
        return np.asarray(linalg.lstsq(root * H, root * T, cond=cutoff, check_finite=False)[0])

    @cached_property
    def _whole(self) -> tuple[Array, Array]:
        return np.concatenate([H for H, _, _ in self.rows.blocks()]), self.rows.T


def _solve_positive(B: Array, g: Array) -> Array:
    """Return B⁻¹g for B positive definite up to rounding.

    A multiple of the identity is added when Cholesky finds B singular, tenfold until it does
    not: the step gets shorter and stays a descent.
    """
    jitter = 0.0
    while True:
        try:
            factor = linalg.cho_factor(B + jitter * np.eye(len(B)), check_finite=False)
            return np.asarray(linalg.cho_solve(factor, g, check_finite=False))
        except linalg.LinAlgError:
            jitter = max(10 * jitter, float(np.finfo(np.float64).eps * np.trace(B)))
