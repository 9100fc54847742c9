"""The posterior of the noise: it names what it sees, and ties never make it narrow."""

import numpy as np
import pytest

from kmpe import Correntropy, Huber, Tukey
from kmpe.choice.noise import GRID, granularity, infer
from kmpe.starts.bisquare import efficiency

N = 2000


def drawn(name, n=N, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "Gaussian": lambda: rng.normal(size=n),
        "Laplace": lambda: rng.laplace(size=n),
        "uniform": lambda: rng.uniform(-1, 1, n),
        "sine wave": lambda: np.sin(rng.uniform(0, 2 * np.pi, n)),
        "Student's t with 3 degrees of freedom": lambda: rng.standard_t(3, n),
        "Cauchy": lambda: rng.standard_cauchy(n),
        "Gaussian with 10% outliers": lambda: np.where(
            rng.uniform(size=n) < 0.1, rng.normal(0, 10, n), rng.normal(size=n)
        ),
    }[name]()


@pytest.mark.parametrize(
    "name",
    [
        "Gaussian",
        "Laplace",
        "uniform",
        "sine wave",
        "Student's t with 3 degrees of freedom",
        "Cauchy",
        "Gaussian with 10% outliers",
    ],
)
def test_many_residuals_name_their_noise(name):
    noise = infer(drawn(name), np.ones(N))
    assert next(iter(noise.probability)) == name
    assert str(noise).startswith(f"{name}, ")
    assert sum(noise.probability.values()) == pytest.approx(1)


def test_the_mean_density_has_mass_one():
    noise = infer(drawn("Laplace"), np.ones(N))
    mass = 2 * np.trapezoid(np.exp(noise.log_density) * GRID, np.log(GRID))
    assert mass == pytest.approx(1, abs=0.02)


def test_the_unit_of_the_residuals_does_not_matter():
    r = drawn("Laplace", 100)
    one, other = infer(r, np.ones(100)), infer(1e6 * r, np.ones(100))
    assert other.sigma == pytest.approx(1e6 * one.sigma)
    np.testing.assert_allclose(one.log_density, other.log_density, atol=1e-9)


def test_weights_are_repeats():
    r, a = drawn("Gaussian", 60), np.random.default_rng(2).integers(0, 4, 60)
    weighed, repeated = infer(r, a.astype(float)), infer(np.repeat(r, a), np.ones(a.sum()))
    np.testing.assert_allclose(weighed.log_density, repeated.log_density, atol=1e-9)


def test_far_outliers_say_nothing_of_the_core():
    r = drawn("Gaussian", 500)
    r[:50] = 100.0 * np.sign(r[:50])
    far = r.copy()
    far[:50] *= 1e6
    one, other = infer(r, np.ones(500)), infer(far, np.ones(500))
    assert one.probability == pytest.approx(other.probability)
    assert next(iter(one.probability)) != "Cauchy"


@pytest.mark.parametrize("distance", [20, 100])
@pytest.mark.parametrize("seed", range(3))
def test_far_outliers_do_not_flatten_the_core(distance, seed):
    """A density of outliers in units of the core's scale takes the Gaussian core for a flat one."""
    r = drawn("Gaussian", seed=seed)
    r[:400] += distance * np.sign(r[:400])
    assert next(iter(infer(r, np.ones(N)).probability)) == "Gaussian with 25% outliers"


@pytest.mark.parametrize("zeros", [0.3, 0.6, 0.8])
def test_ties_do_not_make_the_noise_narrow(zeros):
    rng = np.random.default_rng(0)
    r = np.where(rng.uniform(size=200) < zeros, 0.0, rng.normal(size=200))
    noise = infer(r, np.ones(200))
    assert noise.grain == pytest.approx(np.mean(r == 0))
    assert noise.sigma > 0.3
    # Within the grain the density hardly rises: no loss follows single rows.
    inside = noise.log_density[noise.grain > GRID]
    assert inside.max() - inside.min() < 1.5


def test_granularity_is_the_share_of_the_commonest_value():
    assert granularity(np.array([1.0, 1.0, 2.0, 3.0]), np.ones(4)) == 0.5
    assert granularity(np.array([1.0, 2.0]), np.array([3.0, 1.0])) == 0.75


def test_the_variance_of_a_loss_is_that_of_theory():
    """On Gaussian noise Tukey's loss has the efficiency of `efficiency`, 95% at 4.685.

    So have Huber's at 1.345 and the correntropic one at 2.11.
    """
    r = np.random.default_rng(0).normal(size=20_000)
    noise = infer(r, np.ones(len(r)))
    plain = Tukey(4.685)
    for c in (2.0, 3.0, 6.0):
        theory = 0.95 / efficiency(1, c)
        assert noise.variance_ratio(Tukey(c), plain) == pytest.approx(theory, rel=0.01)
    assert noise.variance_ratio(Huber(1.345), plain) == pytest.approx(1, abs=0.01)
    assert noise.variance_ratio(Correntropy(2.11), plain) == pytest.approx(1, abs=0.01)


def test_beside_a_plain_loss_that_rejects_most_rows_there_is_a_ratio_all_the_same():
    """Its mean slope is negative under some shapes, and counts as none."""
    noise = infer(np.random.default_rng(0).uniform(-1, 1, size=8), np.ones(8))
    narrow = Tukey(0.3 * noise.sigma)
    assert 0 < noise.variance_ratio(Huber(noise.sigma), narrow) < np.inf


def test_a_plain_loss_that_suits_no_shape_is_no_reason_to_divide_by_zero():
    noise = infer(np.random.default_rng(0).uniform(-1, 1, size=400), np.ones(400))
    assert 0 < noise.variance_ratio(Huber(1.0), Tukey(0.1)) < 1e-6
