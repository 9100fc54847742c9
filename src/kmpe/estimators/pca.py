"""Principal component analysis with a robust loss, a drop-in replacement for scikit-learn's PCA.

PCA-KMPE, HQ-PCA, R1-PCA, PCA-GM and PCA of the paper are this estimator with different losses.
"""

import math
import numbers
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning

from kmpe.arrays import Array, Index, Mask
from kmpe.choice.trimming import PCAScale
from kmpe.estimators.collections import absent_attribute, is_elsewhere, without_collections
from kmpe.estimators.holes import fit_with_holes
from kmpe.estimators.inputs import (
    all_or_nothing,
    check_weights,
    is_whole,
    set_parameters,
)
from kmpe.estimators.measuring import Measuring
from kmpe.estimators.pca_elsewhere import fit_collections
from kmpe.estimators.pca_parameters import check_parameters, start_of
from kmpe.estimators.projection import check_rows, sum_of_squares
from kmpe.estimators.scaling import column_scales
from kmpe.inference.missing import inflation
from kmpe.inference.pca import Inferred, infer
from kmpe.losses import Loss, Squared
from kmpe.problems.pca import Points, Subspace, WeightedPCA, weighted_pca
from kmpe.problems.pca.distances import RowDistances
from kmpe.rows.arranged import ordered
from kmpe.rows.source import Rows
from kmpe.rows.threads import team
from kmpe.solvers.progress import said
from kmpe.solvers.record import Fit
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.walk import Chosen, Walked, walk
from kmpe.starts.pca import most_dimensions

__all__ = ["RobustPCA"]


class _Fitted(NamedTuple):
    rows: Points
    walked: Walked[WeightedPCA, Subspace]
    found: Inferred
    seen: Rows


