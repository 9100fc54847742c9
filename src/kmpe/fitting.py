"""The robust ridge fit: its start, and the choice of the solver that ends it.

Every estimator on features comes here; which solver runs is decided here and nowhere else.
"""

import numpy as np

from kmpe.losses import Loss
from kmpe.problems.ridge import Ridge
from kmpe.scale import Array
from kmpe.solve import Fit, anneal, resolve, reweight

__all__ = ["INITS", "fit_ridge"]

INITS = ("robust", "ridge", "zero")


def fit_ridge(
    problem: Ridge,
    loss: Loss,
    *,
    init: str = "robust",
    theta: Array | None = None,
    max_iter: int = 100,
    tol: float = 1e-8,
    seed: int = 0,  # noqa: ARG001 - of the sample of rows
) -> Fit[Array]:
    """Minimise ½ Σ aᵢ ρ(‖tᵢ - hᵢβ‖²) + ½ α ‖β‖² over β.

    Parameters
    ----------
    problem : Ridge
        The rows and α.
    loss : Loss
        ρ; its σ may be a rule, which is then asked on the way and frozen.
    init : {"robust", "ridge", "zero"}
        "robust" starts from a ridge fit and brings σ down from the largest residual to its
        value; "ridge" leaves out the second part; "zero" is Algorithm 1 as printed.
    theta : array, optional
        Where to start instead, in the problem's own parameters.
    max_iter, tol
        As in `reweight`.
    seed : int
        Seed of the sample of rows.

    Returns
    -------
    Fit
        Its ``theta`` is the problem's parameter: ``problem.coefficients(fit.theta)`` is β.
    """
    as_printed = init == "zero" and theta is None
    if theta is None:
        loss, start = _start(problem, loss, init)
    else:
        start = theta
    loss = resolve(problem, loss, start)
    return reweight(problem, loss, start, max_iter=max_iter, tol=tol, as_printed=as_printed)


def _start(problem: Ridge, loss: Loss, init: str) -> tuple[Loss, Array]:
    if init == "zero":
        return loss, problem.zero
    ridge = problem.solve(np.ones(len(problem.rows)), problem.zero)
    return anneal(problem, loss, ridge) if init == "robust" else (loss, ridge)
