"""The six PCA methods of the paper, and two others to compare with."""

import copy
from collections.abc import Sequence
from typing import Any

from sklearn.decomposition import PCA

from kmpe import KMPE, MPE, PCAL1, Cauchy, Correntropy, RobustPCA, Squared
from kmpe.paper.settings import settings

__all__ = ["PEERS", "fit_methods"]

#: The package's own default, and scikit-learn's PCA.
PEERS = ("RobustPCA()", "scikit-learn PCA")


def fit_methods(X: Any, components: Sequence[int], seed: int) -> dict[str, dict[int, Any]]:
    """Return every method fitted with each number of components.

    All of the paper's methods start from plain PCA, as Algorithm 2 does. If the weights do not
    depend on m (they are learnt in m_r dimensions, or there are none), the components are nested:
    one fit with the largest m gives them for every smaller m.
    """
    pca = settings()["pca"]
    m, m_r = max(components), pca["m_r"]

    def learnt_in_m_r(loss: Any) -> RobustPCA:
        return RobustPCA(m, loss=loss, n_robust_components=m_r, init="pca")

    nested = {
        "PCA": RobustPCA(m, loss=Squared(), init="pca"),
        "PCA-L1": PCAL1(m, n_starts=1, random_state=seed),
        "HQ-PCA": learnt_in_m_r(Correntropy("silverman")),
        # The generalised mean of squared errors with exponent q is the mean 2q-power error.
        "PCA-GM": learnt_in_m_r(MPE(2 * pca["generalised_mean"])),
        "PCA-KMPE": learnt_in_m_r(KMPE(pca["p"], "silverman")),
        "RobustPCA()": RobustPCA(m, random_state=seed),
        "scikit-learn PCA": PCA(m, svd_solver="full"),
    }
    found = {}
    for method, model in nested.items():
        model.fit(X)
        found[method] = {k: _leading(model, k) for k in components}
    found["R1-PCA"] = {k: _r1_pca(k).fit(X) for k in components}
    return found


def _r1_pca(m: int) -> RobustPCA:
    """Return R1-PCA: Cauchy's weight, its constant the median residual of plain PCA.

    30 iterations: with hundreds of components of a few hundred rows the residuals are nearly zero
    and the weights converge slowly, with no effect on the clusters of Table 9.
    """
    loss = Cauchy("median")
    return RobustPCA(m, loss=loss, n_robust_components=m, init="pca", max_iter=30)


def _leading(model: Any, m: int) -> Any:
    """Return a fitted PCA with its first m components only."""
    smaller = copy.copy(model)
    smaller.components_ = model.components_[:m]
    return smaller
