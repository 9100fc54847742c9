"""Fast-S: the regression of least M-scale, and the M-estimate at that scale.

The S-estimate minimises the M-scale σ(β) of the residuals, the solution of

    Σ aᵢ ρ(‖tᵢ - zᵢβ‖ / cσ) = b Σ aᵢ,    ρ the bisquare.

b = ½ (1 - k/n) gives the largest possible breakdown point, about ½ (1 - k/n) (Rousseeuw and Yohai
1984); lmrob's ½ with a mean over n - k is the same. The minimum is computed as in fast-S
(Salibian-Barrera and Yohai 2006): many candidates on a sample of the rows, an I-step (a
least-squares step with the weights ρ'(x)/x) for each, the best few carried on to all rows and to
convergence. Candidates are elemental fits and half fits.

* Exact fits to random subsets of k rows: a random permutation of the rows is cut into pieces, so
  that every row is used. If a subset does not determine all coefficients (dummies), a common first
  fit is changed by the least norm that fits its rows; lmrob redraws (Koller and Stahel 2017).
* Least squares on the half of the rows that has the lowest, the highest or the most central
  scores on a direction (Peña and Yohai 1999), or is nearest to or farthest from the centre.
  Directions are the principal components of the inputs, as in DetS (Hubert, Rousseeuw and Verdonck
  2012), their principal sensitivity components, and the residuals. They are deterministic; at 30%
  of bad rows only one random subset of 21 rows in 1800 is clean.

Inputs Z come whitened, largest principal component first; sample weights have the sum 1.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import chdtri

from kmpe.arrays import ROUNDING, Array, squared
from kmpe.losses.scale import quantile
from kmpe.problems.ridge_sums import squared_norms
from kmpe.starts.bisquare import (
    LEAST,
    consistent,
    efficient,
    m_scales,
    mean_rho,
    ranked,
    weights,
)
from kmpe.starts.weighted import cross_products, sample, steps

__all__ = ["LUCK", "SAMPLE", "SUBSETS", "Data", "least_absolute", "m_estimate", "s_estimate"]

# Draws lost, of 960 with bad leverage points, with each constant halved and doubled; 266 with these
# values (`python benchmarks/breakdown.py --constants --draws 2`).
SUBSETS = 250  # 265 and 266; lmrob has 500, and no half fits
LUCK = 0.01  # the probability that no subset is clean
# Rows on which candidates are compared, or 8 per coefficient: 273, and 265 in 1.4 times the time;
# lmrob has groups of 400.
SAMPLE = 400
# A budget of time: multiplications in the steps of one stage, about 50 ms. Half fits are then taken
# along all components up to 67 coefficients and along 3 from 174 on. With 100 inputs as many are
# lost, in 0.7 and 1.9 times the time (`--constants --draws 1 --inputs 100 --sizes 1000`).
_WORK = 5e8
_CARRIED_ON = 10  # fits carried on to all rows: 263 and 267; fast-S has 5
# An M-estimate ends when a step is this share of the standard error of the fit, σ √(k/n), which
# adds 1e-4 to the squared error; an S-estimate at its root, as its scale is stationary.
_SETTLED = 1e-2


class Data(NamedTuple):
    """Whitened inputs, targets, sample weights of sum 1, and the number of rows they represent."""

    Z: Array
    T: Array
    a: Array
    n: float

    @property
    def k(self) -> int:
        """The number of coefficients."""
        return int(self.Z.shape[1])

    @property
    def q(self) -> int:
        """The number of targets."""
        return int(self.T.shape[1])

    @property
    def b(self) -> float:
        """The breakdown point."""
        return 0.5 * (1 - self.k / self.n)

    def residuals(self, theta: Array) -> Array:
        """Return tᵢ - zᵢβ for every fit, of shape (fits, q, n)."""
        return np.asarray(self.T.T - theta.transpose(0, 2, 1) @ self.Z.T)


def s_estimate(data: Data, first: Array, seed: int | None) -> tuple[Array, float]:
    """Return the fit of least M-scale, and that scale.

    ``first`` is a fit for what a subset leaves open. Without a seed no subsets are drawn.
    """
    rows = sample(data.a, max(SAMPLE, 8 * data.k))
    equal = np.full(len(rows), 1 / len(rows))
    some = Data(data.Z[rows], data.T[rows], equal, min(data.n, len(rows)))
    theta = _half_fits(some, first)
    if seed is not None:
        theta = np.concatenate([theta, _subset_fits(some, first, seed)])
    # Half fits alone are few, and need no step to be told apart.
    theta = _screened(some, theta, 0 if seed is None else 1)
    theta = _i_steps(some, theta)
    carried = _affordable(data)
    if carried > 1 and some.n < data.n:
        theta = _i_steps(data, theta[:carried])
    # Two are carried to convergence, as by lmrob (best.r.s).
    ends = [_descend(data, start) for start in theta[: min(carried, 2)]]
    theta, scales = (np.array(values) for values in zip(*ends, strict=True))
    return ends[int(ranked(theta, _norms(data.residuals(theta)), data.a, scales)[0])]


def _half_fits(data: Data, first: Array) -> Array:
    """Return least squares on halves of the rows, chosen along directions, and on all rows."""
    Z, T, _, _ = data
    n, k = Z.shape
    directions = min(k, max(3, int(_WORK / (3 * n * max(k, 1) ** 2))))
    gap = T - Z @ first
    scores = [Z[:, :directions], gap]
    if directions == k:
        scores.append(Z @ np.linalg.eigh(Z.T @ (squared_norms(gap)[:, None] * Z))[1])
    S = np.concatenate(scores, axis=1).T
    central = np.abs(S - np.median(S, axis=1)[:, None])
    # The inner half is free of clusters far out, the outer one of those within the data.
    size = squared_norms(Z)[None]
    S = np.concatenate([S, -S, central, size, -size])
    # (n + k) / 2 rows: all others may be bad.
    last = min(n, math.ceil(0.5 * (n + k))) - 1
    limit = np.partition(S, last, axis=1)[:, last, None]
    # Rows that tie at the limit, as those of dummies do, are all in.
    limit += ROUNDING * np.abs(S).max(axis=1, keepdims=True)
    W = np.concatenate([limit >= S, np.ones((1, n), bool)]).astype(float)
    theta = np.broadcast_to(first, (len(W), *first.shape))
    return np.concatenate([first[None], theta + steps(Z, W, data.residuals(theta))])


def _subset_fits(data: Data, first: Array, seed: int) -> Array:
    """Return exact fits to random subsets of k rows, no row twice before all had their turn."""
    Z, T, _, _ = data
    n, k = Z.shape
    rng = np.random.default_rng(seed)
    # So many hold a clean one even when half of the rows are bad.
    subsets = min(SUBSETS, math.ceil(math.log(LUCK) / math.log1p(-(0.5**k))))
    pieces = n // k
    cut = [rng.permutation(n)[: pieces * k] for _ in range(-(-subsets // pieces))]
    chosen = np.concatenate(cut).reshape(-1, k)
    gap = (T - Z @ first)[chosen]
    # A subset whose fit is a million times larger than its targets leaves a coefficient open.
    dependent = 1e-6
    try:
        step = np.linalg.solve(Z[chosen], gap)
    except np.linalg.LinAlgError:
        step = np.full(gap.shape, np.inf)
    open_ = ~(np.abs(step).max(axis=(1, 2)) <= np.abs(gap).max(axis=(1, 2)) / dependent)
    if open_.any():
        step[open_] = np.linalg.pinv(Z[chosen[open_]], rcond=dependent) @ gap[open_]
    return np.asarray(first + step)


def _screened(data: Data, theta: Array, i_steps: int) -> Array:
    """Return the best of many fits after I-steps.

    An M-scale is below v when the mean of ρ at v is below b: one pass tells many apart.
    """
    c2 = consistent(data.q) ** 2
    R = data.residuals(theta)
    s = _norms(R)
    v = m_scales(s, data.a, data.b, data.q, 1)
    for _ in range(i_steps):
        theta = theta + steps(data.Z, weights(s, data.a, c2 * v), R)
        R = data.residuals(theta)
        s = _norms(R)
    order = ranked(theta, s, data.a, mean_rho(s, data.a, c2 * float(v.min())))
    return np.asarray(theta[order[: _affordable(data)]])


def _i_steps(data: Data, theta: Array) -> Array:
    """Return fits after two I-steps, best first."""
    Z, _, a, _ = data
    c2 = consistent(data.q) ** 2
    for _ in range(2):
        R = data.residuals(theta)
        s = _norms(R)
        theta = theta + steps(Z, weights(s, a, c2 * m_scales(s, a, data.b, data.q, 3)), R)
    s = _norms(data.residuals(theta))
    order = ranked(theta, s, a, m_scales(s, a, data.b, data.q, 3))
    return np.asarray(theta[order[: _affordable(data)]])


def m_estimate(data: Data, theta: Array, scale: float) -> Array:
    """Return the M-estimate of 95% Gaussian efficiency at a scale, from the S-estimate.

    A column that is nonzero in a few rows only is lost when these are all outliers of the
    S-estimate: least absolute residuals recover it from most of them.
    """
    Z, T, a, n = data
    gap = T - Z @ theta
    gram = cross_products(
        Z, weights(squared_norms(gap)[None], a, np.array([squared(efficient(data.q) * scale)]))
    )
    # Whitened rows have cross products near 1 in every direction that they tell of.
    open_below = 1e-8
    if data.k == 0 or np.diag(np.linalg.cholesky(gram[0])).min() ** 2 > open_below:
        return _descend(data, theta, scale, gram)[0]
    values, vectors = np.linalg.eigh(gram[0])
    lost = vectors[:, values < open_below]
    theta = theta + lost @ least_absolute(Data(Z @ lost, gap, a, n))[0]
    return _descend(data, theta, scale)[0]


def _descend(
    data: Data,
    theta: Array,
    scale: float | None = None,
    gram: Array | None = None,
    max_steps: int = 50,
) -> tuple[Array, float]:
    """Return the M-estimate at a given scale, or the S-estimate near a fit and its scale.

    The cross products of one step serve the next as well while steps get shorter.
    """
    Z, _, a, n = data
    k, q = data.k, data.q
    # The M-scale is stationary at its minimum: half of the digits will do there.
    settled = (_SETTLED if scale is None else _SETTLED**2) * k / n
    c = consistent(q) if scale is None else efficient(q)
    v = None if scale is None else np.array([squared(scale)])
    last = np.inf
    for _ in range(max_steps):
        R = data.residuals(theta[None])
        s = _norms(R)
        if v is None or scale is None:
            v = m_scales(s, a, data.b, q, 3 if v is None else 1, v)
        W = weights(s, a, c * c * v)
        gram = cross_products(Z, W) if gram is None else gram
        step = steps(Z, W, R, gram)[0]
        theta = theta + step
        size = float(np.sum(step**2)) / (q * float(v[0]))
        if size <= settled:
            break
        gram = gram if size < last else None
        last = size
    if scale is None:
        v = m_scales(_norms(data.residuals(theta[None])), a, data.b, q, 3, v)
        scale = math.sqrt(v[0])
    return theta, scale


def least_absolute(data: Data, max_steps: int = 50) -> tuple[Array, float]:
    """Return the fit of least absolute residuals, and the scale of those it leaves over."""
    Z, T, a, _ = data
    theta = np.zeros((data.k, data.q))
    for _ in range(max_steps):
        R = data.residuals(theta[None])
        r = np.sqrt(_norms(R))
        if not r.any():
            break
        # It meets k rows: the median is that of the others.
        middle = quantile(r[0], min(0.5 + 0.5 * data.k / len(Z), 1.0)) or np.median(r[r > 0])
        theta = theta + steps(Z, a / np.maximum(r, _SETTLED * middle), R)[0]
    # Weights far apart may stand for fewer rows than there are.
    if len(Z) <= data.k:
        return theta, 0.0
    middle = quantile(squared_norms(T - Z @ theta), min(1 - data.b, 1.0), a)
    return theta, math.sqrt(middle / float(chdtri(data.q, 0.5)))


def _affordable(data: Data) -> int:
    """Return how many fits can be carried on with these rows."""
    return int(min(_CARRIED_ON, max(1, _WORK / (len(data.Z) * max(data.k, 1) ** 2))))


def _norms(R: Array) -> Array:
    """Return squared norms of residuals of shape (fits, q, n); those that are rounding are 0."""
    s = R[:, 0] ** 2 if R.shape[1] == 1 else np.einsum("cqn,cqn->cn", R, R)
    s[s <= LEAST] = 0.0
    return np.asarray(s)
