"""R formulas as the first step of a pipeline."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline

from kmpe import Formula, RobustLinearRegression


def table(n=120, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {"x": rng.normal(size=n), "g": rng.choice(list("abc"), n), "z": rng.uniform(1, 9, n)}
    )


def test_factors_and_interactions_are_contrasts_with_the_first_level():
    frame = table()
    found = Formula("x * g + log(z)").fit_transform(frame)
    b, c = (frame["g"] == "b").astype(float), (frame["g"] == "c").astype(float)
    by_hand = {
        "x": frame["x"],
        "g[T.b]": b,
        "g[T.c]": c,
        "log(z)": np.log(frame["z"]),
        "x:g[T.b]": frame["x"] * b,
        "x:g[T.c]": frame["x"] * c,
    }
    assert found.columns.tolist() == list(by_hand)
    np.testing.assert_allclose(found, pd.DataFrame(by_hand))


def test_new_rows_get_the_levels_and_means_that_were_fitted():
    frame = table()
    formula = Formula("poly(x, 2) + g").fit(frame)
    some = frame.iloc[[7, 3]]
    np.testing.assert_allclose(formula.transform(some), formula.transform(frame).iloc[[7, 3]])


def test_a_pipeline_fits_predicts_and_names_its_coefficients():
    frame = table()
    y = (
        1
        + 2 * frame["x"]
        + 3 * (frame["g"] == "b")
        + 0.1 * np.random.default_rng(1).normal(size=120)
    )
    y[:20] += 50
    model = make_pipeline(Formula("x + g"), RobustLinearRegression()).fit(frame, y)
    np.testing.assert_allclose(model[-1].coef_, [2, 3, 0], atol=0.1)
    assert "g[T.b]" in str(model[-1].summary())
    new = pd.DataFrame({"g": ["b"], "x": [1.0]})
    assert model.predict(new) == pytest.approx(6, abs=0.1)
    assert clone(model)[0].formula == "x + g"


@pytest.mark.parametrize(
    ("formula", "change", "words"),
    [
        ("y ~ x", {}, "has a left-hand side"),
        ("x + nothing", {}, "nothing"),
        ("x +* z", {}, "Operator"),
        ("x", {"x": np.nan}, "null values"),
    ],
)
def test_what_cannot_be_made_is_told(formula, change, words):
    with pytest.raises(ValueError, match=words):
        Formula(formula).fit(table().assign(**change))


@pytest.mark.parametrize(
    "harm",
    [
        "eval('1')",
        "__import__('os')",
        "np.load('x')",
        "np.sqrt.__class__(x)",
        "hashed(g, levels=2, hash_func=exec)",
        "log([v for v in x])",
        "I(x.to_csv('x'))",
        "contr.__class__(x)",
        "`x`(z)",
    ],
)
def test_a_formula_runs_no_code(harm):
    with pytest.raises(ValueError, match=r"may not use|cannot be read|cannot be applied"):
        Formula(f"x + {harm}").fit(table())


def test_columns_may_have_any_name():
    frame = table().rename(columns={"x": "my x", "z": "hash"})
    found = Formula("`my x` + log(hash) + I(`my x` ** 2)").fit_transform(frame)
    by_hand = [frame["my x"], np.log(frame["hash"]), frame["my x"] ** 2]
    np.testing.assert_allclose(found, np.column_stack(by_hand))


def test_numbers_stay_numbers_and_levels_stay_levels():
    formula = Formula("x + g").fit(table())
    for change in ({"x": "a"}, {"g": 1.5}):
        with pytest.raises(ValueError, match="of the types of the training data"):
            formula.transform(table().assign(**change))


def test_unknown_levels_are_no_silent_zeros():
    formula = Formula("g").fit(table())
    with pytest.raises(ValueError, match="'d'"):
        formula.transform(table().assign(g="d"))


def test_a_formula_sees_columns_only():
    secret = 3.0  # noqa: F841 - a variable of the caller
    with pytest.raises(ValueError, match="secret"):
        Formula("x + secret").fit(table())


def test_arrays_have_no_names():
    with pytest.raises(TypeError, match="data frame"):
        Formula("x").fit(np.ones((3, 1)))


def test_names_are_known_after_the_fit():
    with pytest.raises(NotFittedError):
        Formula("x").get_feature_names_out()
    assert Formula("x + z").fit(table()).get_feature_names_out().tolist() == ["x", "z"]


def test_without_formulaic_a_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(ImportError, match=r"kmpe\[formula\]"):
        Formula("x").fit(table())
