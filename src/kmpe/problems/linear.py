"""Weighted linear regression: min ½ Σ aᵢ wᵢ ‖tᵢ - xᵢβ - b‖² + ½ α ‖β‖², b without penalty."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import linalg, sparse

from kmpe.arrays import Array
from kmpe.rows import passes

__all__ = ["Linear", "dense", "is_sparse"]

# A block of rows and its weighted copy should stay in the second-level cache's reach, and have
# rows enough for the product of their transpose with them to be worth a call.
_BLOCK_BYTES = 1 << 20
_LEAST_ROWS = 512
# Leverages of many columns come from random projections on so many: they are then known to a
# fifth, for a fraction of the time.
_PROJECTIONS = 64
# A pivot below this share of its column's size holds nothing but rounding.
_SINGULAR = 1e-11


@dataclass(frozen=True)
class Linear:
    """The linear problem, dense or sparse.

    Parameters
    ----------
    H : array or sparse matrix of shape (n, k)
        Inputs, with a last column of ones where there is an intercept.
    T : array of shape (n, q)
        Targets.
    a : array of shape (n,)
        Sample weights.
    penalties : array of shape (k,)
        α for each slope, 0 for the intercept.
    """

    H: Any
    T: Array
    a: Array
    penalties: Array

    def __len__(self) -> int:
        return len(self.T)

    @property
    def sample_weight(self) -> Array:
        """The number of times that each row counts."""
        return self.a

    @property
    def dim(self) -> int:
        """The number of components of one residual."""
        return int(self.T.shape[1])

    @property
    def zero(self) -> Array:
        """The parameter of the model that predicts zero."""
        return np.zeros((self.H.shape[1], self.dim))

    def take(self, rows: Any, a: Array | None = None) -> "Linear":
        """Return the problem on some of the rows, its penalties in proportion."""
        kept = self.a[rows] if a is None else a
        share = float(kept.sum() / self.a.sum())
        return Linear(self.H[rows], self.T[rows], kept, share * self.penalties)

    def without_penalty(self) -> "Linear":
        """Return the problem with α = 0."""
        return replace(self, penalties=np.zeros_like(self.penalties))

    @cached_property
    def leverages(self) -> Array:
        """hᵢ (Σ aⱼ hⱼᵀhⱼ + diag(penalties))⁻¹ hᵢᵀ of every row.

        Times the row's own weight it is the diagonal of the hat matrix. With more than 64 columns
        it is that of random projections.
        """
        whiten = self._whiten
        if whiten.shape[1] > _PROJECTIONS:
            rng = np.random.default_rng(whiten.shape[1])
            onto = rng.standard_normal((whiten.shape[1], _PROJECTIONS))
            whiten = whiten @ (onto / np.sqrt(_PROJECTIONS))
        return _squared_rows(self.H, whiten)

    def leverages_of(self, rows: Any) -> Array:
        """Return hᵢ (Σ aⱼ hⱼᵀhⱼ + diag(penalties))⁻¹ hᵢᵀ of other rows."""
        return _squared_rows(rows, self._whiten)

    def residuals(self, beta: Array) -> Array:
        """Return tᵢ - hᵢβ of every row."""
        return np.asarray(self.T - self.H @ beta)

    def squared_residuals(self, beta: Array) -> Array:
        """Return ‖tᵢ - hᵢβ‖² of every row."""
        return _squared_norms(self.residuals(beta))

    def penalty(self, beta: Array) -> float:
        """Return ½ α ‖β‖², the intercept left out."""
        return 0.5 * float(self.penalties @ np.einsum("ij,ij->i", beta, beta))

    def solve(self, w: Array, beta: Array) -> Array:
        """Return the minimiser of the problem weighted by ``w``, as a step from ``beta``.

        A step from where the iteration stands is found to full accuracy near its end, whatever
        the rounding of HᵀΛH.
        """
        aw = self.a * w

        def term(where: slice) -> tuple[Array, Array]:
            root, H = np.sqrt(aw[where]), self.H[where]
            rows = _scale_rows(H, root)
            return dense(rows.T @ rows), rows.T @ (root[:, None] * (self.T[where] - H @ beta))

        gram, pull = passes.total(_parts(self.H), term)
        gram += np.diag(self.penalties)
        step = _solve_equilibrated(gram, pull - self.penalties[:, None] * beta)
        return beta + (self._minimum_norm_step(aw, beta) if step is None else step)

    def between(self, beta: Array, target: Array, step: float) -> Array:
        """Return the parameter that lies ``step`` of the way from ``beta`` to ``target``."""
        return beta + step * (target - beta)

    def change(self, beta: Array, other: Array) -> float:
        """Return the distance of two parameters relative to their size."""
        size = max(float(np.linalg.norm(beta)), float(np.linalg.norm(other)))
        return float(np.linalg.norm(beta - other)) / size if size > 0 else 0.0

    def gram(self, w: Array) -> Array:
        """Return Σ aᵢ wᵢ hᵢᵀhᵢ."""
        root = np.sqrt(self.a * w)

        def term(where: slice) -> tuple[Array]:
            rows = _scale_rows(self.H[where], root[where])
            return (dense(rows.T @ rows),)

        return passes.total(_parts(self.H), term)[0]

    @cached_property
    def gram_of_rows(self) -> Array:
        """Σ aᵢ hᵢᵀhᵢ."""
        return self.gram(np.ones(len(self)))

    @cached_property
    def _whiten(self) -> Array:
        """A root of the inverse of Σ aᵢ hᵢᵀhᵢ + diag(penalties)."""
        gram = self.gram_of_rows + np.diag(self.penalties)
        values, vectors = linalg.eigh(gram, check_finite=False)
        kept = values > max(values[-1], 0.0) * _SINGULAR
        return np.asarray(vectors[:, kept] / np.sqrt(values[kept]))

    def _minimum_norm_step(self, aw: Array, beta: Array) -> Array:
        root = np.sqrt(aw)
        ridge = np.diag(np.sqrt(self.penalties))
        H = np.vstack([dense(_scale_rows(self.H, root)), ridge])
        R = np.vstack([root[:, None] * self.residuals(beta), -ridge @ beta])
        return np.asarray(linalg.lstsq(H, R, check_finite=False)[0])


def is_sparse(H: Any) -> bool:
    """Whether a matrix is sparse."""
    return bool(sparse.issparse(H))


def dense(H: Any) -> Array:
    """Return a matrix as an array."""
    return np.asarray(H.toarray() if is_sparse(H) else H)


def _parts(H: Any) -> list[list[slice]]:
    n, k = H.shape
    return passes.slices(n, max(_LEAST_ROWS, _BLOCK_BYTES // (8 * k)))


def _squared_rows(H: Any, whiten: Array) -> Array:
    """Return the squared norms of the rows of H times a matrix, a block at a time."""
    squares = np.empty(H.shape[0])

    def fill(where: slice) -> None:
        squares[where] = _squared_norms(H[where] @ whiten)

    passes.each(_parts(H), fill)
    return squares


def _squared_norms(R: Any) -> Array:
    return np.asarray(np.einsum("ij,ij->i", R, R))


def _scale_rows(H: Any, w: Array) -> Any:
    return H.multiply(w[:, None]).tocsr() if is_sparse(H) else w[:, None] * H


def _solve_equilibrated(B: Array, g: Array) -> Array | None:
    """Return B⁻¹g by Cholesky with columns scaled to 1, or None when B is singular."""
    size = np.sqrt(np.diag(B))
    if not size.all():
        return None
    try:
        factor = linalg.cholesky(B / np.outer(size, size), lower=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    if np.diag(factor).min() ** 2 < _SINGULAR:
        return None
    step = linalg.cho_solve((factor, True), g / size[:, None], check_finite=False)
    return np.asarray(step / size[:, None])
