"""Row order, repeats, the unit of the weights and the container change no digit of a fit."""

import numpy as np
import pytest
from scipy import sparse

from kmpe import (
    KMPE,
    PCAL1,
    ELMClassifier,
    ELMRegressor,
    RobustLinearRegression,
    RobustPCA,
    Trimmed,
)
from kmpe.rows import arranged as module
from kmpe.rows.arranged import arranged
from kmpe.rows.checks import counted_weights


def table(n=9, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.normal(size=(n, 2)), rng.uniform(1, 2, n)


def assert_same(one, other):
    for left, right in zip(one[:5], other[:5], strict=True):
        np.testing.assert_array_equal(left, right)


def test_back_leads_from_every_row_to_its_equal():
    X, T, a = table()
    X[4], T[4], a[[2, 7]] = X[1], T[1], 0.0
    found = arranged(X, T, a)
    assert len(found.T) == 6
    assert len(found.T0) == 2
    np.testing.assert_array_equal(np.concatenate([found.X, found.X0])[found.back], X)
    np.testing.assert_array_equal(np.concatenate([found.T, found.T0])[found.back], T)
    assert found.a.sum() == pytest.approx(a.sum(), rel=1e-15)


@pytest.mark.parametrize("ties", ["none", "targets", "all targets"])
def test_the_order_of_the_rows_is_forgotten(ties):
    X, T, a = table(40)
    if ties != "none":
        T[: 40 if ties == "all targets" else 10] = 1.0
    order = np.random.default_rng(1).permutation(40)
    assert_same(arranged(X, T, a), arranged(X[order], T[order], a[order]))


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("factor", [-4.0, 0.5])
def test_targets_in_another_unit_have_the_same_order(ties, factor):
    X, T, a = table(40)
    T = np.rint(T) if ties else T
    one, other = arranged(X, T, a), arranged(X, factor * T, a)
    np.testing.assert_array_equal(one.X, other.X)
    np.testing.assert_array_equal(factor * one.T, other.T)


def test_rows_are_told_apart_where_their_mixture_is_not():
    X = np.array([[1e20, 1.0], [1e20, 2.0], [1e20, 1.0], [1e20, 2.0], [1e20, 1.0]])
    T, a = np.zeros((5, 1)), np.array([0.1, 1.0, 0.3, 1.0, 0.7])
    found = arranged(X, T, a)
    np.testing.assert_array_equal(found.X, X[:2])
    for order in ([4, 3, 2, 1, 0], [1, 0, 3, 4, 2]):
        assert_same(found, arranged(X[order], T, a[order]))


def test_a_table_of_more_than_a_block_stays_as_it_is(monkeypatch):
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 9 * 3 - 1)
    X, T, a = table()
    found = arranged(X, T, a)
    assert found.X is X
    np.testing.assert_array_equal(a[found.back], a)


@pytest.mark.parametrize("factor", [7.3, 1e100, 1 / 3])
def test_weights_have_the_same_digits_in_every_unit(factor):
    a = np.random.default_rng(0).uniform(0.5, 2, 50)
    one, unit = counted_weights(a)
    other, larger = counted_weights(factor * a)
    np.testing.assert_array_equal(one, other)
    assert larger == pytest.approx(factor * unit)
    np.testing.assert_allclose(one * unit, a, rtol=1e-9)


MODELS = [
    RobustLinearRegression(),
    RobustLinearRegression(KMPE(0.7)),
    ELMRegressor(random_state=0),
    ELMRegressor(Trimmed(), random_state=0),
    ELMClassifier(random_state=0),
]


@pytest.fixture(scope="module", params=[20, 300])
def data(request):
    """Rounded inputs and targets, of which some are equal, and counts, of which some are 0."""
    n = request.param
    rng = np.random.default_rng(n)
    X = rng.integers(0, 4, (n, 3)).astype(float)
    y = np.rint(X[:, 0] + rng.standard_t(2, n))
    a = rng.integers(0, 4, n).astype(float)
    return X, y, a


def changed(kind, X, y, a):
    order = np.random.default_rng(1).permutation(len(X))
    return {
        "row order": (X[order], y[order], a[order]),
        "repeats": (np.repeat(X, a.astype(int), axis=0), np.repeat(y, a.astype(int)), None),
        "unit of weights": (X, y, 7.3 * a),
        "Fortran": (np.asfortranarray(X), y, a),
        "sparse": (sparse.coo_array(X), y, a),
    }[kind]


@pytest.mark.parametrize("kind", ["row order", "repeats", "unit of weights", "Fortran", "sparse"])
@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_no_digit_of_a_fit_changes(model, data, kind):
    X, y, a = data
    y = y > np.median(y) if isinstance(model, ELMClassifier) else y
    X1, y1, a1 = changed(kind, X, y, a)
    one = model.fit(X, y, sample_weight=a)
    coef, scale, P = one.coef_, one.scale_, one.predict(X)
    other = model.fit(X1, y1, sample_weight=a1)
    np.testing.assert_array_equal(coef, other.coef_)
    np.testing.assert_array_equal(P, other.predict(X))
    assert scale == pytest.approx(other.scale_, rel=1e-12)


@pytest.mark.parametrize("model", [RobustLinearRegression(), ELMRegressor(random_state=0)], ids=str)
def test_a_row_without_weight_has_scores_and_no_say(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=50)
    alone = model.fit(X[1:], y[1:])
    coef, scale, width = alone.coef_, alone.scale_, interval_width(alone, X)
    y[0] = 1e18
    a = np.ones(50)
    a[0] = 0.0
    model.fit(X, y, sample_weight=a)
    np.testing.assert_array_equal(model.coef_, coef)
    assert model.scale_ == pytest.approx(scale)
    assert interval_width(model, X) == pytest.approx(width)
    assert model.outliers_[0]
    assert model.outlier_scores_[0] > 1e17


@pytest.mark.parametrize("model", [RobustLinearRegression(), ELMRegressor(random_state=0)], ids=str)
def test_repeated_rows_have_the_prediction_intervals_of_weights(model):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=100)
    a = rng.integers(0, 4, 100)
    width = interval_width(model.fit(X, y, sample_weight=a), X)
    model.fit(np.repeat(X, a, axis=0), np.repeat(y, a))
    assert interval_width(model, X) == pytest.approx(width, rel=1e-9)


def interval_width(model, X):
    _, low, high = model.predict(X, return_interval=0.9)
    return float(np.mean(high - low))


@pytest.mark.parametrize("model", [RobustPCA(2), RobustPCA(2, loss=Trimmed()), PCAL1(2)], ids=str)
def test_no_digit_of_a_pca_changes_with_the_order_of_the_rows(model):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 4)) + 1e-9 * rng.integers(0, 3, (60, 4))
    a = rng.uniform(0, 2, 60)
    a[:5] = 0.0
    order = rng.permutation(60)
    one = model.fit(X, sample_weight=a)
    components, mean, weights = one.components_, one.mean_, getattr(one, "weights_", a)
    other = model.fit(X[order], sample_weight=a[order])
    np.testing.assert_array_equal(components, other.components_)
    np.testing.assert_array_equal(mean, other.mean_)
    np.testing.assert_array_equal(weights[order], getattr(other, "weights_", a[order]))
