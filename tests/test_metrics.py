"""Measures of fit, by hand and through scikit-learn."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_score

from kmpe import ELMRegressor
from kmpe.datasets import make_sinc
from kmpe.metrics import clustering_accuracy, correntropy, kmpe_loss


def test_kmpe_loss_is_equation_5():
    y, f = np.array([0.0, 1.0, 3.0]), np.array([0.5, 1.0, -1.0])
    expected = np.mean((1 - np.exp(-((y - f) ** 2) / (2 * 1.5**2))) ** (3 / 2))
    assert kmpe_loss(y, f, p=3, sigma=1.5) == pytest.approx(expected, rel=1e-12)


def test_correntropy_is_one_minus_the_loss_of_power_two():
    y, f = np.array([0.0, 1.0, 3.0]), np.array([0.5, 1.0, -1.0])
    assert correntropy(y, f, sigma=2) == pytest.approx(np.mean(np.exp(-((y - f) ** 2) / 8)))
    assert correntropy(y, f) == pytest.approx(1 - kmpe_loss(y, f))


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
