"""A table is fitted as its columns and its target ask for."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kmpe import ELMClassifier, ELMRegressor, RobustLinearRegression
from kmpe.table import TableError, fit
from kmpe.table.comparison import Score
from kmpe.table.rows import outlier_table, worst_rows
from kmpe.table.verdict import coefficient_rows, verdict

REFERENCE = Path(__file__).parent / "reference"


def table(folder: Path, **columns: Any) -> Path:
    path = folder / "data.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    return path


def linear_data(n: int = 120, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    return {"a": a, "b": b, "y": 3 + 2 * a - b + 0.1 * rng.normal(size=n)}


def test_stack_loss_has_its_four_outliers() -> None:
    fitted = fit(REFERENCE / "stackloss.csv", "stack.loss")
    rows = outlier_table(fitted)
    assert rows.index[rows["outlier"]].tolist() == [1, 3, 4, 21]
    assert re.match(r"stack.loss is 6\.\d+ scales below its prediction", rows.loc[21, "reason"])
    assert (rows["low"] < rows["prediction"]).all()
    assert worst_rows(fitted, rows).index.tolist() == [21, 4, 3, 1]
    assert verdict(fitted).startswith("4 of 21 rows (19.0%) do not fit the others. Least squares")


def test_the_giants_of_the_stars_are_told_and_what_they_do() -> None:
    fitted = fit(REFERENCE / "stars.csv", "log.light")
    rows = outlier_table(fitted)
    assert {11, 20, 30, 34} <= set(rows.index[rows["outlier"]])
    assert "its slope of “log.Te” is -0.413" in verdict(fitted)
    (slope, intercept) = coefficient_rows(fitted)
    assert slope["robust"][0] > 2 > 0 > slope["plain"][0]
    assert intercept["name"] == "intercept"


def test_an_input_far_out_is_named_as_the_reason(tmp_path: Path) -> None:
    data = linear_data()
    data["a"][7] = 1000.0
    rows = outlier_table(fit(table(tmp_path, **data), "y", model="linear"))
    assert "its inputs are unusual: a is 1000, the median" in rows.loc[8, "reason"]


def test_clean_rows_are_called_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, 60)
    noise = rng.uniform(-1, 1, 60)  # no row can lie beyond 2.58 scales
    said = verdict(fit(table(tmp_path, x=x, y=5 * x + noise), "y", model="linear"))
    assert said.startswith("All 60 rows fit each other. The slopes of least squares differ")


def test_the_machine_is_taken_where_it_predicts_better(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.uniform(-3, 3, 300)
    bent = fit(table(tmp_path, x=x, y=np.sin(2 * x) + 0.1 * rng.normal(size=300)), "y")
    assert bent.chosen == "machine"
    assert isinstance(bent.model[-1], ELMRegressor)
    assert fit(table(tmp_path, **linear_data()), "y").chosen == "linear"


def test_a_few_outliers_do_not_decide_which_model_is_better() -> None:
    errors = np.full(100, 1.0)
    worse = np.where(np.arange(100) < 5, 1e6, 0.9)
    assert Score("a", worse).beats(Score("b", errors))
    assert not Score("b", errors).beats(Score("a", worse))
    assert not Score("a", errors).beats(Score("b", errors))


def test_words_are_classified(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 200))
    x[0, :3] = 1.5, -1.2, 2.0  # far from the border: near it nobody could tell
    label = np.where(x[0] > 0, "up", "down")
    label[:3] = np.where(x[0, :3] > 0, "down", "up")
    fitted = fit(table(tmp_path, a=x[0], b=x[1], y=label), "y")
    assert fitted.task == "classification"
    assert isinstance(fitted.model[-1], ELMClassifier)
    rows = outlier_table(fitted)
    assert rows.loc[[1, 2, 3], "outlier"].all()
    assert "similar rows are" in rows.loc[1, "reason"]
    against = int((rows["outlier"] & (rows["y"] != rows["prediction"])).sum())
    assert verdict(fitted).startswith(f"{against} of 200 rows")
    assert against >= 3
    assert [score.name for score in fitted.scores] == ["machine", "Ridge", "the commonest class"]


def test_two_whole_numbers_are_a_category_unless_a_linear_model_is_asked_for(
    tmp_path: Path,
) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    path = table(tmp_path, x=x, y=(x + 0.3 * rng.normal(size=100) > 0).astype(int))
    assert fit(path, "y").task == "classification"
    assert fit(path, "y", model="linear").task == "regression"


def test_rows_without_a_target_are_set_aside_and_predicted(tmp_path: Path) -> None:
    data = linear_data()
    data["y"][[3, 50]] = np.nan
    fitted = fit(table(tmp_path, **data), "y")
    assert len(fitted.y) == 118
    assert "2 of 120 rows have no y and were set aside." in fitted.table.notes
    rows = outlier_table(fitted)
    assert rows.loc[4, "reason"] == "no y: set aside"
    assert np.isfinite(rows.loc[4, "prediction"])
    assert np.isnan(rows.loc[4, "outlier_score"])


def test_weights_count_rows_and_dropped_columns_are_not_seen(tmp_path: Path) -> None:
    data = linear_data()
    weights = np.random.default_rng(1).integers(1, 4, 120)
    path = table(tmp_path, **data, w=weights, z=data["y"])
    fitted = fit(path, "y", model="linear", weights="w", drop=["z"])
    assert fitted.names == ["a", "b"]
    X = np.column_stack([data["a"], data["b"]])
    alone = RobustLinearRegression().fit(X, data["y"], weights)
    np.testing.assert_allclose(fitted.model[-1].coef_, alone.coef_, rtol=1e-6)
    assert fitted.call.endswith("'y', model='linear', weights='w', drop=['z'])")


@pytest.mark.parametrize(
    ("weights", "message"),
    [(["a"] * 120, "must be numbers"), ([-1] * 120, "none below 0"), ([0] * 120, "all 0")],
)
def test_weights_that_cannot_be_are_refused(weights: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=message):
        fit(table(tmp_path, **linear_data(), w=weights), "y", weights="w")


def test_cautions_of_the_fits_are_kept(tmp_path: Path) -> None:
    data = linear_data()
    fitted = fit(table(tmp_path, **data, c=2 * data["a"]), "y", model="linear")
    assert any("linearly dependent" in caution for caution in fitted.cautions)


def test_the_same_seed_gives_the_same_fit(tmp_path: Path) -> None:
    path = table(tmp_path, **linear_data())
    one, other = (fit(path, "y", model="machine", seed=1) for _ in range(2))
    np.testing.assert_array_equal(one.predicted, other.predicted)


def test_models_that_there_are_not(tmp_path: Path) -> None:
    path = table(tmp_path, x=range(20), y=list("ab") * 10)
    with pytest.raises(TableError, match="choose one of auto, linear, machine"):
        fit(path, "y", model="forest")
    with pytest.raises(TableError, match="a linear model predicts numbers"):
        fit(path, "y", model="linear")
