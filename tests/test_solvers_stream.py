"""Streams: batches seen once, bad ones among them."""

import time

import numpy as np
import pytest

from kmpe import KMPE, Correntropy, ELMClassifier, ELMRegressor, Squared
from kmpe.datasets import make_sinc


def truth(X):
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def batches(n, bad=(), seed=0, rows=100):
    rng = np.random.RandomState(seed)
    for k in range(n):
        X = rng.uniform(-1, 1, (rows, 3))
        y = truth(X) + 0.3 * rng.normal(size=rows)
        yield X, 50 * rng.normal(size=rows) if k in bad else y


def error(model):
    X = np.random.RandomState(1).uniform(-1, 1, (1000, 3))
    return np.sqrt(np.mean((model.predict(X) - truth(X)) ** 2))


def streamed(parts, loss="adaptive", **params):
    model = ELMRegressor(loss, n_hidden=30, random_state=0, **params, activation="sigmoid")
    for X, y in parts:
        model.partial_fit(X, y)
    return model


@pytest.mark.parametrize("bad", [(5, 25, 30, 35, 39), (0, 1, 20, 21, 22)])
@pytest.mark.parametrize("p", [2, 4])
def test_bad_batches_leave_no_trace(bad, p):
    model = streamed(batches(40, bad), KMPE(p=p), alpha=1e-3)
    clean = [part for k, part in enumerate(batches(40, bad)) if k not in bad]
    whole = ELMRegressor(KMPE(p=p), n_hidden=30, alpha=1e-3, random_state=0, activation="sigmoid")
    whole.fit(*map(np.concatenate, zip(*clean, strict=True)))
    assert error(model) < 1.05 * error(whole)


@pytest.mark.parametrize("bad", [(5, 25, 30, 35, 39), (0, 1, 20, 21, 22)])
@pytest.mark.parametrize("rows", [20, 100])
def test_bad_batches_far_out_leave_no_trace(bad, rows):
    """Features that no other batch has can be fitted at no cost to the others' residuals."""
    rng = np.random.RandomState(3)
    parts = list(batches(40, rows=rows))
    spoiled = [
        (50 * rng.normal(size=X.shape), 50 * rng.normal(size=rows)) if k in bad else (X, y)
        for k, (X, y) in enumerate(parts)
    ]
    model = streamed(spoiled, KMPE(p=2), alpha=1e-3)
    clean = [part for k, part in enumerate(parts) if k not in bad]
    whole = ELMRegressor(KMPE(p=2), n_hidden=30, alpha=1e-3, random_state=0, activation="sigmoid")
    whole.fit(*map(np.concatenate, zip(*clean, strict=True)))
    assert error(model) < 1.05 * error(whole)


def test_least_squares_stream_is_the_fit_of_all_rows():
    parts = list(batches(30))
    model = streamed(parts, Squared(), alpha=0.1)
    whole = ELMRegressor(Squared(), n_hidden=30, alpha=0.1, random_state=0, activation="sigmoid")
    whole.fit(*map(np.concatenate, zip(*parts, strict=True)))
    X = parts[0][0]
    np.testing.assert_allclose(model.predict(X), whole.predict(X), rtol=1e-4, atol=1e-4)


def test_weights_of_a_bad_batch_are_zero():
    model = streamed(batches(30, bad=(29,)))
    assert model.weights_.shape == (100,)
    assert model.weights_.max() < 1e-3
    assert streamed(batches(30)).weights_.mean() > 0.5


def test_forgetting_follows_a_change():
    first = list(batches(30))
    later = [(X, y + 3) for X, y in batches(30, seed=2)]
    quick = streamed(first + later, forgetting=0.8)
    X = later[0][0]
    assert np.abs(quick.predict(X) - truth(X) - 3).mean() < 0.3


