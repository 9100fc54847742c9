"""Every loss keeps one contract, and KMPE has the paper's properties."""

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from kmpe import (
    KMPE,
    MPE,
    Blend,
    Cauchy,
    Correntropy,
    Huber,
    Loss,
    RiskSensitive,
    Squared,
    Trimmed,
    Tukey,
)
from kmpe.metrics import kmpe_loss

SHAPES = [
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
]
SCALED = [loss for loss in SHAPES if hasattr(loss, "sigma")]

every_loss = pytest.mark.parametrize("loss", SHAPES, ids=repr)
every_scaled_loss = pytest.mark.parametrize("loss", SCALED, ids=repr)

# From far inside to far outside, on both sides of the kinks of Huber and Tukey at 1.
GRID = np.concatenate([np.geomspace(1e-8, 0.999, 60), np.geomspace(1.001, 300, 40)])


def central_difference(f, s):
    h = 1e-5 * s
    return (f(s + h) - f(s - h)) / (2 * h)


@every_loss
def test_weight_is_the_derivative_of_rho(loss):
    np.testing.assert_allclose(central_difference(loss.rho, GRID), loss.weight(GRID), 1e-5, 1e-9)


@every_loss
def test_curvature_is_the_derivative_of_the_weight(loss):
    numeric = central_difference(loss.weight, GRID)
    scale = np.abs(loss.weight(GRID)) / GRID
    np.testing.assert_allclose(
        numeric / scale.clip(1e-300), loss.curvature(GRID) / scale.clip(1e-300), 1e-4, 1e-5
    )


@every_loss
def test_psi_and_its_derivative(loss):
    r = np.sqrt(GRID)
    cost = lambda r: loss.rho(r * r) / 2  # noqa: E731
    np.testing.assert_allclose(central_difference(cost, r), loss.psi(r), 1e-5, 1e-9)
    np.testing.assert_allclose(loss.psi(-r), -loss.psi(r))
    size = np.maximum(loss.weight(GRID), 1e-12)
    slope = central_difference(loss.psi, r)
    np.testing.assert_allclose(slope / size, loss.psi_derivative(r) / size, 1e-4, 1e-4)


@every_loss
def test_starts_at_zero_and_never_falls(loss):
    assert loss.rho(0.0) == 0
    assert np.all(loss.weight(GRID) >= 0)
    assert np.all(np.diff(loss.rho(GRID)) >= 0)


@every_loss
def test_concave_says_whether_the_weight_ever_rises(loss):
    rising = np.diff(loss.weight(GRID)) > 1e-12 * loss.weight(GRID[1:])
    assert loss.concave == (not rising.any())


@every_loss
def test_convex_says_whether_psi_ever_falls(loss):
    psi = loss.psi(np.sqrt(GRID))
    assert loss.convex == bool(np.all(np.diff(psi) >= -1e-12 * np.abs(psi[1:])))


@every_loss
@pytest.mark.parametrize("s", [0.0, 1e-300, 1e300])
def test_extreme_arguments_give_numbers(loss, s):
    for f in (loss.rho, loss.weight, loss.curvature, loss.psi, loss.psi_derivative):
        assert not np.isnan(f(s))
    grows = isinstance(loss, RiskSensitive) or (isinstance(loss, MPE) and loss.p > 2)
    if not (grows and s > 1):  # these two are infinite there, as they should be
        assert np.isfinite([loss.rho(s), loss.weight(s), loss.curvature(s)]).all()


@every_loss
def test_sup_bounds_rho_and_is_reached(loss):
    assert np.all(loss.rho(GRID) <= loss.sup)
    if np.isfinite(loss.sup):
        assert loss.rho(1e6) == pytest.approx(loss.sup)


@every_scaled_loss
@given(sigma=st.floats(1e-3, 1e3), s=st.floats(0, 100))
def test_scale_is_applied_as_sigma_squared(loss, sigma, s):
    scaled = type(loss)(**{**loss.get_params(), "sigma": sigma})
    assert scaled.rho(sigma**2 * s) == pytest.approx(sigma**2 * loss.rho(s), rel=1e-9)
    assert scaled.weight(sigma**2 * s) == pytest.approx(loss.weight(s), rel=1e-9)
    assert scaled.curvature(sigma**2 * s) == pytest.approx(loss.curvature(s) / sigma**2, rel=1e-9)


@pytest.mark.parametrize("p", [0.5, 1, 3, 4, 10])
def test_a_wide_kernel_makes_kmpe_a_power(p):
    s = np.geomspace(1e-6, 10, 30)
    sigma = 1e5
    same_slope = (2 * sigma**2) ** (p / 2 - 1)  # KMPE's weight is (s / 2σ²)^(p/2 - 1)
    np.testing.assert_allclose(KMPE(p, sigma).weight(s) * same_slope, MPE(p).weight(s), 1e-6)


