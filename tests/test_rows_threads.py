"""Threads: the same digits for any number, and BLAS is left as it was."""

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info, threadpool_limits

from kmpe import KMPE, Correntropy, ELMRegressor, RobustLinearRegression, RobustPCA
from kmpe.rows.source import Rows
from kmpe.rows.threads import each, free_memory, parts, team, total


def blas_threads():
    return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]


# -- parts -----------------------------------------------------------------------------------


@given(n=st.integers(1, 10**6), most=st.integers(1, 10**6))
def test_parts_cover_all_rows_once_in_order(n, most):
    slices = [where for part in parts(n, max(most, n // 5000)) for where in part]
    assert slices[0].start == 0
    assert slices[-1].stop == n
    assert all(one.stop == other.start for one, other in pairwise(slices))
    assert all(0 < where.stop - where.start <= max(most, n // 5000) for where in slices)


def test_total_and_each_pass_over_every_slice():
    divided = parts(10_000, 100)
    x = np.random.default_rng(0).normal(size=10_000)
    assert total(divided, lambda where: (x[where].sum(),))[0] == pytest.approx(x.sum())
    seen = np.zeros(10_000)
    each(divided, lambda where: np.add.at(seen, where, 1))
    np.testing.assert_array_equal(seen, 1)


def test_sums_have_the_same_digits_for_any_number_of_threads():
    x = np.random.default_rng(0).standard_cauchy((300_000, 4))
    assert sum(1 for _ in Rows.inputs(x).blocks()) > 4
    sums = []
    for threads in (1, 2, 3, 7):
        with threadpool_limits(threads):
            sums.append(Rows.inputs(x).total(lambda block: (block.H.T @ block.H,))[0])
    for other in sums[1:]:
        np.testing.assert_array_equal(sums[0], other)


def test_an_error_in_a_worker_is_raised_and_ends_the_team():
    def fail(where):
        if where.start >= 5000:
            raise ValueError("no such row")

    with threadpool_limits(2):
        before = blas_threads()
        with pytest.raises(ValueError, match="no such row"):
            each(parts(10_000, 1000), fail)
        assert blas_threads() == before


# -- teams and the limit of BLAS -------------------------------------------------------------


def test_teams_share_the_cores_and_respect_limits():
    with threadpool_limits(2), team() as outer, team() as inner:
        assert inner is outer
        assert outer.size == 2
        assert set(blas_threads()) == {1}
    with threadpool_limits(1), team() as alone:
        assert alone.size == 1


def run(program, threads=2):
    """Run a program in a process of its own, where BLAS has so many threads and no limit is set."""
    head = """
        import os, sys
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier, Event, Thread
        import numpy as np
        import scipy.linalg
        from threadpoolctl import threadpool_info
        from kmpe.rows.threads import each, parts, team

        def limits():
            return [lib["num_threads"] for lib in threadpool_info() if lib["user_api"] == "blas"]
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(head) + textwrap.dedent(program)],
        env={**os.environ, "OPENBLAS_NUM_THREADS": str(threads)},
        timeout=60,
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("first", ["main", "worker"])
def test_the_last_of_overlapping_teams_restores_blas_whichever_thread_it_is(first):
    run(f"""
        before, inside, go = limits(), Event(), Event()

        def worker():
            with team():
                inside.set()
                go.wait()

        thread = Thread(target=worker)
        if {first == "main"}:
            with team():
                thread.start()
                inside.wait()
                assert set(limits()) == {{1}}, "two teams inside"
        else:
            thread.start()
            inside.wait()
            with team():
                go.set()
                thread.join()
                assert set(limits()) == {{1}}, "the worker has left"
        assert go.is_set() or set(limits()) == {{1}}, "main has left"
        go.set()
        thread.join()
        assert limits() == before, limits()
    """)


def test_blas_is_limited_in_whichever_thread_a_team_works():
    run("""
        def inside(_):
            with team():
                return limits()

        before = limits()
        assert set(inside(0)) == {1}, "main"
        for _ in range(2):
            with ThreadPoolExecutor(1) as pool:
                assert set(*pool.map(inside, [0])) == {1}, "another thread, after main"
            assert limits() == before
    """)


def test_ctrl_c_on_the_way_in_and_out_of_a_team_leaves_blas_as_it_was():
    run("""
        before = limits()
        for k in range(1, 20):
            calls = []

            def hook(frame, event, _):
                if event == "call" and frame.f_globals.get("__name__") == "kmpe.rows.threads":
                    calls.append(frame)
                    if len(calls) == k:
                        raise KeyboardInterrupt

            sys.setprofile(hook)
            try:
                with team():
                    pass
            except KeyboardInterrupt:
                pass
            finally:
                sys.setprofile(None)
            assert limits() == before, (k, limits())
        assert len(calls) < k
    """)


def test_six_teams_at_once_leave_blas_as_it_was():
    run("""
        together, before = Barrier(6), limits()

        def work(i):
            together.wait()
            with team():
                together.wait()  # all six are inside
                seen = limits()
                if i % 2:
                    together.wait()
            if not i % 2:
                together.wait()  # half of them have left, the others are still inside
            return seen

        for _ in range(3):
            with ThreadPoolExecutor(6) as pool:
                for seen in pool.map(work, range(6)):
                    assert set(seen) == {1}, seen
            assert limits() == before, limits()
    """)


def data(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=n)
    y[::10] += 5
    return X, y


MODELS = [
    ELMRegressor(
        KMPE(p=2, sigma=0.5), n_hidden=20, alpha=1e-3, random_state=0, activation="sigmoid"
    ),
    RobustLinearRegression(Correntropy()),
    RobustPCA(2, random_state=0),
    ELMRegressor(),
]


def test_six_fits_at_once_equal_fits_one_by_one():
    X, y = data()
    fit = lambda i: vars(_cloned(MODELS[i % 4]).fit(X, y))  # noqa: E731
    with threadpool_limits(2):
        before = blas_threads()
        with ThreadPoolExecutor(6) as pool:
            at_once = list(pool.map(fit, range(6)))
        assert blas_threads() == before
    for i, fitted in enumerate(at_once):
        alone = fit(i)
        for name in {"coef_", "components_", "weights_", "history_"} & alone.keys():
            np.testing.assert_array_equal(fitted[name], alone[name])


def _cloned(model):
    return type(model)(**model.get_params(deep=False))


@pytest.mark.parametrize("model", [*MODELS[:2], MODELS[3]], ids=str)
def test_predictions_by_eight_threads_are_those_by_one(model):
    X, y = data(20_000)
    fitted = _cloned(model).fit(X[:2000], y[:2000])
    with threadpool_limits(2), ThreadPoolExecutor(8) as pool:
        many = list(pool.map(fitted.predict, [X] * 8))
    for predicted in many:
        np.testing.assert_array_equal(predicted, fitted.predict(X))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_inside_a_team_does_not_hang_the_child():
    """The child has none of the team's threads: it must hire its own, and knows BLAS's limit."""
    run("""
        x, free = np.zeros(4000), limits()

        def work(where):
            x[where] += 1

        with team() as workers:
            each(parts(4000, 100), work)
            child = os.fork()
            if child == 0:
                before = limits()
                each(parts(4000, 100), work)
                with team() as own:
                    hired = own is not workers
                os._exit(0 if hired and (x == 2).all() and before == free == limits() else 1)
            _, status = os.waitpid(child, 0)
            each(parts(4000, 100), work)
        assert limits() == free
        sys.exit(os.waitstatus_to_exitcode(status))
    """)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_while_another_thread_computes_a_property_does_not_hang_the_child():
    """Up to Python 3.11 a cached property has a lock, and that thread holds it for ever."""
    run("""
        import signal
        from contextlib import nullcontext

        from kmpe.rows.source import Rows

        held, done = Event(), Event()

        def hold():
            with getattr(vars(Rows)["n"], "lock", nullcontext()):
                held.set()
                done.wait()

        thread = Thread(target=hold)
        thread.start()
        held.wait()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if Rows.of(np.zeros((3, 1)), np.zeros((3, 1))).n == 3 else 1)
        _, status = os.waitpid(child, 0)
        done.set()
        thread.join()
        sys.exit(os.waitstatus_to_exitcode(status))
    """)


# -- memory ----------------------------------------------------------------------------------


def test_free_memory_is_a_number_of_bytes(monkeypatch, tmp_path):
    assert free_memory() > 1 << 20
    monkeypatch.setattr("kmpe.rows.threads._MEMINFO", tmp_path / "absent")
    assert free_memory() > 1 << 20


def test_openmp_is_limited_in_the_threads_of_a_team_only():
    def openmp(_):
        return [
            found["num_threads"] for found in threadpool_info() if found["user_api"] == "openmp"
        ]

    with threadpool_limits(2):
        before = openmp(None)
        with team() as workers:
            inside = list(workers.map(openmp, range(8), limited=True))
            assert all(count == 1 for counts in inside for count in counts)
        assert openmp(None) == before
