"""The problems that are timed: a hidden layer on smooth targets, with outliers."""

from functools import partial

import numpy as np

from kmpe import Squared
from kmpe.choice.scale import GivenLoss
from kmpe.problems.ridge import Ridge
from kmpe.rows.hidden_layer import HiddenLayer
from kmpe.rows.source import Rows
from kmpe.solvers.annealing import anneal
from kmpe.solvers.minimise import solve
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.walk import walk
from kmpe.starts.ridge import RidgeStart


def inputs(n, d=20, dtype=np.float64, outliers=0.1, seed=0):
    """Return X, y: a smooth function of three inputs, noise, and a share of outliers."""
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.sin(X[:, 0]) + X[:, 1 % d] * X[:, 2 % d] + 0.1 * rng.standard_normal(n)
    bad = rng.uniform(size=n) < outliers
    y[bad] += rng.normal(5, 5, np.count_nonzero(bad))
    return X, y.astype(dtype)


def hidden(X, n_hidden, seed=1):
    """Return H, computed by all cores."""
    layer = HiddenLayer.draw(X.shape[1], n_hidden, "sigmoid", np.random.RandomState(seed), X.dtype)
    return Rows.inputs(X, layer).stored(X.dtype).X


def ridge_problem(H, y, alpha):
    """Return the ridge problem on the rows of H."""
    return Ridge.of(Rows.of(H, np.asarray(y, np.float64)[:, None]), alpha)


def fit_ridge(problem, loss, max_iter=100, tol=1e-8):
    """Fit a ridge problem from an annealed start, as the machines do with a given loss."""
    end = partial(solve, max_iter=max_iter, tol=tol)
    return walk(problem, RidgeStart(loss, "robust"), GivenLoss(loss), end).fit


def fixed_point(problem, loss, max_iter=100, tol=1e-8):
    """Reweight all rows from an annealed start: the paper's fixed point with steps that descend."""
    ridge = problem.solve(problem.weighted(problem.zero, Squared()))
    loss, theta = anneal(problem, loss, ridge)
    return reweight(problem, loss, theta, max_iter=max_iter, tol=tol)
