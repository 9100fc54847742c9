"""Confidence intervals and the table of coefficients, as statsmodels has them."""

import numpy as np
import pytest
import statsmodels.api as sm

from kmpe.inference.summary import Term, confidence, summary


def model(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return sm.OLS(X @ [1.0, 0.0, -2.0] + rng.normal(size=n), X).fit()


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_intervals_are_those_of_students_t(level):
    theirs = model()
    ours = confidence(theirs.params, theirs.cov_params(), theirs.df_resid, level)
    np.testing.assert_allclose(ours, theirs.conf_int(1 - level), rtol=1e-9)


def test_the_table_has_a_line_for_each_coefficient_and_statsmodels_p_values():
    theirs = model()
    limits = theirs.conf_int(0.05)
    terms = [Term(f"x{i}", theirs.params[i], theirs.bse[i], *limits[i].tolist()) for i in range(3)]
    text = summary(terms, theirs.df_resid, [("loss", "Squared()"), ("scale", "1.2")])
    lines = text.splitlines()
    assert lines[0].split() == ["loss", "Squared()"]
    table = [line.split() for line in lines[-3:]]
    for i, cells in enumerate(table):
        assert cells[0] == f"x{i}"
        values = [float(cell) for cell in cells[1:]]
        columns = (theirs.params, theirs.bse, theirs.tvalues, theirs.pvalues)
        expected = [*(column[i] for column in columns), *limits[i]]
        # As many digits as the columns have: four of each number, two decimals of t, three of p.
        np.testing.assert_allclose(values, expected, rtol=1e-3, atol=6e-3)
        assert values[3] == pytest.approx(expected[3], abs=6e-4)


def test_a_coefficient_without_error_is_certain():
    line = summary([Term("x", 1.0, 0.0, 1.0, 1.0)], 5, []).splitlines()[-1]
    assert float(line.split()[4]) == 0
