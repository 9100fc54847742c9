"""The scale of a given loss: a number stays, a rule settles, on a sample where rows are many."""

import numpy as np
import pytest

from kmpe.choice.scale import GivenLoss
from kmpe.losses import KMPE, Correntropy, Huber, Tukey
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.annealing import settle
from kmpe.solvers.walk import Begun
from kmpe.starts.ridge import RidgeStart

TRUTH = np.arange(1.0, 7)[:, None]


def begun(n, loss, share=0.1, unit=1.0):
    rng = np.random.default_rng(0)
    H = rng.normal(size=(n, 6))
    T = H @ TRUTH + 0.3 * rng.normal(size=(n, 1))
    T[rng.permutation(n)[: int(share * n)]] += 30
    return RidgeStart(loss, "robust")(Ridge.of(Rows.of(H, unit * T), 1e-6))


@pytest.mark.parametrize("n", [100, 20_000])
def test_a_number_stays_what_it_is(n):
    start = begun(n, KMPE(p=4, sigma=0.7))
    chosen = GivenLoss(KMPE(p=4, sigma=0.7))(start)
    assert chosen.loss == KMPE(p=4, sigma=0.7)
    assert chosen.theta is start.theta


@pytest.mark.parametrize("n", [100, 20_000])
@pytest.mark.parametrize("rule", ["mad", "silverman"])
@pytest.mark.parametrize("loss", [Correntropy, Tukey, Huber])
def test_a_rules_answer_is_that_of_all_rows(n, loss, rule):
    """What a sample says is within its standard error of what all rows would."""
    start = begun(n, loss(rule))
    chosen = GivenLoss(loss(rule))(start)
    everywhere = settle(start.problem, loss(rule), TRUTH).loss
    assert chosen.loss.scale == pytest.approx(everywhere.scale, rel=0.05 if n > 1000 else 0.2)
    assert np.abs(chosen.theta - TRUTH).max() < 0.3


@pytest.mark.parametrize("n", [100, 20_000])
def test_the_answer_follows_the_units(n):
    one, other = (
        GivenLoss(Correntropy())(begun(n, Correntropy(), unit=unit)).loss for unit in (1, 1e4)
    )
    assert other.scale == pytest.approx(1e4 * one.scale, rel=1e-3)


def test_caution_is_handed_on():
    start = begun(100, Correntropy())
    warned = Begun(start.problem, start.sample, start.theta, start.loss, caution="look out")
    for loss in (Correntropy(), Correntropy(1.0)):
        assert GivenLoss(loss)(warned).caution == "look out"