def test_kmpe_with_power_two_is_the_correntropic_loss():
    for f in ("rho", "weight", "curvature"):
        ours, theirs = getattr(KMPE(2, 0.7), f)(GRID), getattr(Correntropy(0.7), f)(GRID)
        np.testing.assert_allclose(ours, theirs, rtol=1e-14)


def test_small_residuals_keep_their_digits():
    s = 1e-20
    assert Correntropy(1.0).rho(s) == pytest.approx(s, rel=1e-14)
    assert KMPE(4, 1.0).weight(s) == pytest.approx(s / 2, rel=1e-14)


def test_smallest_numbers_give_a_finite_weight_that_falls():
    s = np.array([0, 1e-320, 1e-200, 1e-100, 1e-20])
    for loss in (KMPE(0.5, 1.0), MPE(1.0)):
        assert np.all(np.diff(loss.weight(s)) <= 0)
        assert np.all(np.diff(loss.rho(s)) > 0) or loss.rho(1e-320) == pytest.approx(0, abs=1e-80)


# -- parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [0, -1, np.nan, np.inf, "wide", None, True, [1.0]])
@pytest.mark.parametrize(
    "make",
    [
        lambda v: KMPE(p=v),
        lambda v: KMPE(sigma=v),
        lambda v: Huber(sigma=v),
        lambda v: MPE(p=v),
        lambda v: KMPE().set_params(sigma=v),
    ],
)
def test_bad_parameters_are_named_with_advice(make, bad):
    with pytest.raises(ValueError, match=r"(p|sigma)=.* must be a number above 0"):
        make(bad)


def test_unknown_parameter_is_named():
    with pytest.raises(ValueError, match="KMPE has no parameter 'width'; it has p, sigma"):
        KMPE().set_params(width=1)


def test_a_loss_prints_four_digits_and_its_repr_all():
    loss = KMPE(p=4, sigma=1 / 3)
    assert str(loss) == "KMPE(p=4, sigma=0.3333)"
    assert repr(loss) == "KMPE(p=4, sigma=0.3333333333333333)"
    assert str(Huber("mad")) == "Huber(sigma='mad')"
    assert str(Squared()) == "Squared()"


def test_losses_are_immutable_values():
    with pytest.raises(AttributeError):
        KMPE().p = 3
    assert KMPE(4, 0.8) == KMPE(4, 0.8) != KMPE(4, 0.9)
    assert len({KMPE(4, 0.8), KMPE(4, 0.8), Correntropy(0.8)}) == 2


