"""A blend of losses: a sum, and its fit the mean of the fits of its parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmpe import KMPE, Blend, Correntropy, Huber, Squared
from kmpe.choice.slope import mean_slope
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.reweighted import reweight

PARTS = (Squared(), Huber(sigma=0.7), KMPE(p=4, sigma=2.0))


@given(s=st.floats(1e-100, 1e6), factors=st.tuples(*[st.floats(0.01, 10)] * 3))
def test_it_is_the_sum_of_its_parts(s, factors):
    blend = Blend(PARTS, factors)
    for f in ("rho", "weight", "curvature", "psi", "psi_derivative"):
        parts = [c * getattr(loss, f)(s) for c, loss in zip(factors, PARTS, strict=True)]
        scale = sum(map(abs, parts))
        assert getattr(blend, f)(s) == pytest.approx(sum(parts), rel=1e-12, abs=1e-12 * scale)


@pytest.mark.parametrize("noise", ["normal", "laplace", "uniform"])
def test_its_fit_is_the_mean_of_the_fits_weighed_by_their_slopes(noise):
    """Each fit is θ + (Σ hhᵀ)⁻¹ Σ ψ h / E[ψ'] to first order: influences add up, slopes too."""
    rng = np.random.default_rng(0)
    n, k = 5000, 3
    parts = (Squared(), Huber(sigma=0.7), Correntropy(sigma=1.5))
    H = rng.normal(size=(n, k))
    v = {"normal": rng.normal, "laplace": rng.laplace, "uniform": rng.uniform}[noise](size=n)
    v -= 0.5 * (noise == "uniform")
    problem = Ridge.of(Rows.of(H, v[:, None]))
    factors = (0.3, 1.0, 2.0)

    def fit(loss):
        return reweight(problem, loss, problem.zero, max_iter=500, tol=1e-12).theta

    fits = [fit(loss) for loss in parts]
    s = problem.squared_residuals(fits[1])
    slopes = [c * mean_slope(p, s, np.ones(n), 1) for c, p in zip(factors, parts, strict=True)]
    mean = np.average(fits, axis=0, weights=slopes)
    blended = fit(Blend(parts, factors))
    gap = np.abs(blended - mean).max()
    assert gap < 0.1 * max(np.abs(one - other).max() for one in fits for other in fits)
    # And not just any mean: that of equal weights is further away.
    assert gap < 0.3 * np.abs(blended - np.mean(fits, axis=0)).max()


def test_a_blend_of_one_is_that_loss():
    s = np.geomspace(1e-6, 1e3, 50)
    one = Blend((Correntropy(0.5),), (1.0,))
    np.testing.assert_array_equal(one.rho(s), Correntropy(0.5).rho(s))


def test_it_prints_three_parts_and_the_number_of_others():
    many = Blend((Squared(),) * 5, (1.0,) * 5)
    assert str(many) == "Blend(Squared(), Squared(), Squared() and 2 more)"
    assert str(Blend((Huber(1 / 3),), (1.0,))) == "Blend(Huber(sigma=0.3333))"


@pytest.mark.parametrize(
    ("losses", "factors", "sentence"),
    [
        ((Squared(),), (), "the same length"),
        ((), (), "at least 1"),
        ((Squared(),), (0.0,), r"factors=\(0.0,\) must be numbers above 0"),
        ((Huber(),), (1.0,), "every sigma must be a number"),
    ],
)
def test_blends_that_are_none_are_refused(losses, factors, sentence):
    with pytest.raises(ValueError, match=sentence):
        Blend(losses, factors)
