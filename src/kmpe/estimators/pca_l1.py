"""PCA-L1 (Kwak 2008): components that maximise the sum of absolute projections, greedily."""

import warnings
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import linalg
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kmpe.arrays import ROUNDING, Array
from kmpe.estimators.inputs import (
    all_or_nothing,
    check_weights,
    check_whole_number,
    refuse_elsewhere,
)
from kmpe.estimators.projection import Projection, check_components, check_rows
from kmpe.problems.pca import Dual, Points
from kmpe.rows.arranged import ordered

__all__ = ["PCAL1"]


class PCAL1(Projection):
    """Principal components that maximise Σ |wᵀ(xᵢ - μ)|, found greedily.

    PCA-L1 of Kwak (2008): w ← Σ sign(wᵀxᵢ) xᵢ, normalised, until the signs no longer change. If a
    projection is zero, w is perturbed and the iteration continues, so that it ends at a local
    maximum. Then the rows are projected onto the complement of w (deflation), and the next
    component is computed. μ is the mean of the rows.

    Parameters
    ----------
    n_components : int, optional
        The number of components; by default all of them.
    n_starts : int, default=5
        Number of starts for each component: the leading direction of plain PCA, the longest row,
        and rows drawn at random. The best result is kept.
    whiten : bool, default=False
        Whether `transform` divides the scores by their standard deviations.
    max_iter : int, default=1000
        The largest number of steps for each component.
    random_state : int, RandomState or None
        Seed of the starts and of the perturbations.

    Attributes
    ----------
    components_ : array of shape (n_components_, d)
        Orthonormal directions, in the order found; signs as in scikit-learn.
    mean_ : array of shape (d,)
        The mean of the rows.
    dispersions_ : array of shape (n_components_,)
        Σ |wᵀ(xᵢ - μ)| of each component.
    explained_variance_, explained_variance_ratio_, singular_values_ : array
        Variances of the scores, in the order of the components.
    noise_variance_, n_components_, n_samples_, n_features_in_, feature_names_in_
        As in scikit-learn's PCA.
    n_iter_ : int
        The largest number of steps that a component took.

    References
    ----------
    N. Kwak, "Principal component analysis based on L1-norm maximization", IEEE Transactions on
    Pattern Analysis and Machine Intelligence 30 (2008) 1672-1680.

    See Also
    --------
    RobustPCA : The losses of this package, outliers, missing values.

    Examples
    --------
    >>> import numpy as np
    >>> from kmpe import PCAL1
    >>> X = np.array([[-6.0, -5], [0, 0], [6, 5], [1, -12]])
    >>> PCAL1(n_components=1, random_state=0).fit(X).components_.shape
    (1, 2)
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_starts: int = 5,
        whiten: bool = False,
        max_iter: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_starts = n_starts
        self.whiten = whiten
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Fit mean and components.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows.
        y : None
            Ignored.
        sample_weight : array of shape (n,), optional
            Sample weights, as numbers of repeats.

        Returns
        -------
        self
        """
        with all_or_nothing(self):
            refuse_elsewhere(self, X)
            X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
            self._check_parameters(X.shape)
            a = check_weights(sample_weight, X)
            order, _ = ordered(X, a)
            rows = check_rows(X[order], None if sample_weight is None else a[order])
            m = rows.most_components if self.n_components is None else int(self.n_components)
            mean, Y, dual = _centred(rows)
            W, self.n_iter_ = self._greedy(Y, rows, m)
            T = Y @ W
            dof = rows.degrees_of_freedom
            variances = rows.a @ T**2 / dof
            total = float(rows.a @ np.einsum("ij,ij->i", Y, Y)) / dof
            self.dispersions_ = np.append(rows.a @ np.abs(T), np.zeros(m))[:m]
            self._set_components(
                mean, W if dual is None else dual.rotate(W), variances, total, rows, m
            )
        return self

    def _greedy(self, Y: Array, rows: Points, m: int) -> tuple[Array, int]:
        """Return at most m orthonormal directions, and the largest number of steps."""
        rng = check_random_state(self.random_state)
        drawn = rows.at(rng.uniform(size=m * self.n_starts)).reshape(m, -1)
        leading = _leading(Y, rows.a, min(m, Y.shape[1]))
        a, left = rows.a, Y * (rows.a > 0)[:, None]
        size = float(np.abs(left).max(initial=0.0))
        W = np.zeros((Y.shape[1], 0))
        longest = 1
        while W.shape[1] < leading.shape[1] and np.abs(left).max() > 1e-13 * size:
            k = W.shape[1]
            longest_row = np.einsum("ij,ij->i", left, left).argmax()
            starts = np.column_stack([leading[:, k], left[longest_row], left[drawn[k]].T])
            w, steps = self._direction(left, a, starts[:, : self.n_starts], rng)
            w -= W @ (W.T @ w)
            w /= np.linalg.norm(w)
            W = np.column_stack([W, w])
            left -= np.outer(left @ w, w)
            longest = max(longest, steps)
        if longest > self.max_iter:
            warnings.warn(
                f"signs still change at max_iter={self.max_iter}: raise max_iter",
                ConvergenceWarning,
                stacklevel=3,
            )
        return W, min(longest, self.max_iter)

    def _direction(
        self, Y: Array, a: Array, W: Array, rng: np.random.RandomState
    ) -> tuple[Array, int]:
        """Return the direction of largest dispersion, of searches from the columns of W.

        The searches run in parallel. The number of steps is ``max_iter`` + 1 if signs still change
        after the last one.
        """
        length = np.linalg.norm(Y, axis=1)
        # Projections below this share of the length of a row count as zero: a fixed point of the
        # signs need not be a maximum then. A row that is zero after deflation does not count so.
        fence = np.where(length > 0, ROUNDING * length, -1.0)[:, None]
        W = _normalised(W)
        signs = np.zeros((len(Y), W.shape[1]))
        steps = 0
        while steps <= self.max_iter:
            P = Y @ W
            stuck = (np.abs(P) <= fence).any(axis=0)
            if stuck.any():
                nudge = 1e-3 * _normalised(rng.standard_normal((len(W), int(stuck.sum()))))
                P[:, stuck] = Y @ (W[:, stuck] + nudge)
            before, signs = signs, np.where(P < 0, -1.0, 1.0)
            if np.array_equal(before, signs):
                break
            W = _normalised(Y.T @ (a[:, None] * signs))
            steps += 1
        best = int(np.argmax(a @ np.abs(Y @ W)))
        return W[:, best].copy(), steps

    def _check_parameters(self, shape: tuple[int, ...]) -> None:
        check_components("n_components", self.n_components, shape, share=False)
        check_whole_number("n_starts", self.n_starts)
        check_whole_number("max_iter", self.max_iter)


def _centred(rows: Points) -> tuple[Array, Array, Dual | None]:
    """Return the mean, the centred rows, and the map back to the coordinates of the data.

    With fewer rows than columns the coordinates are those of the span of the rows, as every sum of
    rows lies in it.
    """
    if len(rows) < rows.d:
        dual = Dual.of(rows, 0)
        return dual.lift(dual.origin).mean, dual.points.X, dual
    return rows.mean, np.asarray(rows.X - rows.mean, dtype=np.float64), None


def _leading(Y: Array, a: Array, m: int) -> Array:
    """Return the m leading directions of plain PCA."""
    d = Y.shape[1]
    aY = np.sqrt(a)[:, None] * Y
    return np.asarray(linalg.eigh(aY.T @ aY, subset_by_index=(d - m, d - 1))[1][:, ::-1])


def _normalised(W: Array) -> Array:
    norm = np.linalg.norm(W, axis=0)
    return np.asarray(W / np.where(norm > 0, norm, 1.0))