@every_loss
def test_cloning_copying_and_pickling_keep_a_loss(loss):
    for same in (clone(loss), copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        assert same == loss
        assert same is not loss


def test_a_rule_must_be_resolved_before_use():
    loss = KMPE(p=4, sigma="mad")
    with pytest.raises(ValueError, match="call resolve"):
        loss.weight(1.0)
    resolved = loss.resolve(np.array([1.0, 4.0, 9.0]))
    assert resolved.sigma == pytest.approx(2.11 * 2 / 0.6745, rel=1e-3)
    assert resolved.resolve(np.array([100.0])) is resolved


@pytest.mark.parametrize("loss", [Huber(), Cauchy(), Tukey(), Correntropy()], ids=repr)
def test_efficient_means_95_percent_of_least_squares(loss):
    r = np.linspace(-10, 10, 200_001)
    density = np.exp(-r * r / 2) / np.sqrt(2 * np.pi) * (r[1] - r[0])
    loss = type(loss)(sigma=loss.efficient)
    variance = (loss.psi(r) ** 2 @ density) / (loss.psi_derivative(r) @ density) ** 2
    assert 1 / variance == pytest.approx(0.95, abs=2e-3)


# -- the paper's properties ------------------------------------------------------------------

powers = st.floats(0.5, 12)
widths = st.floats(0.05, 20)
# Squares of numbers below 1e-150 are no longer normal numbers: those are zero here.
vectors = st.lists(st.floats(-5, 5), min_size=1, max_size=20).map(
    lambda values: np.where(np.abs(values) < 1e-100, 0.0, values)
)


@given(x=vectors, p=powers, sigma=widths, seed=st.integers(0, 99))
def test_property_1_symmetric(x, p, sigma, seed):
    y = np.random.default_rng(seed).permutation(x)
    assert kmpe_loss(x, y, p=p, sigma=sigma) == kmpe_loss(y, x, p=p, sigma=sigma)


@given(x=vectors, y=vectors, p=powers, sigma=widths)
def test_property_2_between_zero_and_one(x, y, p, sigma):
    n = min(len(x), len(y))
    value = kmpe_loss(x[:n], y[:n], p=p, sigma=sigma)
    assert 0 <= value <= 1  # 1 itself only by rounding
    assert kmpe_loss(x, x, p=p, sigma=sigma) == 0
    if np.abs(x[:n] - y[:n]).max() > sigma:
        assert value > 0


@given(e=vectors.filter(lambda e: np.abs(e).min() > 1e-3), sigma=st.floats(0.1, 5))
def test_property_3_small_power(e, sigma):
    p = 1e-5
    first_order = 1 + p / 2 * np.mean(np.log(-np.expm1(-(e**2) / (2 * sigma**2))))
    assert kmpe_loss(e, 0 * e, p=p, sigma=sigma) == pytest.approx(first_order, abs=1e-7)


@given(e=vectors, p=st.floats(0.5, 6))
def test_properties_4_and_7_a_wide_kernel_gives_the_p_norm(e, p):
    sigma = 1e4
    norm = np.mean(np.abs(e) ** p) / (np.sqrt(2) * sigma) ** p
    assert kmpe_loss(e, 0 * e, p=p, sigma=sigma) == pytest.approx(norm, rel=1e-6)


def test_property_7_small_errors_give_the_p_norm():
    e = np.array([1e-6, -3e-6])
    norm = np.mean(np.abs(e) ** 3) / np.sqrt(2) ** 3
    assert kmpe_loss(e, 0 * e, p=3, sigma=1) == pytest.approx(norm, rel=1e-9)


@given(e=st.floats(-5, 5), p=powers, sigma=st.floats(0.2, 5))
def test_equation_8_is_the_derivative_of_psi(e, p, sigma):
    kernel = np.exp(-(e**2) / (2 * sigma**2))
    gap = -np.expm1(-(e**2) / (2 * sigma**2))
    if gap < 1e-12:
        return
    braces = (p - 2) * e**2 * kernel - 2 * e**2 * gap + 2 * sigma**2 * gap
    xi = p / (4 * sigma**4) * gap ** ((p - 4) / 2) * kernel * braces
    ours = p / (2 * sigma**2) * KMPE(p, sigma).psi_derivative(e)
    size = p / sigma**4 * gap ** ((p - 4) / 2) * kernel * (e**2 + sigma**2) * gap
    assert ours == pytest.approx(xi, rel=1e-8, abs=1e-9 * size)


@given(e=st.floats(-1, 1), p=st.floats(2, 12), sigma=widths)
def test_property_5_convex_within_sigma(e, p, sigma):
    assert KMPE(p, sigma).psi_derivative(sigma * e) >= -1e-12


@given(t=st.floats(1.01, 6), sigma=widths, more=st.floats(0, 5))
def test_property_6_a_large_power_is_convex_beyond_sigma(t, sigma, more):
    e2, kernel, gap = (t * sigma) ** 2, np.exp(-(t**2) / 2), -np.expm1(-(t**2) / 2)
    least = 2 * (e2 - sigma**2) * gap / (e2 * kernel) + 2  # (9)
    assert KMPE(least * (1 + 1e-9) + more, sigma).psi_derivative(t * sigma) >= 0
    assert KMPE(least * (1 - 1e-3), sigma).psi_derivative(t * sigma) <= 0


@given(x=st.lists(st.sampled_from([0.0, 0.5, -1.0, 3.0]), min_size=1, max_size=12), p=powers)
def test_property_8_a_narrow_kernel_counts_what_is_not_zero(x, p):
    x = np.array(x)
    assert kmpe_loss(x, 0 * x, p=p, sigma=1e-2) == pytest.approx(np.mean(x != 0))


@pytest.mark.parametrize(
    ("losses", "factors", "sentence"),
    [
        ((Squared(),), (), "equally many"),
        ((), (), "at least one"),
        ((Squared(),), (0.0,), r"factors=\(0.0,\) must be numbers above 0"),
        ((Huber(),), (1.0,), "every sigma must be a number"),
    ],
)
def test_blends_that_are_none_are_refused(losses, factors, sentence):
    with pytest.raises(ValueError, match=sentence):
        Blend(losses, factors)


def test_every_public_loss_is_under_the_contract():
    import kmpe

    public = {v for v in vars(kmpe).values() if isinstance(v, type) and issubclass(v, Loss)}
    assert public - {Loss} == {type(loss) for loss in SHAPES}
