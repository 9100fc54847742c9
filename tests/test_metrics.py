"""Measures of fit, by hand and through scikit-learn."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import median_abs_deviation
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.decomposition import PCA
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import NearestNeighbors

from kmpe import ELMRegressor
from kmpe.datasets import make_sinc
from kmpe.metrics import (
    clustering_accuracy,
    correntropy,
    kmpe_loss,
    reconstruction_error,
    robust_error,
    robust_scorer,
)


def test_kmpe_loss_is_equation_5():
    y, f = np.array([0.0, 1.0, 3.0]), np.array([0.5, 1.0, -1.0])
    expected = np.mean((1 - np.exp(-((y - f) ** 2) / (2 * 1.5**2))) ** (3 / 2))
    assert kmpe_loss(y, f, p=3, sigma=1.5) == pytest.approx(expected, rel=1e-12)


def test_correntropy_is_the_mean_of_the_kernel():
    y, f = np.array([0.0, 1.0, 3.0]), np.array([0.5, 1.0, -1.0])
    assert correntropy(y, f, sigma=2) == pytest.approx(np.mean(np.exp(-((y - f) ** 2) / 8)))
    a = np.array([1.0, 0.0, 2.0])
    by_hand = (np.exp(-0.125) + 2 * np.exp(-8)) / 3
    assert correntropy(y, f, sample_weight=a) == pytest.approx(by_hand)


def test_several_outputs_count_as_one_vector():
    Y = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert kmpe_loss(Y, 0 * Y, p=2) == pytest.approx(kmpe_loss([5.0, 0.0], [0.0, 0.0], p=2))


def test_weights_repeat_rows():
    y, f, a = np.array([0.0, 1.0, 3.0]), np.zeros(3), np.array([2, 0, 1])
    assert kmpe_loss(y, f, sample_weight=a) == pytest.approx(kmpe_loss([0, 0, 3.0], [0, 0, 0.0]))


def test_scorers():
    X, y = make_sinc(100, random_state=0)
    scorer = make_scorer(kmpe_loss, greater_is_better=False, p=4, sigma=2.0)
    scores = cross_val_score(ELMRegressor(random_state=0), X, y, scoring=scorer, cv=3)
    assert np.all((scores < 0) & (scores > -1))


@pytest.mark.parametrize(("name", "value"), [("p", 0), ("p", np.nan), ("sigma", -1)])
def test_bad_parameters(name, value):
    with pytest.raises(ValueError, match=f"{name}="):
        kmpe_loss([0.0], [1.0], **{name: value})


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        kmpe_loss([0.0, 1.0], [1.0])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        clustering_accuracy([0, 1], [1])


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=20))
def test_clustering_accuracy_is_the_best_renaming(pairs):
    true, pred = np.array(pairs).T
    best = max(np.mean(true == np.array(names)[pred]) for names in permutations(range(4)))
    assert clustering_accuracy(true, pred) == pytest.approx(best)


def test_clustering_accuracy_with_more_clusters_than_classes():
    assert clustering_accuracy([0, 0, 0, 0], [0, 1, 2, 2]) == 0.5


# -- reconstruction --------------------------------------------------------------------------


def faces(n=40, d=6):
    rng = np.random.default_rng(0)
    original = rng.normal(size=(n, 2)) @ rng.normal(size=(2, d)) + 5
    return original, original + rng.normal(size=(n, d)) * (np.arange(n) < 5)[:, None]


def test_reconstruction_error_is_equation_35():
    original, X = faces()
    model = PCA(2).fit(X)
    W, mu = model.components_.T, model.mean_
    gaps = (original - mu) - (X - mu) @ W @ W.T
    expected = np.mean(np.sqrt((gaps**2).sum(axis=1)))
    assert reconstruction_error(model, X, original) == pytest.approx(expected)
    clean = np.arange(40) >= 5
    assert reconstruction_error(model, X, original, inliers=clean) == pytest.approx(
        np.mean(np.linalg.norm(gaps[clean], axis=1))
    )


def test_a_model_that_holds_everything_rebuilds_what_it_sees():
    original, X = faces()
    model = PCA().fit(X)
    assert reconstruction_error(model, X) == pytest.approx(0, abs=1e-12)
    noise = np.mean(np.linalg.norm(X - original, axis=1))
    assert reconstruction_error(model, X, original) == pytest.approx(noise)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"X_original": np.zeros((3, 6))}, "they must agree"),
        ({"inliers": np.ones(40)}, "40 values True or False"),
        ({"inliers": np.ones(3, dtype=bool)}, "40 values True or False"),
        ({"inliers": np.zeros(40, dtype=bool)}, "nothing to average"),
    ],
)
def test_rows_that_do_not_belong_together_are_refused(options, sentence):
    _, X = faces()
    with pytest.raises(ValueError, match=sentence):
        reconstruction_error(PCA(2).fit(X), X, **options)


# -- robust error ----------------------------------------------------------------------------


def test_the_robust_error_is_huber_s_loss_over_a_corner_from_the_targets_and_has_their_unit():
    e = np.random.default_rng(0).normal(size=2000)
    corner = 0.1 * median_abs_deviation(e, scale="normal")
    size = np.abs(e)
    by_hand = np.where(size < corner, e**2 / (2 * corner), size - corner / 2).mean()
    assert robust_error(e, np.zeros(2000)) == pytest.approx(by_hand, rel=1e-3)
    assert robust_error(1e5 * e, np.zeros(2000)) == pytest.approx(1e5 * robust_error(e, 0 * e))
    assert robust_error(e[:5], e[:5]) == 0
    both = np.column_stack([e, 4 * e])
    assert robust_error(both, 0 * both) == pytest.approx(2 * robust_error(e, 0 * e))


def test_the_robust_error_of_two_models_differs_by_their_predictions_however_far_a_target_is():
    rng = np.random.default_rng(0)
    y = rng.normal(size=200)
    one, other = y + 0.3 * rng.normal(size=200), y + 0.5 * rng.normal(size=200)
    most = np.abs(one - other).mean()
    for far in (1e3, 1e6, 1e9):
        y[:60] = far
        gain = robust_error(y, other) - robust_error(y, one)
        assert 0 < gain < most


def test_the_robust_error_of_targets_that_are_mostly_equal_is_the_mean_absolute_error():
    y = np.array([0.0, 0.0, 0.0, 0.0, 1.0, 1e6])
    assert robust_error(y, np.full(6, 0.5)) == pytest.approx(np.abs(y - 0.5).mean())


def test_the_robust_error_forgives_no_group_that_a_model_predicts_badly():
    # A scale of the model's own errors takes the tenth of the rows that it misses for outliers.
    rng = np.random.default_rng(0)
    y = np.where(np.arange(500) < 50, 20.0, 0.0) + rng.normal(size=500)
    missed, rough = np.zeros(500), np.where(np.arange(500) < 50, 20.0, 0.0) + 0.5
    assert robust_error(y, rough) < robust_error(y, missed)


def test_the_robust_error_counts_weights_as_repeats():
    rng = np.random.default_rng(0)
    e, counts = rng.standard_t(3, 60), rng.integers(0, 3, 60)
    repeated = np.repeat(e, counts)
    once = robust_error(e, 0 * e, sample_weight=counts)
    assert once == pytest.approx(robust_error(repeated, 0 * repeated))


def test_a_search_on_spoilt_rows_picks_the_right_model():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(300, 1))
    y = np.sin(4 * X[:, 0]) + 0.1 * rng.normal(size=300)
    y[::5] += 100 * rng.normal(size=60)
    grid = {"n_neighbors": [1, 3, 9, 21, 61, 150]}
    search = GridSearchCV(_MedianNeighbours(), grid, scoring=robust_scorer, cv=4).fit(X, y)
    errors = [
        np.std(_MedianNeighbours(k).fit(X, y).predict(X) - np.sin(4 * X[:, 0]))
        for k in grid["n_neighbors"]
    ]
    assert errors[search.best_index_] < 1.1 * min(errors)


class _MedianNeighbours(RegressorMixin, BaseEstimator):
    """The median target of the nearest rows."""

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X, y):
        self.tree_, self.y_ = NearestNeighbors(n_neighbors=self.n_neighbors).fit(X), y
        return self

    def predict(self, X):
        return np.median(self.y_[self.tree_.kneighbors(X, return_distance=False)], axis=1)
