"""Outliers: one clean row in a hundred, scores in units of the noise, and R² of the others."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import r2_score

from kmpe.inference.outliers import FALSE_POSITIVES, outlier_limit, robust_r2, scaled_residuals


@pytest.mark.parametrize("dim", [1, 2, 7])
def test_one_clean_gaussian_row_in_a_hundred_is_beyond_the_limit(dim):
    e = np.random.default_rng(0).normal(size=(200_000, dim))
    beyond = np.mean(np.linalg.norm(e, axis=1) > outlier_limit(dim))
    assert beyond == pytest.approx(FALSE_POSITIVES, abs=1e-3)


@pytest.mark.parametrize("dim", [1, 3])
def test_scores_are_residual_norms_in_units_of_the_noise(dim):
    e = 2.5 * np.random.default_rng(0).normal(size=(50_000, dim))
    scores, scale = scaled_residuals(e, np.ones(50_000), 0)
    assert scale == pytest.approx(2.5, rel=0.02)
    np.testing.assert_allclose(scores * scale, np.linalg.norm(e, axis=1))


def test_fitted_rows_lie_too_near_and_the_scale_makes_up_for_it():
    """Residuals of k parameters have the variance 1 - k / n of the noise."""
    rng, scales = np.random.default_rng(0), []
    for _ in range(200):
        H, t = rng.normal(size=(40, 20)), rng.normal(size=40)
        r = t - H @ np.linalg.lstsq(H, t, rcond=None)[0]
        scales.append(scaled_residuals(r[:, None], np.ones(40), 20)[1])
    assert np.mean(scales) == pytest.approx(1, rel=0.1)


@given(seed=st.integers(0, 999))
def test_a_weight_of_k_is_k_equal_rows(seed):
    rng = np.random.default_rng(seed)
    R, T, k = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)), rng.integers(0, 4, 30)
    k[0] = 1
    repeat = lambda X: np.repeat(X, k, axis=0)  # noqa: E731
    scores, scale = scaled_residuals(R, k.astype(float), 2)
    again, scale2 = scaled_residuals(repeat(R), np.ones(k.sum()), 2)
    assert scale == pytest.approx(scale2)
    np.testing.assert_allclose(repeat(scores), again)
    ones = np.ones(k.sum())
    assert robust_r2(T, R, k.astype(float)) == pytest.approx(robust_r2(repeat(T), repeat(R), ones))


def test_r2_is_scikit_learns_over_the_rows_that_count():
    rng = np.random.default_rng(0)
    T, R, a = rng.normal(size=(50, 1)), 0.3 * rng.normal(size=(50, 1)), rng.uniform(size=50)
    a[:10] = 0
    assert robust_r2(T, R, a) == pytest.approx(r2_score(T, T - R, sample_weight=a))
    R[:10] = 1e9  # outliers have no say
    assert robust_r2(T, R, a) == pytest.approx(r2_score(T[10:], (T - R)[10:], sample_weight=a[10:]))


def test_r2_where_there_is_nothing_to_explain():
    assert np.isnan(robust_r2(np.ones((3, 1)), np.zeros((3, 1)), np.zeros(3)))
    assert robust_r2(np.ones((3, 1)), np.zeros((3, 1)), np.ones(3)) == 0
