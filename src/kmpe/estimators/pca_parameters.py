"""Parameters of a RobustPCA: their validation, and the start they define."""

from typing import Any

from sklearn.utils import check_random_state

from kmpe.estimators.inputs import check_number, check_verbose, check_whole_number, is_whole
from kmpe.estimators.projection import check_components
from kmpe.estimators.scaling import SCALES
from kmpe.losses import Loss
from kmpe.problems.pca import Points
from kmpe.starts.pca import PCAStart, most_dimensions

__all__ = ["check_parameters", "start_of"]

_INITS = ("robust", "pca")


def start_of(model: Any, rows: Points, *, robust: bool) -> PCAStart:
    """Return the start, with m_r if the number of components is given."""
    m, m_r = model.n_components, model.n_robust_components
    if m_r is None and is_whole(m) and m < rows.d:
        m_r = min(m, most_dimensions(rows))
    wanted = model.n_robust_components or m
    # Otherwise the number of components that explains 80% of the variance of the central rows.
    share = 0.8 if m is None or is_whole(m) else m
    return PCAStart(
        robust=robust,
        n_components=m_r,
        most=most_dimensions(rows),
        share=None if share == "auto" else float(share),
        n_wanted=wanted if is_whole(wanted) else 1,
        seed=int(check_random_state(model.random_state).randint(2**31 - 1)),
    )


def check_parameters(model: Any, shape: tuple[int, ...]) -> None:
    """Refuse invalid parameters, or those that do not fit the shape of the data."""
    if not (model.loss is None or isinstance(model.loss, Loss)):
        raise ValueError(f"loss={model.loss!r} must be None or a loss such as kmpe.KMPE(p=10)")
    if model.init not in _INITS:
        raise ValueError(f"init={model.init!r} must be one of {', '.join(_INITS)}")
    if model.scale not in (None, *SCALES):
        raise ValueError(f"scale={model.scale!r} must be None or one of {', '.join(SCALES)}")
    check_components("n_components", model.n_components, shape, share=True, auto=True)
    check_components("n_robust_components", model.n_robust_components, shape, share=False)
    check_whole_number("max_iter", model.max_iter)
    check_number("tol", model.tol)
    check_verbose(model.verbose)
