"""The mean slope E[ψ'] of a loss."""

import numpy as np
import pytest

from every_loss import LOSSES, name
from kmpe.choice.slope import mean_slope
from kmpe.losses import KMPE, MPE, Correntropy, Squared

RNG = np.random.default_rng(0)
A = RNG.uniform(size=300)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_for_one_target_it_is_the_mean_of_psi_prime(loss):
    r = 0.2 + 0.3 * RNG.uniform(size=300)
    expected = np.average(loss.psi_derivative(r), weights=A)
    least = 0.25 * np.average(loss.weight(r * r), weights=A)
    assert mean_slope(loss, r * r, A, 1) == pytest.approx(max(expected, least))


@pytest.mark.parametrize("q", [1, 2, 5])
def test_for_several_targets_it_is_the_mean_over_their_directions(q):
    """A row moved by h along each axis: the mean change of ψ along that axis."""
    loss, E, h = Correntropy(2.0), RNG.normal(size=(300, q)), 1e-5
    psi = lambda E: loss.weight((E**2).sum(axis=1))[:, None] * E  # noqa: E731
    slopes = [
        (psi(E + h * axis) - psi(E - h * axis))[:, j] / (2 * h) for j, axis in enumerate(np.eye(q))
    ]
    expected = np.average(np.mean(slopes, axis=0), weights=A)
    assert mean_slope(loss, (E**2).sum(axis=1), A, q) == pytest.approx(expected, rel=1e-5)


def test_it_is_one_for_least_squares_and_never_hardly_positive():
    s = RNG.chisquare(1, 300)
    assert mean_slope(Squared(), s, A, 1) == 1
    beyond = KMPE(p=2, sigma=0.5)  # most residuals lie where ψ falls
    w = np.average(beyond.weight(s), weights=A)
    assert mean_slope(beyond, s + 1, A, 1) >= 0.25 * np.average(beyond.weight(s + 1), weights=A) > 0
    assert w > 0


@pytest.mark.parametrize("loss", [MPE(1.0), MPE(0.6), KMPE(p=1, sigma=1.0)], ids=name)
def test_a_singular_loss_does_not_follow_the_smallest_residual(loss):
    s = RNG.chisquare(1, 300)
    met = s.copy()
    met[np.argmin(s)] = 0.0
    assert mean_slope(loss, met, A, 1) == pytest.approx(mean_slope(loss, s, A, 1), rel=0.05)
