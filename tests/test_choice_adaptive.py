"""The adaptive loss where rows are few."""

import numpy as np
import pytest

from kmpe import RobustLinearRegression
from kmpe.estimators.inputs import RobustnessWarning


@pytest.mark.parametrize(("n", "d"), [(20, 14), (40, 25)])
def test_rows_that_are_met_exactly_say_nothing_of_the_noise(n, d):
    """With fewer than two rows per coefficient half of the residuals of the start are rounding."""
    ours, theirs = [], []
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X, b = rng.normal(size=(n, d)), rng.normal(size=d)
        y = X @ b + rng.normal(size=n)
        order = rng.permutation(n)
        with pytest.warns(RobustnessWarning, match="below two rows per coefficient"):
            model, other = (RobustLinearRegression().fit(X[o], y[o]) for o in (slice(None), order))
        np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-2)
        ours.append(np.sum((model.coef_ - b) ** 2))
        theirs.append(np.sum((np.linalg.lstsq(np.c_[X, np.ones(n)], y)[0][:d] - b) ** 2))
    assert np.mean(ours) < 1.2 * np.mean(theirs)
