"""Principal component analysis with a robust loss, as a drop-in for scikit-learn's PCA.

PCA-KMPE, HQ-PCA, R1-PCA, PCA-GM and plain PCA of the paper are this estimator with another loss.
"""

import numbers
import warnings
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

from kmpe.arrays import Array
from kmpe.estimators.projection import Projection, check_components, check_rows, is_whole
from kmpe.losses import Loss, Squared, Trimmed
from kmpe.losses.scale import cutoff
from kmpe.problems.pca import Points, Scatter, Subspace, WeightedPCA, weighted_pca
from kmpe.rows.threads import team
from kmpe.solvers.reweighted import Fit, Settled, reweight, settle
from kmpe.starts.pca import believable_rows, central_rows, enough_components

__all__ = ["RobustPCA"]

_INITS = ("robust", "pca")
# Without n_components the weights are learnt in as many dimensions as hold this share of the
# variance of the central rows.
_SHARE = 0.8
# A subspace of more dimensions than a tenth of the rows fits outliers as well as the others.
_ROWS_PER_COMPONENT = 10
# The robust start looks at this many rows, and at 20 for each component.
_START_ROWS = 600
_START_ROWS_PER_COMPONENT = 20
# With many more rows than this for each column, σ settles on that many of them.
_SETTLING_ROWS_PER_COLUMN = 20
# The loss that needs no tuning, and the one that every robust start ends with.
_SAFE = Trimmed("cutoff")
_SAFE_STEPS = 2
# From there a scale has settled by now, or goes in circles.
_SETTLING_STEPS = 6
# No row is an outlier for certain below this many standard deviations.
_FAR_OUT = 5.0


