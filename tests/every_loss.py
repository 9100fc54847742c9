"""One loss of every shape, for statements that hold for all of them."""

import numpy as np

from kmpe.losses import (
    KMPE,
    MPE,
    Blend,
    Cauchy,
    Correntropy,
    Huber,
    LogDensity,
    RiskSensitive,
    Squared,
    Trimmed,
    Tukey,
)

_R = np.geomspace(1e-4, 1e5, 2000)
TABLES = [
    LogDensity.of(_R, -np.log1p(_R**2), least=0.01),
    # Flat noise with a few outliers: the weight rises towards the edge and falls behind it.
    LogDensity.of(_R, np.logaddexp(-np.minimum(_R**6, 1e3), -5 - 2 * np.log1p(_R**2))),
]
LOSSES = [
    Squared(),
    *(MPE(p=p) for p in (0.5, 1, 1.5, 2, 3, 4, 10)),
    Huber(sigma=1),
    Cauchy(sigma=1),
    Tukey(sigma=1),
    Trimmed(sigma=1),
    RiskSensitive(sigma=1),
    Correntropy(sigma=1),
    *(KMPE(p=p, sigma=1) for p in (0.5, 1, 1.5, 2, 2.5, 3, 4, 10, 12)),
    Blend((Huber(sigma=1), Squared()), (2.0, 0.5)),
    Blend((KMPE(p=10, sigma=1), Cauchy(sigma=1), Tukey(sigma=1)), (5.0, 0.1, 0.1)),
    *TABLES,
]


def name(loss):
    """Return what pytest prints for a loss; two tables are told apart by their largest weight."""
    if isinstance(loss, LogDensity):
        return f"LogDensity, {'falling' if loss.weight(0.0) > 1.5 else 'rising'} weight"
    return repr(loss)
