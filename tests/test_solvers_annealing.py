"""Annealing and settling: σ comes down without losing the clean rows, and rules find their σ."""

from types import SimpleNamespace

import numpy as np
import pytest

from every_loss import LOSSES, name
from kmpe import KMPE, Cauchy, Correntropy, Huber, Squared, Tukey
from kmpe.losses.scale import RULES
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.annealing import anneal, resolve, settle, solve_once
from kmpe.solvers.reweighted import reweight

TRUTH = np.arange(1.0, 5)[:, None]


def contaminated(n=80, share=0.1, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n, 4))
    T = H @ TRUTH + noise * rng.normal(size=(n, 1))
    T[: int(share * n)] += 50
    return Ridge.of(Rows.of(H, T), 1e-6)


def least_squares(problem):
    return problem.solve(problem.weighted(problem.zero, Squared()))


REDESCENDING = [loss for loss in LOSSES if loss.sup < np.inf and hasattr(loss, "sigma")]


@pytest.mark.parametrize("loss", REDESCENDING, ids=name)
def test_an_annealed_start_is_not_held_by_outliers(loss):
    problem = contaminated(share=0.4)
    resolved, theta = anneal(problem, loss, least_squares(problem))
    assert np.abs(theta - TRUTH).max() < 0.5
    assert np.abs(least_squares(problem) - TRUTH).max() > 2
    assert resolved == loss
    found = reweight(problem, loss, theta)
    assert found.criterion.weight(problem.squared_residuals(found.theta))[:32].max() < 0.01


def test_a_narrow_loss_would_be_held_by_the_few_rows_next_to_its_start():
    """Two groups, and three rows that happen to lie where least squares does, between both."""
    rng = np.random.default_rng(0)
    t = np.r_[0.3 * rng.normal(size=60), 50 + 0.3 * rng.normal(size=30)]
    t = np.r_[t, t.mean() + np.array([-0.1, 0.0, 0.1])]
    problem, loss = Ridge.of(Rows.of(np.ones((93, 1)), t[:, None])), Correntropy(1.0)
    start = least_squares(problem)
    held = reweight(problem, loss, start)
    annealed = reweight(problem, loss, anneal(problem, loss, start)[1])
    assert held.theta.item() == pytest.approx(t.mean(), abs=0.1)
    assert annealed.theta.item() == pytest.approx(0, abs=0.1)
    assert annealed.history[-1] < 0.6 * held.history[-1]


@pytest.mark.parametrize("loss", [Squared(), Huber(0.3)], ids=repr)
def test_a_convex_loss_is_left_where_it_is(loss):
    problem = contaminated()
    theta = least_squares(problem)
    assert anneal(problem, loss, theta) == (loss, theta)


@pytest.mark.parametrize("loss", [Correntropy, Tukey, Cauchy, Huber])
def test_a_rule_is_a_fixed_point_where_it_settles(loss):
    problem = contaminated(n=400)
    resolved, theta = anneal(problem, loss("mad"), least_squares(problem))
    s = problem.squared_residuals(theta)
    assert resolved.scale == pytest.approx(loss("mad").resolve(s).scale, rel=1e-9)
    assert resolved.scale == pytest.approx(loss.efficient * 0.34, rel=0.15)
    settled = settle(problem, loss("mad"), theta)
    assert settled.loss.scale == pytest.approx(resolved.scale, rel=0.03)


@pytest.mark.parametrize("rule", RULES)
def test_scales_follow_the_units(rule):
    small, large = contaminated(n=200), contaminated(n=200)
    large = Ridge.of(Rows.of(large.rows.X, 1000 * large.rows.T), 1e-6)
    one, other = (
        settle(p, Correntropy(rule), 1.0 * k * TRUTH).loss for p, k in ((small, 1), (large, 1000))
    )
    assert other.scale == pytest.approx(1000 * one.scale, rel=1e-6)


def test_settling_counts_its_moves_and_stops_when_they_are_used_up():
    problem, moves = contaminated(n=200), []
    move = solve_once(problem)

    def counted(theta, loss):
        moves.append(loss.scale)
        return move(theta, loss)

    settled = settle(problem, Correntropy("mad"), least_squares(problem), counted)
    assert settled.steps == len(moves) > 2
    assert abs(settled.loss.scale - moves[-1]) <= 0.01 * moves[-1]
    assert settle(problem, Correntropy("mad"), problem.zero, max_steps=2).steps == 2


