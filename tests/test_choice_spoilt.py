"""Which errors are spoilt: heavy tails and outliers are told apart, in any unit and on any side."""

import numpy as np
import pytest

from kmpe.choice.spoilt import _Student, judged


def probably_good(e, a):
    return judged(e, a).good


def drawn(seed, freedom, n=500):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) if freedom == np.inf else rng.standard_t(freedom, size=n)


@pytest.mark.parametrize(("freedom", "least"), [(np.inf, 1.0), (4.0, 1.0), (3.0, 1.0), (2.0, 0.8)])
def test_tails_of_good_rows_are_no_outliers(freedom, least):
    for seed in range(20):
        assert probably_good(drawn(seed, freedom), np.ones(500)).mean() >= least


SKEWED = {
    "exponential": lambda rng, n: rng.exponential(size=n),
    "gamma": lambda rng, n: rng.gamma(2, size=n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "Poisson": lambda rng, n: rng.poisson(1, n) + 0.3 * rng.normal(size=n),
}


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("name", SKEWED)
def test_a_long_tail_on_one_side_is_no_outlier(name, unbiased):
    for seed in range(10):
        e = SKEWED[name](np.random.default_rng(seed), 500)
        for sign in (-1, 1):
            good = judged(sign * (e - e.mean()), np.ones(500), unbiased=unbiased).good
            assert good.mean() > 0.99


@pytest.mark.parametrize("name", SKEWED)
def test_outliers_beside_a_long_tail_are_found(name):
    rng = np.random.default_rng(0)
    e, bad = SKEWED[name](rng, 500), np.arange(500) < 100
    e[bad] += 100 + 5 * rng.normal(size=100)
    good = probably_good(e, np.ones(500))
    assert good[bad].max() < 0.05
    assert good[~bad].mean() > 0.97


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("freedom", [np.inf, 4.0])
def test_mode_and_scales_are_those_of_the_largest_likelihood(freedom, unbiased):
    rng = np.random.default_rng(0)
    z = rng.gamma(2, size=300)
    z, mass = z - z.mean() + 1.0 * unbiased, rng.uniform(size=300)
    found = _Student(0.0, 1.0, 1.0, freedom)
    likelihoods = []
    for _ in range(300):
        likelihoods.append(mass @ found.log_density(z))
        found = found.skewed_step(z, mass, unbiased=unbiased)
    assert np.diff(likelihoods).min() > -1e-9
    assert found.right > 1.3 * found.left
    best = mass @ found.log_density(z)
    for name in ("left", "right", *(() if unbiased else ("mode",))):
        for factor in (0.99, 1.01):
            other = found._replace(**{name: factor * getattr(found, name)})
            assert mass @ other.log_density(z) < best
    x = np.linspace(-400, 400, 2_000_001)
    density = np.exp(found.log_density(x))
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-4)
    mean = found.mode + found._mean_distance() * (found.right - found.left)
    assert np.trapezoid(density * x, x) == pytest.approx(mean, abs=1e-3)
    assert found.mode < 0 < mean + 0.1


def test_ties_are_no_reason_to_doubt_the_other_rows():
    """Two thirds of the targets are 0 and met closely, as by a tree; the others are positive."""
    rng = np.random.default_rng(0)
    e = np.where(np.arange(600) < 400, 0.01 * rng.normal(size=600), rng.exponential(size=600))
    believed = judged(e, np.ones(600), grain=2 / 3).good[400:].mean()
    assert believed > judged(e, np.ones(600)).good[400:].mean() + 0.5
    e[500:] += 40
    good = judged(e, np.ones(600), grain=2 / 3).good
    assert good[500:].max() < 0.01
    assert good[:500].mean() > 0.9


@pytest.mark.parametrize("freedom", [np.inf, 3.0])
@pytest.mark.parametrize("kind", ["wide", "up"])
def test_outliers_are_found_beside_any_tail(freedom, kind):
    for seed in range(5):
        e, bad = drawn(seed, freedom), np.arange(500) < 100
        e[bad] += 100 * drawn(seed + 50, np.inf, 100) if kind == "wide" else 80.0
        good = probably_good(e, np.ones(500))
        far = bad & (np.abs(e) > 20)
        assert good[far].max() < 0.1
        assert good[~bad].mean() > 0.97


def test_rows_between_the_others_and_outliers_on_one_side_are_spoilt():
    e, bad = drawn(0, 3.0), np.arange(500) < 100
    e[bad] = 80.0 + 0.1 * np.arange(100)
    e[:5] = [45.0, 55.0, 60.0, 65.0, 70.0]
    assert probably_good(e, np.ones(500))[bad].max() < 0.2


def test_unit_origin_and_order_do_not_matter_and_weights_are_repeats():
    rng = np.random.default_rng(0)
    e = drawn(0, 4.0)
    e[:60] += 30 * rng.normal(size=60)
    good = probably_good(e, np.ones(500))
    for unit in (-1e-9, 1e9):
        moved = probably_good(unit * (e + 5), np.ones(500))
        np.testing.assert_allclose(moved, good, atol=1e-6)
    order = rng.permutation(500)
    np.testing.assert_allclose(probably_good(e[order], np.ones(500)), good[order], atol=1e-9)
    counts = rng.integers(0, 3, 500).astype(float)
    repeated = probably_good(np.repeat(e, counts.astype(int)), np.ones(int(counts.sum())))
    once = probably_good(e, counts)
    np.testing.assert_allclose(np.repeat(once, counts.astype(int)), repeated, atol=1e-9)


@pytest.mark.parametrize("far", [1e3, 1e100])
def test_exact_predictions_and_errors_beyond_all_bounds(far):
    e = np.zeros(100)
    e[:10] = far * np.arange(1, 11)
    good = probably_good(e, np.ones(100))
    assert np.isfinite(good).all()
    np.testing.assert_array_equal(good[10:] > 0.5, True)


def test_a_known_spread_belongs_to_good_rows_and_not_to_spoilt_ones():
    rng = np.random.default_rng(0)
    h = np.where(np.arange(600) < 120, 12.0, 1.0)
    e, bad = h * rng.normal(size=600), rng.random(600) < 0.1
    e[bad] += 120
    good, density, evidence = judged(e, np.ones(600), h)
    assert good[bad].max() < 0.01
    assert good[~bad].min() > 0.9
    assert density.sum() > evidence > judged(e, np.ones(600)).evidence + 100
    again = judged(e, np.ones(600), 3 * h)
    np.testing.assert_allclose(again.good, good, atol=1e-12)
    assert again.evidence == pytest.approx(evidence)