def test_single_rows_are_batches():
    X, y = next(batches(1, rows=90))
    model = ELMRegressor(n_hidden=3, alpha=1e-2, random_state=0, activation="sigmoid")
    for i in range(len(X)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    whole = ELMRegressor(n_hidden=3, alpha=1e-2, random_state=0, activation="sigmoid").fit(X, y)
    assert error(model) < 1.3 * error(whole)


def test_single_rows_cost_little_more_than_batches():
    X, y = next(batches(1, rows=150))

    def seconds(size):
        model = ELMRegressor(n_hidden=60, random_state=0, activation="sigmoid")
        begin = time.process_time()
        for i in range(0, len(X), size):
            model.partial_fit(X[i : i + size], y[i : i + size])
        return time.process_time() - begin

    seconds(150)  # what is computed once
    # They are fitted at 60 sizes, batches of 10 at 15.
    assert seconds(1) < 15 * seconds(10)


@pytest.mark.parametrize("begun", [1, 2, 30])
@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 3)])
def test_another_number_of_targets_is_refused_and_leaves_the_stream(begun, before, after):
    X, y = next(batches(1))
    model = ELMRegressor(n_hidden=5, random_state=0, activation="sigmoid")
    for _ in range(begun):
        model.partial_fit(X, np.stack([y] * before, axis=1))
    predicted = model.predict(X)
    with pytest.raises(ValueError, match=f"targets changes from {before} to {after}"):
        model.partial_fit(X, np.stack([y] * after, axis=1))
    np.testing.assert_array_equal(model.predict(X), predicted)


@pytest.mark.parametrize("loss", ["adaptive", Correntropy(1.0), KMPE(p=4, sigma=2.0)])
@pytest.mark.parametrize("begun", [1, 3, 25])
def test_targets_of_1e100_in_a_later_batch_do_not_end_a_stream(begun, loss):
    X, y = next(batches(1, rows=40))
    model = ELMRegressor(loss, n_hidden=5, random_state=0, activation="sigmoid")
    for scale in [1.0] * begun + [1e100, 1.0]:
        model.partial_fit(X, scale * y)
    assert np.isfinite(model.coef_).all()


def test_fit_ends_a_stream():
    model = streamed(batches(3))
    X, y = next(batches(1, seed=5))
    expected = ELMRegressor(n_hidden=30, random_state=0, activation="sigmoid").fit(X, y)
    np.testing.assert_array_equal(model.fit(X, y).coef_, expected.coef_)
    fresh = ELMRegressor(n_hidden=30, random_state=0, activation="sigmoid").partial_fit(X, y)
    np.testing.assert_array_equal(model.partial_fit(X, y).coef_, fresh.coef_)


def test_several_outputs_keep_their_shape():
    X, y = next(batches(1))
    model = ELMRegressor(n_hidden=30, random_state=0, activation="sigmoid").partial_fit(
        X, np.stack([y, -y], axis=1)
    )
    assert model.coef_.shape == (2, 30)
    assert model.predict(X).shape == (100, 2)


def test_classifier_streams_with_all_classes_named_first():
    rng = np.random.RandomState(0)
    model = ELMClassifier(KMPE(p=2, sigma=1.0), n_hidden=30, random_state=0, activation="sigmoid")
    for k in range(25):
        X = rng.normal(size=(60, 2))
        y = np.array(["a", "b", "c"])[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
        y = rng.permutation(y) if k in (0, 7) else y
        model.partial_fit(X, y, classes=["c", "b", "a"])
    assert list(model.classes_) == ["a", "b", "c"]
    assert model.score(X, y) > 0.9


def test_unknown_class_is_refused():
    X, _ = next(batches(1))
    model = ELMClassifier(n_hidden=5, activation="sigmoid").partial_fit(X, np.arange(100) % 2)
    with pytest.raises(ValueError, match="label 2, which is not among the classes"):
        model.partial_fit(X, np.arange(100) % 3)
    with pytest.raises(ValueError, match="are not those of the first batch"):
        model.partial_fit(X, np.arange(100) % 2, classes=[0, 1, 2])


@pytest.mark.parametrize("forgetting", [0, 1.5, "none"])
def test_impossible_forgetting_is_refused(forgetting):
    X, y = next(batches(1))
    with pytest.raises(ValueError, match="forgetting"):
        ELMRegressor(forgetting=forgetting, activation="sigmoid", n_hidden=100).partial_fit(X, y)


def test_a_stream_has_no_intervals_and_says_so():
    X, y = make_sinc(60, random_state=0)
    model = ELMRegressor(n_hidden=10, random_state=0, activation="sigmoid").partial_fit(X, y)
    with pytest.raises(ValueError, match="a stream keeps no residuals for intervals: call fit"):
        model.predict(X, return_interval=0.9)
