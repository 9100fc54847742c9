"""Kernel features: kernel values with some of the rows, the nodes, and a linear part.

A ridge fit to these features is Gaussian process regression (Rasmussen and Williams 2006) if every
row is a node, and its Nyström approximation (Williams and Seeger 2001) if only some are. The kernel
has a length scale for each input (automatic relevance determination).
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse
from scipy.linalg import lapack
from scipy.spatial.distance import cdist

from kmpe.arrays import Array, Index
from kmpe.foreign import Foreign, asarray
from kmpe.rows.products import row_products
from kmpe.rows.source import is_sparse

__all__ = [
    "Kernel",
    "KernelNodes",
    "Scaling",
    "manhattan_distances",
    "pivots",
    "squared_distances",
]


@dataclass(frozen=True)
class Scaling:
    """The map 4 asinh((x - centre) / (4 size)): linear within the data, logarithmic far out.

    ``per`` is 1 / size, and 0 for a constant column. Zeros of sparse inputs stay zeros, since their
    centre is 0.
    """

    centre: Array
    per: Array

    def __call__(self, X: Any) -> Any:
        """Return the scaled inputs of some rows, dense or sparse."""
        if is_sparse(X):
            S = sparse.csr_array(X, dtype=np.float64) @ sparse.diags_array(self.per / 4)
            S.data = 4 * np.arcsinh(S.data)
            return S
        Z = (asarray(X, dtype=np.float64) - self.centre) * (self.per / 4)
        np.arcsinh(Z, out=Z)
        Z *= 4
        return Z


@dataclass(frozen=True)
class Kernel:
    """k(x, z) = s exp(-D²/2) + r exp(-c D₁) of the scaled inputs times ``scales``.

    D is the Euclidean distance, and D₁ the Manhattan distance over √d. The first part is smooth
    (squared exponential). The second, the Laplace kernel, is rough: it is that of Mondrian forests
    (Balog et al. 2016) and suits steps along single inputs, as trees do. The linear part has the
    covariance l x·z / d, and the constant the variance 10, since the median is subtracted from the
    targets.

    Parameters
    ----------
    scales : array of shape (d,)
        One over the length scale of each input; irrelevant inputs have a small one.
    smooth, rough, ratio, linear : float
        s, r, c and l.
    """

    scales: Array
    smooth: float
    rough: float
    ratio: float
    linear: float

    def __call__(self, A: Any, B: Array) -> Array:
        """Return the kernel of scaled inputs, without its linear part and constant."""
        A = A @ sparse.diags_array(self.scales) if is_sparse(A) else A * self.scales
        B = B * self.scales
        D2, K = squared_distances(A, B), manhattan_distances(A, B)
        K *= -self.ratio
        np.exp(K, out=K)
        K *= self.rough
        D2 *= -0.5
        np.exp(D2, out=D2)
        D2 *= self.smooth
        K += D2
        return K

    def slope(self, Z: Array, B: Array, coef: Array) -> Array:
        """Return the gradient of Σ coef k(z, b) in z at every row of Z.

        The rough part has a kink where an input equals that of a node; its slope is taken as 0.
        """
        scaled, nodes = Z * self.scales, B * self.scales
        pull = (-self.smooth * coef) * np.exp(-0.5 * squared_distances(scaled, nodes))
        slope = pull.sum(axis=1)[:, None] * scaled - pull @ nodes
        pull = (-self.rough * coef) * np.exp(-self.ratio * manhattan_distances(scaled, nodes))
        pull *= self.ratio / np.sqrt(Z.shape[1])
        for j in range(Z.shape[1]):
            slope[:, j] += np.einsum("ij,ij->i", pull, np.sign(Z[:, j, None] - B[:, j]))
        return np.asarray(self.scales * slope)

    def line(self, Z: Any) -> Array:
        """Return the linear part and the constant as features."""
        constant = np.full((Z.shape[0], 1), np.sqrt(10.0))
        if self.linear == 0:
            return constant
        Z = Z.toarray() if is_sparse(Z) else Z
        return np.hstack([Z * np.sqrt(self.linear / Z.shape[1]), constant])


def squared_distances(A: Any, B: Array) -> Array:
    """Return ‖a - b‖² of all rows of A, dense or sparse, and B."""
    D2 = row_products(A, -2 * B.T)
    norms = A.multiply(A).sum(axis=1) if is_sparse(A) else np.einsum("ij,ij->i", A, A)
    D2 += asarray(norms).reshape(-1, 1)
    D2 += np.einsum("ij,ij->i", B, B)
    return asarray(np.maximum(D2, 0, out=D2))


def manhattan_distances(A: Any, B: Array) -> Array:
    """Return Σ|aⱼ - bⱼ| / √d of all rows of A, dense or sparse, and B.

    Over √d, since it grows with d where the Euclidean distance grows with √d.
    """
    root = np.sqrt(B.shape[1])
    if isinstance(A, Foreign):
        columns = (np.abs(A[:, j, None] - B[:, j]) for j in range(1, B.shape[1]))
        return asarray(sum(columns, np.abs(A[:, 0, None] - B[:, 0])) / root)
    if not is_sparse(A):
        return np.asarray(cdist(A, B, "cityblock") / root)
    A = sparse.csr_array(A)
    D = np.empty((A.shape[0], len(B)))
    row = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    for i, b in enumerate(B):
        at = b[A.indices]
        D[:, i] = np.bincount(row, np.abs(A.data - at) - np.abs(at), A.shape[0])
        D[:, i] += np.abs(b).sum()
    return np.asarray(np.maximum(D, 0, out=D) / root)


@dataclass(frozen=True)
class KernelNodes:
    """The feature map: kernel values with the nodes, the linear part and a constant.

    ``upper`` is the Cholesky factor U of the kernel of the nodes: with it the features are
    k(x, nodes) U⁻¹, for which the penalty ‖β‖² is the norm of the function. Without it they are
    the kernel values themselves, and the coefficients U⁻¹β.

    Parameters
    ----------
    scaling : Scaling
        Puts the inputs on a common scale.
    kernel : Kernel
        The kernel of scaled inputs.
    nodes : array of shape (L, d)
        Scaled inputs of the nodes.
    upper : array of shape (L, L), optional
        U, with UᵀU the kernel of the nodes.
    """

    scaling: Scaling
    kernel: Kernel
    nodes: Array
    upper: Array | None = None

    @property
    def n_nodes(self) -> int:
        """The number of nodes L."""
        return len(self.nodes)

    @property
    def n_features(self) -> int:
        """The number of features: nodes, inputs of the linear part, and a constant."""
        return self.n_nodes + (self.nodes.shape[1] if self.kernel.linear else 0) + 1

    def __call__(self, X: Any) -> Array:
        """Return the features of the rows of X, dense or sparse."""
        return self.of_scaled(self.scaling(X))

    def of_scaled(self, Z: Any) -> Array:
        """Return the features of scaled inputs."""
        H = self.kernel(Z, self.nodes)
        if self.upper is not None:
            H = _solved(self.upper, H)
        return np.hstack([H, self.kernel.line(Z)])

    def slopes(self, beta: Array) -> Array:
        """Return the root mean square slope of the prediction along each scaled input.

        ``beta`` are coefficients of the plain map. Slopes are taken at the nodes, which are spread
        over the data, and over all targets.
        """
        L, d = self.nodes.shape
        squares = np.zeros(d)
        for coef in beta.T:
            gradient = self.kernel.slope(self.nodes, self.nodes, coef[:L])
            if self.kernel.linear:
                gradient += np.sqrt(self.kernel.linear / d) * coef[L:-1]
            squares += np.mean(gradient**2, axis=0)
        return np.asarray(np.sqrt(squares / beta.shape[1]))

    def plain(self) -> "KernelNodes":
        """Return the map to kernel values themselves."""
        return replace(self, upper=None)

    def original(self, beta: Array, centre: Array) -> Array:
        """Return the coefficients of the plain map, with ``centre`` added back to the targets."""
        L = self.n_nodes
        nodes, rest = beta[:L], beta[L:].copy()
        if self.upper is not None:
            nodes = linalg.solve_triangular(self.upper, nodes, check_finite=False)
        rest[-1] += centre / np.sqrt(10.0)
        return np.concatenate([nodes, rest])


def _solved(upper: Array, K: Array) -> Array:
    """Return K U⁻¹."""
    if isinstance(K, Foreign):  # the array API has no triangular solves
        return np.linalg.solve(upper.T, K.T).T
    return np.asarray(linalg.solve_triangular(upper, K.T, trans="T", check_finite=False).T)


def pivots(K: Array, most: int, left: float) -> tuple[Index, Array]:
    """Return the first pivots of a pivoted Cholesky factorisation of K, and their factor U.

    Each pivot has the largest variance given the ones before (Fine and Scheinberg 2001). It ends
    after ``most`` pivots, or when no row has a conditional variance above ``left``.
    """
    upper, order, rank, _ = lapack.dpstrf(K, tol=left)
    size = max(1, min(int(rank), most))
    return np.asarray(order[:size] - 1), np.triu(upper[:size, :size])