class RobustPCA(Measuring):
    """Principal component analysis that is robust to outlying rows.

    The mean μ and the orthonormal directions W minimise ½ Σ ρ(‖xᵢ - μ - WWᵀ(xᵢ - μ)‖²), where ρ is
    the loss: (25) of the paper. Every row is weighted by ρ' of its reconstruction error, and mean
    and components are those of the weighted rows, (27) to (29). With
    ``KMPE(p=10, sigma="silverman")`` this is the paper's PCA-KMPE, with
    ``Correntropy(sigma="silverman")`` HQ-PCA, with ``Cauchy(sigma="median")`` or
    ``Huber(sigma="median")`` R1-PCA, with ``MPE(p=2q)`` PCA-GM, and with `Squared` plain PCA.

    Parameters
    ----------
    n_components : int, float, "auto" or None
        The number of components; the share of the variance, between 0 and 1, that they must
        explain; "auto" for the elbow of the scree plot of the central half of the rows (growth
        ratio of Ahn and Horenstein 2013); or None for all of them.
    loss : Loss, optional
        A loss of this package. By default `Trimmed`, with the cut-off of orthogonal distances as
        its σ: weight 0 for rows beyond it, and full weight for the others.
    n_robust_components : int, optional
        The paper's m_r: weights come from a subspace of this dimension, then the weighted rows give
        ``n_components``. By default ``n_components``, but at most a tenth of the number of rows and
        less than the number of columns; without a fixed ``n_components``, the number that explains
        that share (or 80%) of the variance.
    scale : {"mad", "qn"}, optional
        Divide columns by their median absolute deviation or by Qn (Rousseeuw and Croux 1993; more
        efficient, and slower) first, for tables in mixed units. Components, variances and distances
        are then those of the scaled columns.
    whiten : bool, default=False
        Whether `transform` divides the scores by their standard deviations.
    init : {"robust", "pca"}, default="robust"
        "robust" starts from the central half of the rows (maximum trimmed likelihood), which
        withstands clusters of outliers, and takes steps that never increase the cost. "pca" is
        Algorithm 2 as printed: start from plain PCA, full steps, stop when W changes by less than
        ``tol``.
    max_iter : int, default=100
        The largest number of reweighted steps once σ is known.
    tol : float, default=1e-6
        Stop when the relative change of the cost is below this, and that of the subspace below its
        square root.
    random_state : int, RandomState or None, default=0
        Seed of the sample for the robust start if there are many rows.
    verbose : int, default=0
        1 reports the progress of a fit on standard error; 0 is silent.

    Attributes
    ----------
    components_ : array of shape (n_components_, d)
        Orthonormal directions, by decreasing variance; signs as in scikit-learn.
    mean_ : array of shape (d,)
        The mean of the weighted rows.
    explained_variance_, explained_variance_ratio_, singular_values_ : array
        As in scikit-learn, of the weighted rows.
    noise_variance_ : float
        Mean variance of the remaining directions.
    scale_ : array of shape (d,) or None
        The scales that columns were divided by.
    n_components_, n_robust_components_ : int
        The numbers of components.
    weights_ : array of shape (n,)
        The weight of each training row by the loss; that of an outlier is 0 or close to it.
    orthogonal_distances_, score_distances_ : array of shape (n,)
        The distance of each training row from the subspace of the first ``n_robust_components_``
        components, and its Mahalanobis distance from the centre within the subspace.
    cutoffs_ : Limits
        The cut-offs of these distances, ``cutoffs_.orthogonal`` and ``cutoffs_.score``: 99% of
        Gaussian rows are within each.
    outliers_ : array of bool of shape (n,)
        Rows beyond either cut-off.
    outlier_kinds_ : array of str of shape (n,)
        "regular", "good leverage" (far out within the subspace), "orthogonal" (far from it) or "bad
        leverage" (both).
    loss_ : Loss
        The loss with σ as a number.
    history_ : array
        Cost at the start and after each step, for the final σ.
    n_iter_ : int
        The number of weighted solves on all rows.
    status_ : str
        Why the fit stopped.
    n_samples_, n_features_in_, feature_names_in_
        As in scikit-learn.

    See Also
    --------
    PCAL1, RobustImputer, kmpe.plots.OutlierMapDisplay

    Examples
    --------
    >>> import numpy as np
    >>> from kmpe import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1)) * [3.0, 4.0] + 0.1 * rng.normal(size=(200, 2))
    >>> X[:40] = [20.0, -20.0]
    >>> pca = RobustPCA(n_components=1).fit(X)
    >>> pca.components_.round(2)
    array([[0.6, 0.8]])
    >>> int(pca.outliers_[:40].sum())
    40
    """

    set_params = set_parameters
    __getstate__ = without_collections

    def __getattr__(self, name: str) -> Any:
        raise absent_attribute(self, name)

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        loss: Loss | None = None,
        n_robust_components: int | None = None,
        scale: str | None = None,
        whiten: bool = False,
        init: str = "robust",
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = 0,
        verbose: int = 0,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.n_robust_components = n_robust_components
        self.scale = scale
        self.whiten = whiten
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Fit mean and components.

        Parameters
        ----------
        X : array, data frame, sparse matrix or memory map of shape (n, d)
            The rows. A sparse matrix is made dense block by block only; a memory map, or anything
            else with a shape and row slices (HDF5, zarr), is read block by block. In an array NaN
            is a missing value: fitting and imputing then alternate.
        y : ignored
        sample_weight : array of shape (n,), optional
            Sample weights, as numbers of repeats.

        Returns
        -------
        self
        """
        with all_or_nothing(self), said(type(self).__name__, self.verbose):
            if is_elsewhere(X):
                fit_collections(self, X, sample_weight)
            else:
                self._fit_rows(self._read(X, reset=True, ensure_min_samples=2), sample_weight)
        return self

    def _fit_rows(self, X: Any, sample_weight: npt.ArrayLike | None) -> None:
        """Fit rows in memory, or read by block."""
        check_parameters(self, X.shape)
        a = check_weights(sample_weight, X)
        self.scale_ = None
        if self.scale is not None:
            self.scale_ = column_scales(X, self.scale, a)
        Z = X if self.scale_ is None else X / self.scale_
        squares = sum_of_squares(Z)
        back: Index | slice
        if math.isnan(squares):
            fitted, back = fit_with_holes(self._fit, Z, np.isnan(Z), a), slice(None)
        else:
            order, back = ordered(Z, a)
            given = None if sample_weight is None else a[order]
            fitted = self._fit(check_rows(Z[order], given, squares))
        self._set(fitted)
        self._set_rows(*fitted.found.rows(fitted.seen.X), back)

    def _fit(self, rows: Points, holes: Mask | None = None) -> "_Fitted":
        """Return the rows, the fit, and the distances of the rows."""
        n_components = self._n_components(rows)
        robust = not (self.init == "pca" or self.loss == Squared())
        with team():
            problem = weighted_pca(rows, 0, most=n_components)
            start = start_of(self, rows, robust=robust)
            walked = walk(problem, start, PCAScale(self.loss, robust), self._solve)
            chosen = walked.chosen
            stretch = None if holes is None else inflation(holes, chosen.problem.m)
            if self.n_components == "auto":
                n_components = chosen.problem.m
            found = infer(chosen.problem, walked.fit, chosen.details, n_components, stretch)
        return _Fitted(rows, walked, *found)

    def _n_components(self, rows: Points) -> int:
        """Return the largest number of components that may be needed."""
        if is_whole(self.n_components):
            return self.n_components
        if self.n_components == "auto":
            return most_dimensions(rows)
        return rows.most_components

    def _set(self, fitted: "_Fitted") -> None:
        """Set the attributes, except those of single rows."""
        rows, walked, found, _ = fitted
        fit, theta = walked.fit, found.theta
        if not fit.status.converged:
            warnings.warn(fit.message, ConvergenceWarning, stacklevel=3)
        self.n_iter_ = walked.chosen.steps + fit.n_iter + 1
        self._map, self.cutoffs_ = found.map, found.map.limits
        self.n_robust_components_ = found.map.W.shape[1]
        self.loss_ = fit.loss
        self.history_ = np.array(fit.history)
        self.status_ = fit.message
        m = theta.W.shape[1] if self.n_components == "auto" else self._n_components(rows)
        if isinstance(self.n_components, numbers.Real) and not is_whole(self.n_components):
            reached = np.cumsum(theta.variances) / theta.total if theta.total > 0 else np.ones(1)
            m = min(m, int(np.searchsorted(reached, self.n_components, side="right")) + 1)
        mean = theta.mean if self.scale_ is None else theta.mean * self.scale_
        self._set_components(mean, theta.W, theta.variances, theta.total, rows, m)

    def _solve(self, chosen: Chosen[WeightedPCA, Subspace]) -> Fit[Subspace]:
        return reweight(
            chosen.problem,
            chosen.loss,
            chosen.theta,
            max_iter=self.max_iter,
            tol=self.tol,
            as_printed=self.init == "pca",
            until="parameters",
            gain=chosen.problem.gain,
        )

    def _set_rows(self, weights: Array, distances: RowDistances, back: Index | slice) -> None:
        """Set the attributes of single rows; ``back`` maps given rows to fitted ones."""
        self.weights_ = weights[back]
        orthogonal, score, outliers = distances
        self.orthogonal_distances_, self.score_distances_ = orthogonal[back], score[back]
        self.outliers_ = outliers[back]
