"""The path of a fit: start, choose, solve, each handed what the one before returned."""

import numpy as np
from threadpoolctl import threadpool_info, threadpool_limits

from kmpe.losses import Correntropy, Squared
from kmpe.problems.ridge import Ridge
from kmpe.rows.source import Rows
from kmpe.solvers.reweighted import reweight
from kmpe.solvers.walk import Begun, Chosen, walk


def test_stations_are_visited_once_in_order_with_what_came_before():
    problem, visited = Ridge.of(Rows.of(np.eye(3), np.ones((3, 1)))), []

    def start(given):
        visited.append(("start", given))
        return Begun(given, given, given.zero)

    def choose(begun):
        visited.append(("choose", begun))
        return Chosen(begun.problem, begun.sample, begun.theta, Correntropy(2.0), details="why")

    def solve(chosen):
        visited.append(("solve", chosen))
        return reweight(chosen.problem, chosen.loss, chosen.theta)

    walked = walk(problem, start, choose, solve)
    assert [station for station, _ in visited] == ["start", "choose", "solve"]
    assert visited[0][1] is problem
    assert walked.chosen is visited[2][1]
    assert walked.chosen.details == "why"
    assert walked.fit.loss == Correntropy(2.0)
    np.testing.assert_allclose(walked.fit.theta, 1)


def test_all_stations_work_with_one_blas_thread():
    limits, problem = [], Ridge.of(Rows.of(np.eye(3), np.ones((3, 1))))

    def note(value):
        limits.extend(lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas")
        return value

    with threadpool_limits(2):
        walk(
            problem,
            lambda p: note(Begun(p, p, p.zero)),
            lambda b: note(Chosen(b.problem, b.sample, b.theta, Squared())),
            lambda c: note(reweight(c.problem, c.loss, c.theta)),
        )
    assert len(limits) >= 3
    assert set(limits) == {1}
