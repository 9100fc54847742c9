"""Rows: sums and columns over blocks, whatever stands behind a block."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from kmpe.losses import KMPE, MPE, Correntropy
from kmpe.losses.floored import AsPrinted, Floored
from kmpe.problems import ridge_sums as ridge
from kmpe.problems.pca import sums
from kmpe.problems.pca.points import Mixture, Shift, SquaredNorm, _sum
from kmpe.rows import sample, source, standardised
from kmpe.rows.files import Reader
from kmpe.rows.hidden_layer import ACTIVATIONS, HiddenLayer
from kmpe.rows.source import Outputs, Rows

RNG = np.random.default_rng(0)
X, T, A = RNG.normal(size=(600, 3)), RNG.normal(size=(600, 2)), RNG.uniform(0.5, 2, 600)
LAYER = HiddenLayer.draw(3, 8, "sigmoid", np.random.RandomState(0))


def count_and_sum(block):
    return np.float64(len(block.T)), block.a @ block.H, block.H.T @ block.T


@given(n=st.integers(1, 5000), blocks=st.integers(1, 400))
@settings(max_examples=40)
def test_a_sum_over_blocks_is_the_sum_over_rows(n, blocks):
    H, t = np.arange(2.0 * n).reshape(n, 2), np.ones((n, 1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "BLOCK_BYTES", max(1, n // blocks) * 16)
        count, total, cross = Rows.of(H, t).total(count_and_sum)
    assert count == n
    np.testing.assert_array_equal(total, H.sum(axis=0))
    np.testing.assert_array_equal(cross[:, 0], H.sum(axis=0))


@pytest.mark.parametrize("features", [None, LAYER])
@pytest.mark.parametrize("kind", ["dense", "single", "sparse", "file"])
def test_every_source_has_the_same_rows(kind, features):
    inputs = {
        "dense": X,
        "single": X.astype(np.float32),
        "sparse": sparse.csr_array(X),
        "file": Reader(_Sliced(X)),
    }[kind]
    rows, plain = Rows(inputs, T, A, features), Rows(X, T, A, features)
    atol = 1e-5 if kind == "single" else 1e-12
    np.testing.assert_allclose(rows.whole(), plain.whole(), atol=atol)
    outputs = Outputs(RNG.normal(size=(rows.n_features, 2)))
    np.testing.assert_allclose(rows.column(outputs, 2), plain.column(outputs, 2), atol=20 * atol)
    some = np.array([5, 2, 2, 599])
    taken = rows.take(some)
    np.testing.assert_allclose(taken.whole(), plain.whole()[some], atol=atol)
    np.testing.assert_array_equal(taken.T, T[some])
    np.testing.assert_array_equal(taken.a, A[some])


class _Sliced:
    def __init__(self, X):
        self._X, self.shape = X, X.shape

    def __getitem__(self, where):
        assert isinstance(where, slice)
        return self._X[where]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_stored_features_are_those_of_the_layer(dtype):
    stored = Rows(X.astype(dtype), T, A, LAYER).stored(dtype)
    assert stored.features is None
    assert stored.X.dtype == dtype
    np.testing.assert_allclose(stored.X, LAYER(X), atol=1e-6 if dtype == np.float32 else 1e-14)


def test_blocks_come_in_order_and_in_double_precision():
    rows = Rows(X.astype(np.float32), T.astype(np.float32), A)
    blocks = list(rows.blocks())
    assert all(block.H.dtype == block.T.dtype == np.float64 for block in blocks)
    np.testing.assert_array_equal(np.concatenate([b.H for b in blocks]), X.astype(np.float32))


def test_weights_of_zero_are_no_rows():
    a = np.array([0.0, 2.0, 0.0, 0.5])
    rows = Rows.of(np.ones((4, 1)), np.ones((4, 1)), a)
    assert (rows.n, rows.n_counted, len(rows)) == (2.5, 2, 4)


def test_tied_rows_have_one_order_whether_their_features_are_stored_or_not():
    ties = np.repeat([[0.0, 1.0], [1.0, 0.0]], 300, axis=0)
    rows = Rows(X, ties, A, LAYER)
    np.testing.assert_array_equal(rows.order, rows.stored().order)


def test_weights_and_targets_in_other_units():
    rows = Rows(X, T, A)
    np.testing.assert_array_equal(rows.per(3.0).a, A / 3.0)
    doubled = rows.reweighed(lambda block: 2 * block.H[:, 0] ** 2)
    np.testing.assert_array_equal(doubled.a, A * (2 * X[:, 0] ** 2))
    centred = rows.centred(np.array([1.0, -1.0]))
    np.testing.assert_array_equal(centred.T, T - [1.0, -1.0])
    tiny = rows.centred(np.zeros(2), 2.0**-40)
    assert np.abs(tiny.T).max() == 1e8


def test_values_that_are_kept_are_summed_in_the_blocks_of_their_rows():
    rows = Rows(X, T, A, most=100)
    kept = rows.mapped(source._features)
    assert kept._parts == rows._parts
    for one, other in zip(kept.total(count_and_sum), rows.total(count_and_sum), strict=True):
        np.testing.assert_array_equal(one, other)


# -- what is summed can be sent elsewhere ----------------------------------------------------

BETA = RNG.normal(size=(3, 2))
DISTANCES = sums.Distances(RNG.normal(size=3), np.linalg.qr(RNG.normal(size=(3, 2)))[0])
CRITERIA = [KMPE(p=4, sigma=1.0), Floored(MPE(p=1), 1e-6), AsPrinted(Correntropy(1.0), 0.0)]
COLUMNS = [
    ridge.Residuals(BETA),
    ridge.SquaredResiduals(BETA),
    ridge.SquaredNorms(BETA),
    source.mixed,
    Outputs(BETA),
    source._features,
    DISTANCES,
    sums.Both(DISTANCES.mean, DISTANCES.W),
    Mixture(np.arange(3.0)),
    SquaredNorm(np.ones(3)),
    sums.Measured(DISTANCES, sums.Distances(np.zeros(3), np.eye(3)[:, :1])),
]
TERMS = [
    ridge.gram_of,
    standardised._Moments(np.arange(3.0)),
    sample._Energy(np.array([0, 2])),
    _sum,
    *(
        term
        for loss in CRITERIA
        for term in (
            ridge.Cost(BETA, loss),
            ridge.CostAndPull(BETA, loss),
            ridge.Moments(BETA, loss),
            sums.Cost(DISTANCES, loss),
            sums.ScatterMatrix(DISTANCES, loss),
            sums.Scores(DISTANCES, loss),
            sums.Mean(DISTANCES, loss),
            sums.Products(DISTANCES, loss, BETA),
            sums.WeightedScores(DISTANCES, DISTANCES, loss),
        )
    ),
]
MAPS = [
    standardised.Standardised(np.arange(3.0), np.arange(1.0, 4.0), np.ones(3, dtype=bool), True),
    ridge.Projected(None, np.eye(3)[:, :2]),
    ridge.Projected(LAYER, np.eye(8)[:, :3]),
    Shift(np.arange(3.0)),
    *(HiddenLayer.draw(3, 5, name, np.random.RandomState(0)) for name in ACTIVATIONS),
    HiddenLayer.draw(3, 5, np.arctan, np.random.RandomState(0)),
]


def kind(value):
    """Return what pytest prints for a term: its name, and its loss or activation."""
    parts = [getattr(value, "__name__", type(value).__name__)]
    if getattr(value, "loss", None) is not None:
        parts.append(type(value.loss).__name__)
    if getattr(value, "activation", None) is not None:
        parts.append(getattr(value.activation, "__name__", str(value.activation)))
    return "-".join(parts)


def sent(value):
    return pickle.loads(pickle.dumps(value))


def test_every_term_of_the_problems_is_under_this_contract():
    """A callable dataclass of a block, added to one of these modules, must be in a list here."""
    here = {type(value) for value in (*COLUMNS, *TERMS, *MAPS)}
    for module in (ridge, sums, standardised, sample):
        terms = {
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and value.__module__ == module.__name__
            and "__call__" in vars(value)
        }
        assert terms
        assert terms <= here


@pytest.mark.parametrize("term", TERMS, ids=kind)
def test_terms_survive_the_mail_and_leave_their_block_alone(term):
    block = Rows(X, T, A).block(slice(0, 600))
    before = [part.copy() for part in block]
    expected = term(block)
    for value, again, received in zip(expected, term(block), sent(term)(block), strict=True):
        np.testing.assert_array_equal(again, value)
        np.testing.assert_array_equal(received, value)
    for part, kept in zip(block, before, strict=True):
        np.testing.assert_array_equal(part, kept)


@pytest.mark.parametrize("term", TERMS, ids=kind)
def test_a_term_of_all_rows_is_the_sum_over_their_blocks(term):
    rows = Rows(X, T, A)
    parts = [sent(term)(rows.block(slice(i, i + 150))) for i in range(0, 600, 150)]
    whole = term(rows.block(slice(0, 600)))
    for value, pieces in zip(whole, zip(*parts, strict=True), strict=True):
        np.testing.assert_allclose(sum(pieces), value, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("value", COLUMNS, ids=kind)
def test_values_of_rows_survive_the_mail_and_do_not_depend_on_their_block(value):
    rows = Rows(X, T, A)
    block = rows.block(slice(0, 600))
    before = [part.copy() for part in block]
    whole = value(block)
    np.testing.assert_array_equal(sent(value)(block), whole)
    np.testing.assert_allclose(value(rows.block(slice(100, 130))), whole[100:130], rtol=1e-11)
    for part, kept in zip(block, before, strict=True):
        np.testing.assert_array_equal(part, kept)


@pytest.mark.parametrize("features", MAPS, ids=kind)
def test_feature_maps_survive_the_mail_and_leave_their_inputs_alone(features):
    before = X.copy()
    H = features(X)
    assert H.shape == (600, features.n_features)
    np.testing.assert_array_equal(sent(features)(X), H)
    np.testing.assert_array_equal(X, before)
