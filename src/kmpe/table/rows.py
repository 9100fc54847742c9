"""The results for each row: prediction, interval, score, and why it is an outlier."""

from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from kmpe.table.fitting import Fitted
from kmpe.table.written import written

__all__ = ["COVERAGE", "outlier_table", "worst_rows"]

#: Coverage of the prediction intervals.
COVERAGE = 0.9


def outlier_table(fitted: Fitted) -> pd.DataFrame:
    """Return the results of the chosen model for each row of the file."""
    index = fitted.inputs.index
    out = pd.DataFrame(index=index)
    estimator = fitted.model[-1]
    y = pd.Series(fitted.y, index=fitted.rows)
    out[fitted.target] = y.reindex(index)
    prepared = fitted.prepared
    if len(prepared) < len(index):
        prepared = fitted.model.named_steps["inputs"].transform(fitted.inputs)
    if fitted.task == "regression":
        predicted, low, high = predictions(fitted.model[1:], prepared)
        out["prediction"], out["low"], out["high"] = predicted, low, high
    else:
        out["prediction"] = fitted.model[1:].predict(prepared)
    scores = pd.Series(estimator.outlier_scores_, index=fitted.rows)
    outliers = pd.Series(estimator.outliers_, index=fitted.rows)
    out["outlier_score"] = scores.reindex(index)
    out["outlier"] = outliers.reindex(index, fill_value=False)
    out["reason"] = ""
    out.loc[out[fitted.target].isna(), "reason"] = f"no {fitted.target}: set aside"
    named = out.index[out["outlier"]]
    out.loc[named, "reason"] = _reasons(fitted, out.loc[named])
    return out


def predictions(model: Pipeline, inputs: Any) -> tuple[Any, Any, Any]:
    """Return predictions of a regression with the ends of their intervals."""
    inner = model[:-1].transform(inputs) if len(model) > 1 else inputs
    predicted, low, high = model[-1].predict(inner, return_interval=COVERAGE)
    return predicted, low, high


def worst_rows(fitted: Fitted, table: pd.DataFrame, count: int = 20) -> pd.DataFrame:
    """Return the outliers with the largest scores, all columns of the file beside the reason."""
    outliers = table[table["outlier"]]
    worst = outliers.sort_values("outlier_score", ascending=False, kind="stable").head(count)
    shown = worst[["prediction", "outlier_score", "reason"]].copy()
    values = fitted.table.frame.loc[worst.index]
    return pd.concat([shown, values], axis=1)


def _reasons(fitted: Fitted, outliers: pd.DataFrame) -> list[str]:
    """Return the reason why each row is an outlier."""
    if fitted.task == "classification":
        pairs = zip(outliers[fitted.target], outliers["prediction"], strict=True)
        return [
            f"is {given}; similar rows are {said}"
            if given != said
            else f"{given}, close to the border"
            for given, said in pairs
        ]
    scale = fitted.model[-1].scale_
    given, said = (outliers[name].to_numpy() for name in (fitted.target, "prediction"))
    sizes = np.abs(given - said)
    unit = " scales" if scale > 0 else ""
    sizes = sizes / scale if scale > 0 else sizes
    sides = np.where(given > said, "above", "below")
    return [
        f"{fitted.target} is {size:.3g}{unit} {side} its prediction{far}"
        for size, side, far in zip(sizes, sides, _far_inputs(fitted, outliers.index), strict=True)
    ]


def _far_inputs(fitted: Fitted, rows: pd.Index) -> list[str]:
    """Return the most extreme input of each row with unusual inputs; nothing for the others."""
    numbers = fitted.X.select_dtypes("number")
    found = fitted.distances
    where = fitted.X.index.get_indexer(rows)
    beyond = found.values[where] > found.limit
    if not beyond.any():
        return [""] * len(rows)
    values, middle = numbers.to_numpy()[where], np.nanmedian(numbers.to_numpy(), axis=0)
    mad = np.nanmedian(np.abs(numbers.to_numpy() - middle), axis=0)
    far = np.nan_to_num(np.abs(values - middle) / np.where(mad > 0, mad, np.inf))
    furthest = far.argmax(axis=1)
    return [
        f"; its inputs are unusual: {numbers.columns[j]} is {written(value[j])}, the median "
        f"{written(middle[j])}"
        if out
        else ""
        for out, j, value in zip(beyond, furthest, values, strict=True)
    ]