class RobustPCA(Projection):
    """Principal component analysis that stays right when part of the rows are garbage.

    The mean μ and the orthonormal directions W minimise ½ Σ ρ(‖xᵢ - μ - WWᵀ(xᵢ - μ)‖²), where ρ is
    the loss: (25) of the paper. Every row has the weight ρ' of its reconstruction error, and mean
    and components are those of the weighted rows, (27) to (29). With
    ``KMPE(p=10, sigma="silverman")`` this is the paper's PCA-KMPE, with
    ``Correntropy(sigma="silverman")`` HQ-PCA, with ``Cauchy(sigma="median")`` or
    ``Huber(sigma="median")`` R1-PCA, with ``MPE(p=2q)`` PCA-GM, and with `Squared` plain PCA.

    Parameters
    ----------
    n_components : int, float or None
        The number of components; a share of the variance between 0 and 1 that they must hold; or
        None for all of them.
    loss : Loss, optional
        A loss of this package. By default ``Trimmed(sigma="cutoff")``: no weight for rows whose
        error stands out from the others, and full weight for the rest.
    n_robust_components : int, optional
        The paper's m_r: weights are learnt in a subspace of so many dimensions, then the weighted
        rows give ``n_components``. By default ``n_components``, but at most a tenth of the number
        of rows and less than the number of columns; without a fixed ``n_components``, as many
        as hold that share (or 80%) of the variance.
    whiten : bool, default=False
        Whether `transform` divides the scores by their standard deviations.
    init : {"robust", "pca"}, default="robust"
        "robust" starts from the half of the rows that lies furthest in, so that clusters of
        outliers do not hold the fit, and takes steps that never raise the cost. "pca" is
        Algorithm 2 as printed: start from plain PCA, full steps, stop when W changes by less
        than ``tol``.
    max_iter : int, default=100
        The largest number of reweighted steps once σ is settled.
    tol : float, default=1e-6
        Stop when the cost changes by less than this share of itself, and the subspace by less
        than its square root.
    random_state : int, RandomState or None
        Seed of the robust start.

    Attributes
    ----------
    components_ : array of shape (n_components_, d)
        Orthonormal directions, by falling variance; signs as in scikit-learn.
    mean_ : array of shape (d,)
        The mean of the weighted rows.
    explained_variance_, explained_variance_ratio_, singular_values_ : array
        As in scikit-learn, of the weighted rows.
    noise_variance_ : float
        Mean variance of the directions left out.
    n_components_, n_robust_components_ : int
        The numbers of components.
    weights_ : array of shape (n,)
        The loss's weight of each training row; an outlier has 0 or close to it.
    outliers_ : array of bool of shape (n,)
        Rows whose orthogonal distance is above ``cutoff_``.
    cutoff_ : float
        The distance from the robust subspace past which a row is called an outlier:
        (q₅₀ + 3 (q₅₀ - q₂₅) / 0.6745)^(3/2), with q the quantiles of ‖e‖^(2/3).
    loss_ : Loss
        The loss with σ as a number.
    history_ : array
        Cost at the start and after each step, with σ settled.
    n_iter_ : int
        The number of weighted solves on all rows.
    status_ : str
        Why the fit stopped.
    n_samples_, n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from kmpe import RobustPCA
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 1)) * [3.0, 4.0] + 0.1 * rng.normal(size=(200, 2))
    >>> X[:40] = [20.0, -20.0]
    >>> pca = RobustPCA(n_components=1, random_state=0).fit(X)
    >>> pca.components_.round(2)
    array([[0.6, 0.8]])
    >>> int(pca.outliers_.sum())
    40
    """

    def __init__(
        self,
        n_components: int | float | None = None,
        *,
        loss: Loss | None = None,
        n_robust_components: int | None = None,
        whiten: bool = False,
        init: str = "robust",
        max_iter: int = 100,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.loss = loss
        self.n_robust_components = n_robust_components
        self.whiten = whiten
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: npt.ArrayLike | None = None) -> Self:  # noqa: ARG002
        """Fit mean and components.

        Parameters
        ----------
        X : array or data frame of shape (n, d)
            The rows.
        y : ignored
        sample_weight : array of shape (n,), optional
            How often each row counts.

        Returns
        -------
        self
        """
        X = validate_data(self, X, dtype=[np.float64, np.float32], ensure_min_samples=2)
        self._check_parameters(X.shape)
        rows = check_rows(X, sample_weight)
        m = self.n_components if is_whole(self.n_components) else rows.most_components
        # Many small decompositions: BLAS threads would make each of them slower.
        with team():
            problem = weighted_pca(rows, 0, most=min(m, *X.shape))
            problem, fit, n_settling = self._solve(problem, rows)
            final = problem.final(min(m, *X.shape))
            theta = final.lift(final.solve(fit.weights, fit.theta))
        if not fit.status.converged:
            warnings.warn(fit.message, ConvergenceWarning, stacklevel=2)
        self._set_weights(problem, fit)
        self.n_iter_ = n_settling + fit.n_iter
        per_row = rows.n / rows.degrees_of_freedom
        variances, total = theta.variances * per_row, theta.total * per_row
        if self.n_components is not None and not is_whole(self.n_components):
            reached = np.cumsum(variances) / total if total > 0 else np.ones(1)
            m = min(m, int(np.searchsorted(reached, self.n_components, side="right")) + 1)
        self._set_components(theta.mean, theta.W, variances, total, rows, m)
        return self

    def _solve(self, problem: WeightedPCA, rows: Points) -> tuple[WeightedPCA, Fit[Subspace], int]:
        """Return the problem that weights are learnt in, its fit, and the steps to settle σ."""
        loss = _SAFE if self.loss is None else self.loss
        as_printed = self.init == "pca"
        if as_printed or loss == Squared():
            problem = problem.with_components(self._robust_dimension(rows))
            theta = problem.solve(np.ones(len(rows)), problem.origin)
            start = settle(problem, loss, theta, bounded=False)
        else:
            problem, start = self._robust_start(problem, loss, rows)
        fit = reweight(
            problem,
            start.loss,
            start.theta,
            max_iter=self.max_iter,
            tol=self.tol,
            as_printed=as_printed,
            until="parameters",
            s=start.s,
        )
        return problem, fit, start.steps

    def _robust_start(
        self, problem: WeightedPCA, loss: Loss, rows: Points
    ) -> tuple[WeightedPCA, Settled[Subspace]]:
        """Return the problem in m_r dimensions, and where to start it."""
        rng = check_random_state(self.random_state)
        wanted = self.n_robust_components or self.n_components
        per_component = wanted if is_whole(wanted) else 1
        index = rows.sample(max(_START_ROWS, _START_ROWS_PER_COMPONENT * per_component), rng)
        Z, centre = central_rows(problem.points.some(index).X, rng)
        m = self._robust_dimension(rows, Z, centre)
        kept = index[believable_rows(Z, centre, m, rng)]
        problem = problem.with_components(m)
        start = weighted_pca(Points(problem.points.some(kept).X, np.ones(len(kept))), m)
        theta = start.lift(start.solve(np.ones(len(kept)), start.origin))
        n_settling = max(_SETTLING_ROWS_PER_COLUMN * rows.d, len(index))
        if not (isinstance(problem, Scatter) and n_settling < len(rows) // 4):
            return problem, _settle(problem, loss, theta)
        some = Scatter(rows.some(rows.sample(n_settling, rng)), m)
        settled = _settle(some, loss, theta)
        fit = reweight(some, settled.loss, settled.theta, max_iter=20, tol=1e-5, s=settled.s)
        aw = some.sample_weight * fit.weights
        problem = replace(problem, sketch=some.scatter(aw)[0])
        return problem, settle(problem, loss, fit.theta, max_steps=0)

    def _robust_dimension(self, rows: Points, Z: Array | None = None, centre: Any = None) -> int:
        """Return m_r, asking the central rows where no number is given."""
        n, d = rows.n_whole, int(rows.X.shape[1])
        if self.n_robust_components is not None:
            return int(self.n_robust_components)
        most = min(d - 1, max(1, n // _ROWS_PER_COMPONENT))
        m = self.n_components
        if is_whole(m) and m < d:
            return min(m, most)
        if Z is None:
            return most
        return enough_components(Z, centre, _SHARE if m is None or is_whole(m) else float(m), most)

    def _set_weights(self, problem: WeightedPCA, fit: Fit[Subspace]) -> None:
        s = fit.s
        self.n_robust_components_ = problem.m
        self.loss_ = fit.loss
        self.weights_ = fit.weights
        self.cutoff_ = cutoff(s, problem.sample_weight, problem.dim)
        self.outliers_ = s > self.cutoff_**2
        self.history_ = np.array(fit.history)
        self.status_ = fit.message

    def _check_parameters(self, shape: tuple[int, ...]) -> None:
        if not (self.loss is None or isinstance(self.loss, Loss)):
            raise ValueError(f"loss={self.loss!r} must be None or a loss such as kmpe.KMPE(p=10)")
        if self.init not in _INITS:
            raise ValueError(f"init={self.init!r} must be one of {', '.join(_INITS)}")
        check_components("n_components", self.n_components, shape, share=True)
        check_components("n_robust_components", self.n_robust_components, shape, share=False)
        if not is_whole(self.max_iter) or self.max_iter < 1:
            raise ValueError(f"max_iter={self.max_iter!r} must be a whole number of at least 1")
        if not (isinstance(self.tol, numbers.Real) and 0 < float(self.tol) < np.inf):
            raise ValueError(f"tol={self.tol!r} must be a number above 0")


def _settle(problem: WeightedPCA, loss: Loss, theta: Subspace) -> Settled[Subspace]:
    """Settle a loss from the fit to half of the rows, bringing the other rows in first.

    A narrow loss would never see them from there. First come all rows that are no outliers, then
    those that are none for certain.
    """
    theta = settle(problem, _SAFE, theta, max_steps=_SAFE_STEPS).theta
    for _ in range(_SAFE_STEPS if loss != _SAFE else 0):
        s = problem.squared_residuals(theta)
        edge = cutoff(s, problem.sample_weight, problem.dim, z=_FAR_OUT)
        theta = problem.solve(Trimmed(edge).weight(s), theta)
    return settle(problem, loss, theta, max_steps=_SETTLING_STEPS)
