"""Confidence intervals of coefficients, and the table that shows them."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from kmpe.arrays import Array

__all__ = ["Term", "confidence", "summary", "terms_of"]


@dataclass(frozen=True)
class Term:
    """One line of the summary."""

    name: str
    estimate: float
    error: float
    low: float
    high: float


def terms_of(names: list[str], estimates: Array, errors: Array, limits: Array) -> list[Term]:
    """Return the lines of all coefficients, shape (q, k) each and (q, k, 2), target by target."""
    return [
        Term(
            f"y{j} {name}" if len(estimates) > 1 else name,
            float(estimates[j, i]),
            float(errors[j, i]),
            *limits[j, i].tolist(),
        )
        for j in range(len(estimates))
        for i, name in enumerate(names)
    ]


def confidence(estimates: Array, cov: Array, df: float, level: float) -> Array:
    """Return lower and upper ends of the confidence intervals, shape (k, 2)."""
    width = stdtrit(max(df, 1.0), 0.5 + level / 2) * np.sqrt(np.diag(cov))
    return np.column_stack([estimates - width, estimates + width])


def summary(terms: list[Term], df: float, facts: list[tuple[str, str]]) -> str:
    """Return the table of coefficients, errors and intervals below facts about the fit.

    P>|t| is the two-sided p-value of Student's t with ``df`` degrees of freedom.
    """
    width = max(9, *(len(term.name) for term in terms))
    lines = [f"{name:<{width}}  {value}" for name, value in facts]
    header = f"{'':<{width}}  {'coef':>11} {'std err':>11} {'t':>8} {'P>|t|':>7}"
    header += f" {'low':>11} {'high':>11}"
    lines += ["", header, "-" * len(header)]
    for term in terms:
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = float(np.divide(term.estimate, term.error))
        lines.append(
            f"{term.name:<{width}}  {term.estimate:11.5g} {term.error:11.4g} {ratio:8.2f} "
            f"{2 * stdtr(df, -abs(ratio)):7.3f} {term.low:11.5g} {term.high:11.5g}"
        )
    if any(math.isnan(term.error) for term in terms):
        lines += ["", "nan: the rows do not determine this coefficient, or its error."]
    return "\n".join(lines)
