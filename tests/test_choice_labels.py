"""Wrong labels: rows that have one lose their weight, others keep it, probabilities are ones."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

from kmpe import ELMClassifier
from kmpe.choice.labels import LabelNoise


def scores(n, n_classes, seed, *, temperature=4.0):
    """Return scores, and labels drawn from their softmax at that temperature."""
    rng = np.random.default_rng(seed)
    F = rng.uniform(size=(n, n_classes))
    Z = np.exp(temperature * F)
    P = Z / Z.sum(axis=1, keepdims=True)
    labels = np.array([rng.choice(n_classes, p=p) for p in P])
    return F, labels, rng


def flipped(labels, share, n_classes, rng):
    wrong = rng.uniform(size=len(labels)) < share
    return np.where(wrong, (labels + rng.integers(1, n_classes, len(labels))) % n_classes, labels)


def separated(seed, share, n_classes):
    """Return rows of classes six standard deviations apart, their labels, and those given."""
    rng = np.random.default_rng(seed)
    y = np.arange(200) % n_classes
    X = rng.normal(size=(200, 3))
    X[:, 0] += 6 * y
    wrong = np.zeros(200, dtype=bool)
    wrong[rng.choice(200, int(200 * share), replace=False)] = True
    return X, y, np.where(wrong, (y + rng.integers(1, n_classes, 200)) % n_classes, y)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_temperature_and_share_are_found(n_classes, share):
    F, labels, rng = scores(20_000, n_classes, 0, temperature=8.0)
    found = LabelNoise.of(F, flipped(labels, share, n_classes, rng), np.ones(len(F)))
    assert found.temperature == pytest.approx(8.0, rel=0.15)
    assert found.share == pytest.approx(share, abs=0.04)


def test_the_probability_of_a_right_label_is_that_of_bayes():
    F = np.array([[0.2, 0.5, 0.3]])
    s = np.exp(3 * F[0]) / np.exp(3 * F[0]).sum()
    right = LabelNoise(3.0, 0.2, 3.0, 0.0).right(F, np.array([1]))
    assert right[0] == pytest.approx(0.8 * s[1] / (0.8 * s[1] + 0.1 * (s[0] + s[2])))
    assert LabelNoise(3.0, 0.0, 3.0, 0.0).right(F, np.array([0]))[0] == 1


def test_integer_counts_are_repeats():
    F, labels, rng = scores(100, 3, 1)
    a = rng.integers(0, 4, 100)
    repeated = np.repeat(np.arange(100), a)
    once = LabelNoise.of(F, labels, a.astype(float))
    assert once == LabelNoise.of(F[repeated], labels[repeated], np.ones(len(repeated)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probabilities_add_up_and_none_is_0(dtype):
    F = np.array([[0, 1, 0], [1e3, -1e3, 0], [0.3, 0.3, 0.4]], dtype=dtype)
    P = LabelNoise(60.0, 0.1, 60.0, 0.0).probabilities(F)
    np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
    assert (P > 0).all()
    assert P.argmax(axis=1).tolist() == [1, 0, 2]


@pytest.mark.parametrize("n_classes", [2, 5])
def test_with_the_noise_known_wrong_labels_lose_their_weight_and_no_others(n_classes):
    rng = np.random.default_rng(3)
    labels = np.arange(500) % n_classes
    F = np.eye(n_classes)[labels] + 0.1 * rng.normal(size=(500, n_classes))
    given = flipped(labels, 0.2, n_classes, rng)
    right = LabelNoise(10.0, 0.2, 10.0, 0.0).right(F, given)
    assert right[given != labels].max() < 0.1
    assert right[given == labels].min() > 0.9


def test_where_scores_do_not_tell_a_contradicted_label_is_wrong():
    """A tenth of labels wrong, or a low temperature, are as likely where scores are 0 and 1."""
    labels, given = np.zeros(100, dtype=int), np.repeat([0, 1], [90, 10])
    found = LabelNoise.of(np.eye(2)[labels], given, np.ones(100))
    right = found.right(np.eye(2)[labels], given)
    assert right[:90].min() > 0.9
    assert right[90:].max() < 0.1
    # Probabilities stay cautious: about nine in ten.
    assert 0.8 < found.probabilities(np.eye(2)[labels[:1]])[0, 0] < 0.95


@pytest.mark.parametrize("n_classes", [2, 3])
def test_right_labels_keep_their_weight(n_classes):
    X, y, _ = separated(10, 0.0, n_classes)
    model = ELMClassifier().fit(X, y)
    assert model.weights_.min() > 0.5
    assert not model.outliers_.any()


@pytest.mark.parametrize("seed", [20, 21, 22])
def test_flipped_labels_of_separated_classes_are_outliers(seed):
    X, y, given = separated(seed, 0.1, 2)
    model = ELMClassifier().fit(X, given)
    assert model.score(X, y) > 0.95
    assert np.mean(model.outliers_[given != y]) > 0.8
    assert np.mean(model.outliers_[given == y]) < 0.05


@pytest.mark.parametrize("seed", [10, 11, 12])
def test_predictions_are_right_where_a_tenth_of_two_classes_is_flipped(seed):
    X, y, given = separated(seed, 0.1, 2)
    model = ELMClassifier().fit(X, given)
    assert model.score(X, y) > 0.98
    assert np.mean(model.outliers_[given == y]) < 0.02


def test_weights_do_not_run_away_with_many_classes_and_few_rows():
    """Weights of a round make those of the next: it must not end where labels are less likely."""
    right = []
    for seed in (3, 4, 5):
        rng = np.random.default_rng(seed)
        X, y = make_blobs(450, n_features=8, centers=25, cluster_std=4.0, random_state=seed)
        X *= np.exp(rng.normal(size=8))
        moved = (y + rng.integers(1, 25, 450)) % 25
        given = np.where(rng.random(450) < 0.4, moved, y)
        model = ELMClassifier().fit(X[:150], given[:150])
        right.append(model.score(X[150:], y[150:]))
        assert model.outliers_.mean() < 0.6
    assert np.mean(right) > 0.45


def test_probabilities_of_overlapping_classes_are_calibrated():
    """Close to the best that there are: the log loss of the true ones."""
    rng = np.random.default_rng(0)
    y = np.arange(2400) % 2
    x = rng.normal(size=(2400, 1)) + 1.5 * y[:, None]
    model = ELMClassifier().fit(x[:400], y[:400])
    P = model.predict_proba(x[400:])
    np.testing.assert_allclose(P.sum(axis=1), 1)
    assert (P > 0).all()
    true = 1 / (1 + np.exp(-1.5 * (x[400:, 0] - 0.75)))
    assert log_loss(y[400:], P[:, 1]) < 1.1 * log_loss(y[400:], true)
