"""Draw which estimator suits which table: the picture of docs/choose.md.

python docs/draw_choice.py docs/choose.svg
"""

import sys
from html import escape
from pathlib import Path

WIDTH, ROW, BOX = 860, 92, 58

# Question, and the answers that lead to an estimator: (answer, name, its page, a word more).
TREE = [
    (
        "Do you predict a number?",
        [
            (
                "coefficients matter, or\na plane is enough",
                "RobustLinearRegression",
                "api/kmpe.RobustLinearRegression.html",
                "standard errors, intervals, outliers",
            ),
            (
                "the function is smooth\nand curved",
                "ELMRegressor",
                "api/kmpe.ELMRegressor.html",
                "streams and files as well",
            ),
            (
                "trees, boosting, or\nanything you like",
                "RobustRegressor(model)",
                "api/kmpe.RobustRegressor.html",
                "any regressor, made robust",
            ),
            (
                "intervals need\na guarantee",
                "ConformalRegressor",
                "api/kmpe.ConformalRegressor.html",
                "around any regressor",
            ),
        ],
    ),
    (
        "Do you predict a class?",
        [
            (
                "smooth borders,\nwrong labels",
                "ELMClassifier",
                "api/kmpe.ELMClassifier.html",
                "two classes or more",
            ),
            (
                "trees, boosting, or\nanything you like",
                "RobustClassifier(model)",
                "api/kmpe.RobustClassifier.html",
                "any classifier, wrong labels",
            ),
        ],
    ),
    (
        "No target, only rows?",
        [
            (
                "directions, scores,\nor odd rows",
                "RobustPCA",
                "api/kmpe.RobustPCA.html",
                "in place of PCA",
            ),
            (
                "values are missing",
                "RobustImputer",
                "api/kmpe.RobustImputer.html",
                "in front of any model",
            ),
        ],
    ),
    (
        "A file, and no Python?",
        [
            (
                "CSV, Parquet, Excel",
                "kmpe fit",
                "tables.html",
                "a report on one page",
            ),
        ],
    ),
]


def drawing() -> str:
    """Return the picture as SVG; colours are those of the page around it."""
    parts, y = [], 10
    for question, answers in TREE:
        middle = y + BOX / 2
        parts.append(_box(0, y, 200, question, "question"))
        for i, (answer, name, page, more) in enumerate(answers):
            level = middle + i * ROW
            parts.append(
                f'<path class="arrow" d="M200 {middle} C230 {middle} 225 {level} 255 {level}"/>'
            )
            parts.append(_text(262, level, answer, "answer"))
            parts.append(f'<path class="arrow" d="M445 {level} H 486"/>')
            parts.append(f'<path class="head" d="M486 {level - 5} l9 5 l-9 5 z"/>')
            box = _box(500, level - BOX / 2, 350, f"{name}\n{more}", "answer-box")
            parts.append(f'<a href="{page}">{box}</a>')
        y += ROW * len(answers) + 16
    style = (
        ".choice text{fill:currentColor;font:15px sans-serif}"
        ".choice rect{fill:var(--pst-color-surface,#f4f6f8);stroke:var(--pst-color-border,#999)}"
        ".choice .answer-box rect{stroke:var(--pst-color-primary,#0a7d91);stroke-width:2}"
        ".choice .name{font-weight:700;font-family:monospace;font-size:16px}"
        ".choice .arrow{fill:none;stroke:var(--pst-color-text-muted,#666);stroke-width:1.5}"
        ".choice .head{fill:var(--pst-color-text-muted,#666)}"
    )
    return (
        f'<svg class="choice" viewBox="0 0 {WIDTH} {y}" role="img" '
        'aria-label="Which estimator for which table" xmlns="http://www.w3.org/2000/svg">'
        f"<style>{style}</style>{''.join(parts)}</svg>\n"
    )


def _box(x: float, y: float, width: float, text: str, kind: str) -> str:
    lines = text.split("\n")
    named = kind == "answer-box"
    rect = f'<rect x="{x + 1}" y="{y}" width="{width - 2}" height="{BOX}" rx="7"/>'
    return f'<g class="{kind}">{rect}{_lines(x + 14, y + BOX / 2, lines, named)}</g>'


def _text(x: float, y: float, text: str, kind: str) -> str:
    return f'<g class="{kind}">{_lines(x, y, text.split(chr(10)), False)}</g>'


def _lines(x: float, middle: float, lines: list[str], named: bool) -> str:
    first = middle + 5 - 10 * (len(lines) - 1)
    kinds = ["name" if named and i == 0 else "words" for i in range(len(lines))]
    return "".join(
        f'<text x="{x}" y="{first + 20 * i}" class="{kind}">{escape(line)}</text>'
        for i, (line, kind) in enumerate(zip(lines, kinds, strict=True))
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    Path(sys.argv[1]).write_text(drawing(), encoding="utf-8")
