"""The paper's synthetic regression problem."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kmpe.arrays import Array

__all__ = ["make_sinc"]


def make_sinc(
    n_samples: int = 200,
    *,
    noise: str | None = "uniform",
    outlier_share: float = 0.1,
    outlier_variance: float = 9.0,
    amplitude: float = 8.0,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Draw the paper's sinc data: y = 8 sin(x)/x + v, x uniform on [-10, 10].

    The noise is v = (1 - a) A + a B: A is the background, B an outlier drawn from a Gaussian,
    and a is 1 with probability ``outlier_share``.

    Parameters
    ----------
    n_samples : int
        The number of rows.
    noise : "uniform", "sine" or None
        Background A: uniform on [-1, 1], or sin(ω) with ω uniform on [0, 2π]. None gives the
        noise-free curve, without outliers, as the paper uses it for testing.
    outlier_share, outlier_variance : float
        The paper's c = 0.1, and the variance 9 of B.
    amplitude : float
        The paper's k.
    random_state : int, RandomState or None
        Seed.

    Returns
    -------
    X : array of shape (n_samples, 1)
    y : array of shape (n_samples,)

    See Also
    --------
    load : The real data of the paper.

    Examples
    --------
    >>> X, y = make_sinc(100, noise="sine", random_state=0)
    >>> X.shape, y.shape
    ((100, 1), (100,))
    """
    if noise not in ("uniform", "sine", None):
        raise ValueError(f'noise={noise!r} must be "uniform", "sine" or None')
    if not 0 <= outlier_share <= 1:
        raise ValueError(f"outlier_share={outlier_share!r} must lie between 0 and 1")
    if not 0 <= outlier_variance < np.inf:
        raise ValueError(f"outlier_variance={outlier_variance!r} must be 0 or above")
    rng = check_random_state(random_state)
    x = rng.uniform(-10, 10, n_samples)
    y = amplitude * np.sinc(x / np.pi)  # numpy's sinc is sin(πx) / πx
    if noise is not None:
        uniform = rng.uniform(-1, 1, n_samples)
        background = uniform if noise == "uniform" else np.sin(np.pi * uniform)
        outliers = rng.normal(0, np.sqrt(outlier_variance), n_samples)
        y = y + np.where(rng.uniform(size=n_samples) < outlier_share, outliers, background)
    return x[:, None], y
