"""The self-tuning ELM: length scales, variances, noise and nodes of a kernel machine.

On a sample of the rows in canonical order, with equal rows merged:

1. Inputs are scaled robustly.
2. Rows that no length scale predicts lose their weight (`kmpe.choice.believable`).
3. The evidence is maximised over a length scale for each input, variances and noise
   (`kmpe.choice.process`; automatic relevance determination), and rows are weighted again by their
   leave-one-out errors. This is done three times, or until the weights no longer change.
4. Nodes are chosen by pivoted Cholesky factorisation until the unexplained variance is small
   compared with the noise.

The method was developed on ``TABLES`` of ``benchmarks/tables.py``, and in one choice on puma32h of
its ``OTHERS``. Which of the numbers here, in `believable` and in `process` that are neither derived
nor cited were set there is not recorded: results on these tables may be optimistic.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy import linalg

from kmpe.arrays import Array, Index
from kmpe.choice.believable import Mixture, at_their_best, weigh
from kmpe.choice.gathered import Some, gathered, scaling_of
from kmpe.choice.labels import LabelNoise
from kmpe.choice.noise import granularity
from kmpe.choice.process import Errors, Evidence, Theta
from kmpe.rows.kernel_nodes import KernelNodes, Scaling, pivots
from kmpe.rows.sample import strata
from kmpe.rows.source import Rows, is_sparse

__all__ = ["Judged", "Machine", "choose_machine", "judged"]


class Judged(NamedTuple):
    """A weighted fit to features: β, effective degrees of freedom, leave-one-out errors."""

    beta: Array
    degrees_of_freedom: float
    errors: Errors


@dataclass(frozen=True)
class Machine:
    """The chosen machine, and the sample that it was chosen on.

    Parameters
    ----------
    features : KernelNodes
        The feature map.
    alpha : float
        The penalty: the noise variance over that of the process.
    some : Some
        The sample.
    H : array
        Its features.
    w : array
        The weights of its rows; that of an outlier is about 0.
    table : list of dict
        The criterion in each round.
    unit : float
        The divisor of sample weights, so that their mean is 1.
    mixture : Mixture
        The distribution of their leave-one-out errors.
    place : array of int, optional
        The position of each row of the data among these, 0 for rows of weight 0; None if these are
        not all rows.
    labels : LabelNoise, optional
        The label noise, if targets are classes.
    """

    features: KernelNodes
    alpha: float
    some: Some
    H: Array
    w: Array
    table: list[dict[str, float | str]]
    unit: float
    mixture: Mixture
    place: Index | None
    labels: LabelNoise | None = None


def choose_machine(
    rows: Rows, *, n_hidden: int | None, alpha: float | None, classes: Array | None = None
) -> Machine:
    """Choose the machine for rows of inputs with centred targets.

    Parameters
    ----------
    rows : Rows
        Inputs without features, targets, and sample weights.
    n_hidden : int, optional
        The largest number of nodes; None chooses it.
    alpha : float, optional
        The penalty; None chooses it.
    classes : array of shape (q,), optional
        The centre that was subtracted from one-hot targets.
    """
    some, unit, place = gathered(rows)
    scaling = scaling_of(some, sparse=is_sparse(rows.X))
    Z = scaling(some.X)
    part = _part(some.a)
    evidence = Evidence(Z[part], some.Y[part], some.a[part])
    most = _most_nodes(rows, Z) if n_hidden is None else n_hidden
    if classes is not None:
        return _for_labels(evidence, some, scaling, Z, part, classes, most, alpha, unit, place)
    theta, w, mixture, table = _rounds(evidence)
    noise = theta.noise if alpha is None else alpha
    features = _nodes(scaling, theta, Z, most)
    H = features.of_scaled(Z)
    if len(part) < len(Z):
        w = _spread(some, H, noise, part, w, mixture)
    return Machine(features, noise, some, H, w, table, unit, mixture, place)


def _for_labels(
    evidence: Evidence,
    some: Some,
    scaling: Scaling,
    Z: Array,
    part: Index,
    classes: Array,
    most: int,
    alpha: float | None,
    unit: float,
    place: Index | None,
) -> Machine:
    """Choose the machine for classes: rows are weighted by the probability of a right label.

    Targets of 0 and 1 have no gross errors, so that the first round needs no weights. With many
    classes and few rows the rounds may diverge. The fit is kept whose leave-one-out scores give the
    labels the largest likelihood.
    """
    labels = np.argmax(some.Y + classes, axis=1)
    # One-hot targets of a row are one observation, not q: the evidence has the power 1 / q.
    # A length scale for each of many inputs would overfit few rows.
    evidence = replace(evidence, power=1 / evidence.Y.shape[1])
    theta = Theta.start(*Z.shape, common=len(Z) < 20 * Z.shape[1] or evidence.Y.shape[1] < 4)
    w, table = np.ones(len(Z)), []
    plain, best = Mixture(1.0), None
    for max_iter in (25, 12):
        log_evidence = 0.0
        if evidence.Y.any():  # otherwise all rows have the same label
            theta, log_evidence = evidence.maximise(theta, w[part], max_iter)
        noise = theta.noise if alpha is None else alpha
        features = _nodes(scaling, theta, Z, most)
        H = features.of_scaled(Z)
        for _ in range(4):
            F = some.Y + classes - judged(H, some.Y, some.a, w, noise).errors.errors
            found = LabelNoise.of(F, labels, some.a)
            if best is None or found.log_likelihood > best[-1].log_likelihood:
                best = features, noise, H, w, found
            if found.share < 0.01:
                break
            # No row is dropped altogether, as it would then not count in the evidence.
            last, w = w, np.maximum(found.right(F, labels), 1e-3)
            if _stays(w, last):
                break
        table.append(_line(log_evidence, theta, w, f"labels, {found.share:.1%} of them wrong"))
        if found.share < 0.01:
            break
    assert best is not None
    features, noise, H, w, found = best
    return Machine(features, noise, some, H, w, table, unit, plain, place, found)


def _part(a: Array, most: int = 500) -> Index:
    """Return the indices of at most ``most`` rows, on which the evidence is maximised.

    A step takes n³ products, with 1000 rows eight times as many; what they would gain was not
    measured.
    """
    if len(a) <= most:
        return np.arange(len(a))
    reached = np.cumsum(a)
    at = np.searchsorted(reached, strata(most) * reached[-1], side="right")
    return np.unique(np.minimum(at, len(a) - 1))


def _rounds(evidence: Evidence) -> tuple[Theta, Array, Mixture, list[dict[str, float | str]]]:
    """Alternate between θ and the weights; return both, their mixture, and the criteria."""
    n, d = evidence.X.shape
    # With fewer rows per input, all inputs share one length scale.
    theta = Theta.start(n, d, common=2 * d > n)
    w, mixture = np.ones(n), Mixture(1.0)
    table: list[dict[str, float | str]] = []
    # With fewer rows the distribution of errors cannot be estimated.
    if n < 10 or not evidence.Y.any():
        return theta, w, mixture, table
    grain = _grain(evidence.Y, evidence.a)
    w, mixture = weigh(at_their_best(evidence, theta, grain), evidence.a, grain)
    for max_iter in (25, 12, 8):
        theta, log_evidence = evidence.maximise(theta, w, max_iter)
        before = w
        for _ in range(3):
            last = w
            w, mixture = weigh(evidence.errors(theta, w), evidence.a, grain)
            if _stays(w, last):
                break
        table.append(_line(log_evidence, theta, w, mixture.name))
        if _stays(w, before):
            break
    return theta, w, mixture, table


def _grain(Y: Array, a: Array) -> float:
    """Return the share of the most frequent target; 0 for several targets."""
    return granularity(Y[:, 0], a) if Y.shape[1] == 1 else 0.0


def _stays(w: Array, last: Array) -> bool:
    """Whether weights have converged, by their roots, which multiply the rows."""
    return bool(np.abs(np.sqrt(w) - np.sqrt(last)).max() < 0.03)


def _line(log_evidence: float, theta: Theta, w: Array, errors: str) -> dict[str, float | str]:
    kernel = theta.kernel
    return {
        "log_evidence": log_evidence,
        "noise": theta.noise,
        "smooth": kernel.smooth,
        "rough": kernel.rough,
        "linear": kernel.linear,
        "outliers": float(np.mean(w < 0.5)),
        "errors": errors,
    }


def _most_nodes(rows: Rows, Z: Array) -> int:
    """Return the largest number of nodes.

    A step takes n L² multiplications, of which 2 · 10⁹ take a second. There are at least 100, and
    with the linear part no more than rows.
    """
    most = max(100, int(np.sqrt(2e9 / max(rows.n_counted, 1))))
    return max(1, min(most, len(Z) - 1 - Z.shape[1]) if len(Z) > 2 * Z.shape[1] else most)


def _nodes(scaling: Scaling, theta: Theta, Z: Array, most: int) -> KernelNodes:
    """Return the feature map with at most ``most`` nodes among the rows."""
    kernel = theta.kernel
    K = kernel(Z, Z)
    variance = kernel.smooth + kernel.rough
    K.flat[:: len(K) + 1] = variance
    # Until the unexplained variance of every row is below 3% of the noise, or near rounding.
    left = max(0.03 * theta.noise, 1e-10 * variance)
    chosen, upper = pivots(K, most, left)
    return KernelNodes(scaling, kernel, Z[chosen], upper)


def _spread(some: Some, H: Array, alpha: float, part: Index, w: Array, mixture: Mixture) -> Array:
    """Return weights of all rows from those of a part, from leave-one-out errors."""
    if not mixture.has_outliers and w.min() == 1:
        return np.ones(len(H))
    every, grain = np.zeros(len(H)), _grain(some.Y, some.a)
    every[part] = w
    for _ in range(3):
        last = every
        every, _ = weigh(judged(H, some.Y, some.a, every, alpha).errors, some.a, grain)
        if _stays(every, last):
            break
    return every


def judged(H: Array, Y: Array, a: Array, w: Array, alpha: float) -> Judged:
    """Return the weighted ridge fit to features, and leave-one-out errors.

    For a row of weight 0 this is the residual of the fit itself.
    """
    aw = a * w
    rows = np.sqrt(aw)[:, None] * H
    A = rows.T @ rows
    A.flat[:: len(A) + 1] += max(alpha, 1e-12 * float(np.trace(A)) / len(A))
    factor = linalg.cho_factor(A, check_finite=False)
    beta = linalg.cho_solve(factor, H.T @ (aw[:, None] * Y), check_finite=False)
    V = linalg.solve_triangular(factor[0], H.T, trans="T", check_finite=False)
    g = np.einsum("ij,ij->j", V, V)
    h = np.minimum(aw * g, 0.999)
    R = Y - H @ beta
    cost = float(np.sum(aw @ R**2)) + alpha * float(np.vdot(beta, beta))
    # The cost is η tr YᵀC⁻¹Y, the process variance times η for each row and target.
    noise = cost / (max(np.count_nonzero(w), 1) * Y.shape[1])
    loo = R / (1 - h)[:, None]
    return Judged(beta, float(h.sum()), Errors(loo, noise * g / (1 - h), noise))
