"""Losses of robust statistics: their constants, and limits that they share with others."""

import numpy as np
import pytest
from scipy import stats

from kmpe import MPE, Cauchy, Correntropy, Huber, RiskSensitive, Squared, Trimmed, Tukey


@pytest.mark.parametrize("loss", [Huber(), Cauchy(), Tukey(), Correntropy()], ids=repr)
def test_efficient_means_95_percent_of_least_squares(loss):
    r = np.linspace(-10, 10, 200_001)
    density = stats.norm.pdf(r) * (r[1] - r[0])
    loss = type(loss)(sigma=loss.efficient)
    variance = (loss.psi(r) ** 2 @ density) / (loss.psi_derivative(r) @ density) ** 2
    assert 1 / variance == pytest.approx(0.95, abs=2e-3)


def test_the_trimmed_loss_drops_one_clean_gaussian_row_in_two_hundred():
    assert 2 * stats.norm.sf(Trimmed.efficient) == pytest.approx(0.005, abs=5e-5)


@pytest.mark.parametrize("loss", [Huber, Cauchy, Tukey, RiskSensitive, Correntropy])
def test_at_a_large_scale_they_are_least_squares(loss):
    s = np.geomspace(1e-6, 10, 30)
    np.testing.assert_allclose(loss(sigma=1e5).rho(s), Squared().rho(s), rtol=1e-7)


def test_at_a_small_scale_huber_is_least_absolute_deviations():
    s = np.geomspace(0.01, 10, 30)
    np.testing.assert_allclose(Huber(sigma=1e-6).weight(s) / 1e-6, MPE(p=1).weight(s), rtol=1e-9)


def test_the_trimmed_loss_is_least_squares_for_what_it_keeps():
    s = np.linspace(0, 0.97, 20)
    np.testing.assert_array_equal(Trimmed(sigma=1).rho(s), s)
    assert not Trimmed(sigma=1).weight([1.0, 1.5, 1e6]).any()