def test_a_number_is_no_rule_and_the_median_is_asked_once():
    problem = contaminated()
    assert settle(problem, Correntropy(0.7), TRUTH).loss == Correntropy(0.7)
    assert settle(problem, Correntropy(0.7), TRUTH).steps == 0
    once = settle(problem, Cauchy("median"), TRUTH)
    assert once.steps == 0
    s = problem.squared_residuals(TRUTH)
    assert once.loss.scale == pytest.approx(np.sqrt(np.sort(s)[39]))


def test_bounded_holds_silvermans_rule_where_a_third_are_outliers():
    problem = contaminated(n=300, share=0.35)
    free = settle(problem, Correntropy("silverman"), TRUTH, max_steps=0).loss.scale
    bounded = settle(problem, Correntropy("silverman"), TRUTH, max_steps=0, bounded=True).loss.scale
    clean = settle(contaminated(n=300, share=0), Correntropy("silverman"), TRUTH, max_steps=0)
    assert free > 10 * bounded
    assert bounded < 2.5 * clean.loss.scale


def test_freedom_makes_up_for_what_was_fitted():
    problem = contaminated(share=0)
    whole = settle(problem, Correntropy("mad"), TRUTH, max_steps=0).loss.scale
    half = settle(problem, Correntropy("mad"), TRUTH, max_steps=0, freedom=0.5).loss.scale
    assert half == pytest.approx(np.sqrt(2) * whole)


def test_a_rule_is_widened_until_the_fit_costs_less_than_to_give_up():
    """Fitted all but perfectly, a bounded loss would be outweighed by the penalty."""
    problem = contaminated(share=0, noise=1e-6).with_penalties(1.0)
    resolved = resolve(problem, Correntropy("mad"), TRUTH)
    assert problem.cost(TRUTH, resolved) < 0.5 * 80 * resolved.sup
    assert resolved.scale > 100 * 1e-6


def test_a_bracketed_rule_cannot_go_round_in_a_circle():
    problem = contaminated()

    def move(_, loss):
        """Answer a small scale with large residuals, and a large one with small ones."""
        return problem.zero if loss.scale < 2 else TRUTH

    free = settle(problem, Correntropy("mad"), TRUTH, move, max_steps=40)
    held = settle(problem, Correntropy("mad"), TRUTH, move, max_steps=40, bracketed=True)
    assert free.steps == 40
    assert held.steps < 15
    assert held.loss.scale == pytest.approx(2, rel=0.02)


def test_bounded_gives_weight_to_residuals_of_many_components():
    # Silverman's rule on norms of 300 components: 20 standard deviations from zero.
    s = np.random.default_rng(0).chisquare(300, size=2000)
    problem = SimpleNamespace(
        squared_residuals=lambda _: s,
        sample_weight=np.ones(2000),
        dim=12,
        penalty=lambda _: 0.0,
        least_scale=0.0,
    )
    free, held = (
        settle(problem, KMPE(4, "silverman"), None, max_steps=0, bounded=bounded).loss
        for bounded in (False, True)
    )
    assert free.weight(s).mean() < 1e-4 * KMPE(4, 1.0).weight(np.linspace(0, 9)).max()
    assert held.weight(s).mean() > 0.15 * KMPE(4, 1.0).weight(np.linspace(0, 9)).max()
    assert held.weight(10 * s).max() < 1e-6


@pytest.mark.parametrize("loss", [Correntropy(), Tukey(), KMPE(p=1)], ids=name)
def test_a_rule_does_not_ask_whether_residuals_are_zero_or_rounding(loss):
    H = np.column_stack([np.random.default_rng(0).normal(size=(40, 1)), np.ones(40)])
    T = np.where(np.arange(40) < 12, -20.0, 0.0)[:, None]
    problem = Ridge.of(Rows.of(H, T))
    one, other = (resolve(problem, loss, np.full((2, 1), value)) for value in (0.0, 1e-81))
    assert one.scale == other.scale < 1e-6
