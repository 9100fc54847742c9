"""A small part of the abuse, and that it notices what is broken and goes on where it stopped."""

import json
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import numpy as np
import pytest
from benchmarks.abuse.__main__ import slow, table
from benchmarks.abuse.cases import draw
from benchmarks.abuse.containers import CONTAINERS, wrapped
from benchmarks.abuse.fitting import BrokenError, Fits, RefusedError
from benchmarks.abuse.promises import (
    _moved_by_rounding,
    cost_never_rises,
    finite,
    row_order,
    unchanged_by_a_failure,
)
from benchmarks.abuse.runs import Outcome, run, run_case

from kmpe import RobustLinearRegression


# Those after the first thirty broke a promise once.
@pytest.fixture(scope="module")
def alone():
    """Return a process of its own: threads and files of other tests come and go."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        yield pool


def outcome_of(seed):
    outcome = Outcome()
    run_case(draw(seed), outcome)
    return outcome


@pytest.mark.parametrize(
    "seed",
    [
        *range(30),
        821,
        1216,
        1288,
        1329,
        1665,
        1697,
        2624,
        4042,
        4094,
        4718,
        6171,
        7006,
        8732,
        21726,
        22717,
        22750,
        39515,
        101968,
        200328,
        200425,
        201575,
        203321,
        203378,
        204254,
        209235,
        210058,
        215108,
        217338,
        217952,
        224922,
        234735,
        236316,
        239888,
        241405,
        243977,
        250893,
        256922,
        300933,
        305097,
        306222,
        324725,
        326708,
        330529,
        335254,
        901640,
    ],
)
def test_every_promise_is_kept(alone, seed):
    outcome = alone.submit(outcome_of, seed).result()
    assert not outcome.broken, f"{draw(seed)}: {outcome.broken}"
    assert outcome.fits >= 1


@pytest.mark.parametrize("name", list(CONTAINERS))
def test_a_container_holds_the_numbers_it_is_given(name):
    X = CONTAINERS[name].rounded(np.random.default_rng(0).normal(size=(7, 3)))
    held = wrapped(X, name)
    held = held.toarray() if hasattr(held, "toarray") else held
    np.testing.assert_array_equal(np.asarray(held, dtype=np.float64), X)


def test_a_case_follows_from_its_seed():
    one, other = draw(11), draw(11)
    assert str(one) == str(other)
    np.testing.assert_array_equal(one.X, other.X)


def plain_case():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=60)
    plain = {"estimator": "linear", "loss": "default", "options": {}, "a": None}
    return replace(draw(0), **plain, X=X, y=y, container="array", scales=(1.0, 1.0))


class Faulty(RobustLinearRegression):
    """A regression with a fault of each kind."""

    fault = ""

    def fit(self, X, y, sample_weight=None):
        if self.fault == "fails half way":
            self.coef_ = np.zeros(2)
        super().fit(X, y, sample_weight)
        if self.fault == "not finite":
            self.coef_ = self.coef_ * np.nan
        if self.fault == "cost rises":
            self.history_ = np.array([1.0, 2.0])
        if self.fault == "first row":
            self.intercept_ += float(y[0])
        if self.fault == "crash":
            [][0]
        if self.fault == "numpy warning":
            np.zeros(1) / 0
        if self.fault == "filter":
            warnings.simplefilter("ignore")
        return self


def broken(fault, *promises):
    """Return the sentence by which a fault is noticed."""
    case, fits = plain_case(), Fits()
    model = Faulty()
    model.fault = "" if fault == "fails half way" else fault
    with pytest.raises(BrokenError) as caught:  # noqa: PT012
        model = fits.fit(case, model)
        model.fault = fault
        for promise in promises:
            promise(case, model, fits)
    return str(caught.value)


def test_faults_are_noticed():
    assert "coef_ is not finite" in broken("not finite", finite)
    assert "at step 1" in broken("cost rises", cost_never_rises)
    assert "predictions differ" in broken("first row", row_order)
    assert "IndexError" in broken("crash")
    assert "divide by zero" in broken("numpy warning") or "invalid" in broken("numpy warning")
    assert "filters of warnings" in broken("filter")
    assert "unchanged by a failure" in broken("fails half way", unchanged_by_a_failure)


def test_what_rounding_decides_is_told_from_what_it_does_not():
    case, fits = plain_case(), Fits()
    model = fits.fit(case)
    P = model.predict(case.X)
    assert not _moved_by_rounding(case, fits, P, 1e-6)
    assert _moved_by_rounding(case, fits, P + 1.0, 1.0)  # as if the fit were another one


def test_a_stream_is_a_list_of_batches():
    case = next(case for case in map(draw, range(200)) if case.estimator == "stream")
    (X, y), _ = case.arguments()
    assert len(X) == len(y) == len(np.unique(case.batch))
    outcome = Outcome()
    run_case(case, outcome)
    assert not outcome.broken


def test_words_are_no_fault():
    case = replace(plain_case(), y=np.full(60, 1e200))
    with pytest.raises(RefusedError, match="too large to square"):
        Fits().fit(case)


def test_a_slow_fit_is_slow_twice(monkeypatch):
    times = [(seed, "linear 60 x 2", 0.01) for seed in range(40)] + [(7, "linear 60 x 2", 1.0)]
    monkeypatch.setattr("benchmarks.abuse.__main__.draw", lambda _: plain_case())
    assert slow(times) == []  # it was not when it was repeated
    monkeypatch.setattr(Fits, "fit", lambda self, _: setattr(self, "seconds", 1.0))
    assert [seed for seed, _ in slow(times)] == [7]


def test_a_run_goes_on_where_it_was_stopped(tmp_path, capsys):
    first = list(run(4, tmp_path, 1, size=3))
    kept = {file.name: file.read_text() for file in tmp_path.glob("part-*.json")}
    assert sum(outcome.fits for outcome in first) >= 4
    again = list(run(4, tmp_path, 1, size=3))  # nothing is left to do
    assert [outcome.fits for outcome in again] == [json.loads(t)["fits"] for t in kept.values()][
        : len(again)
    ]
    stored = tmp_path / "part-000000.json"
    for text in ("", "{", '{"fits": 3}', stored.read_text().replace('"code": "', '"code": "0')):
        stored.write_text(text)  # damaged, or of other code
        assert next(iter(run(1, tmp_path, 1, size=3))).fits == first[0].fits
    whole = Outcome(fits=9, broken=[(3, "row order: predictions differ by 1, of 2")])
    assert table(whole) == 1
    assert "row order" in capsys.readouterr().out
    whole = Outcome(fits=9, compared=99, edges=[(3, "targets in any unit: they differ")])
    assert table(whole) == 1  # more than one in a hundred
