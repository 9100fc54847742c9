"""HTML tables: the printed number and ours side by side, coloured by their difference."""

from collections.abc import Collection, Mapping, Sequence
from html import escape
from typing import Any

from kmpe.paper.settings import DEFAULT, ELM_METHODS

__all__ = [
    "machines_table",
    "scores_table",
    "sinc_table",
    "specification_table",
    "stacked_table",
    "table",
]


def table(
    head: Sequence[Sequence[str]], body: Sequence[Sequence[str]], apart: Collection[int] = ()
) -> str:
    """Return a table from rows of HTML cells; the rows numbered ``apart`` are in italics."""
    rows = ["<thead>", *(f"<tr>{''.join(row)}</tr>" for row in head), "</thead><tbody>"]
    for i, row in enumerate(body):
        rows.append(f"<tr{' class=reading' if i in apart else ''}>{''.join(row)}</tr>")
    return f'<div class="scroll"><table>{"".join(rows)}</tbody></table></div>'


def scores_table(
    rows: Mapping[str, Mapping[str, Mapping[str, Any]]],
    titles: Mapping[str, str],
    methods: Sequence[str],
    peers: Sequence[str],
    corner: str,
    digits: int,
    *,
    best: str,
    readings: Collection[str] = (),
) -> str:
    """Return a table of "mean ± standard deviation", two columns for each method of the paper.

    ``best`` says whether the smallest ("low") or the largest ("high") mean of a row is in bold;
    ``readings`` are the keys of the rows in italics: other readings of a row above.
    """
    head = [
        [th(corner, rowspan=2), *(th(method, colspan=2) for method in methods)]
        + [th(peer, cls="peer") for peer in peers],
        [th(name) for _ in methods for name in ("paper", "ours")]
        + [th("ours", cls="peer") for _ in peers],
    ]
    body = []
    for key, row in rows.items():
        cells = [th(titles.get(key, key), scope="row")]
        if not row:
            cells.append(
                f'<td class="missing" colspan="{2 * len(methods) + len(peers)}">not here</td>'
            )
        else:
            cells += _pairs(row, methods, digits, best)
            cells += [_plain(row.get(peer), digits) for peer in peers]
        body.append(cells)
    return table(head, body, {i for i, key in enumerate(rows) if key in readings})


def stacked_table(
    rows: Mapping[str, Mapping[str, Mapping[str, Any]]],
    methods: Sequence[str],
    peers: Sequence[str],
    digits: int,
) -> str:
    """Return a table with the printed line above ours: six methods are too wide for pairs."""
    head = [
        [th("", colspan=2), *(th(m) for m in methods), *(th(peer, cls="peer") for peer in peers)]
    ]
    body = []
    for key, row in rows.items():
        pairs = _pairs(row, methods, digits, "high")
        ours = [th("ours", scope="row"), *pairs[1::2]]
        ours += [_plain(row.get(peer), digits) for peer in peers]
        if any("paper" in row[method] for method in methods):
            blank = [td("", "peer") for _ in peers]
            body.append([th(key, rowspan=2, scope="row"), th("paper", scope="row"), *pairs[::2]])
            body[-1] += blank
            body.append(ours)
        else:
            body.append([th(key, scope="row"), *ours])
    return table(head, body)


def sinc_table(rows: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str]) -> str:
    """Return Table 2: the one draw of the paper, and the mean and range of ours."""
    head = [
        [
            th("Noise", rowspan=2),
            *(th(method, colspan=3) for method in ELM_METHODS),
            th(DEFAULT, colspan=2, cls="peer"),
        ],
        [th(name) for _ in ELM_METHODS for name in ("paper", "mean", "range")]
        + [th("mean", cls="peer"), th("range")],
    ]
    body = []
    for noise, row in rows.items():
        cells = [th(titles[noise], scope="row")]
        for method in ELM_METHODS:
            cell = row[method]
            inside = cell["min"] <= cell["paper"] <= cell["max"]
            cells += [
                td(f"{cell['paper']:.4f}", "paper"),
                td(f"{cell['mean']:.4f}", "ours"),
                td(
                    _range(cell),
                    "ours z0" if inside else "ours z3",
                    f"{cell['share_below']:.1%} of {cell['n']} draws are at or below the paper's",
                ),
            ]
        own = row[DEFAULT]
        body.append([*cells, td(f"{own['mean']:.4f}", "ours peer"), td(_range(own), "ours")])
    return table(head, body)


def machines_table(
    rows: Mapping[str, Mapping[str, Mapping[str, float]]], titles: Mapping[str, str], corner: str
) -> str:
    """Return Tables 1, 5 and 6: the settings, each under its own symbol."""
    names = {"ELM": ("L",), "RELM": ("L", "lambda"), "ELM-RCC": ("L", "lambda", "sigma")}
    columns = [
        (m, name) for m in ELM_METHODS for name in names.get(m, ("L", "lambda", "sigma", "p"))
    ]
    symbols = {"lambda": "λ", "sigma": "σ"}
    head = [
        [th(corner, rowspan=2)]
        + [th(m, colspan=sum(method == m for method, _ in columns)) for m in ELM_METHODS],
        [th(symbols.get(name, name)) for _, name in columns],
    ]
    body = [
        [th(titles[key], scope="row"), *(td(_number(row[m].get(name, 0))) for m, name in columns)]
        for key, row in rows.items()
    ]
    return table(head, body)


def specification_table(
    rows: Mapping[str, Mapping[str, Any]], titles: Mapping[str, str], columns: Sequence[str]
) -> str:
    """Return Tables 3 and 4: the sizes of each data set, as printed and as found in the file."""
    head = [
        [th("Data set", rowspan=2), *(th(name, colspan=2) for name in columns)],
        [th(name) for _ in columns for name in ("paper", "ours")],
    ]
    body = []
    for key, row in rows.items():
        cells = [th(titles[key], scope="row")]
        for name in columns:
            paper, ours = row["paper"][name], row.get("ours", {}).get(name, "")
            same = "" if paper == ours or ours == "" else "differs"
            cells += [td(str(paper), "paper"), td(str(ours), f"ours {same}")]
        body.append(cells)
    return table(head, body)


def th(text: str, *, rowspan: int = 1, colspan: int = 1, scope: str = "col", cls: str = "") -> str:
    """Return a heading."""
    spans = "".join(
        f' {name}="{n}"' for name, n in (("rowspan", rowspan), ("colspan", colspan)) if n > 1
    )
    kind = f' class="{cls}"' if cls else ""
    return f'<th scope="{scope}"{spans}{kind}>{escape(text)}</th>'


def td(text: str, cls: str = "", title: str = "") -> str:
    """Return a cell."""
    kind = f' class="{cls.strip()}"' if cls.strip() else ""
    tip = f' title="{escape(title)}"' if title else ""
    return f"<td{kind}{tip}>{escape(text)}</td>"


def _pairs(
    row: Mapping[str, Mapping[str, Any]], methods: Sequence[str], digits: int, best: str
) -> list[str]:
    choose = min if best == "low" else max
    ours_best = choose(row[method]["mean"] for method in methods)
    with_paper = [row[method]["paper"] for method in methods if "paper" in row[method]]
    paper_best = choose(with_paper) if with_paper else None
    cells = []
    for method in methods:
        cell = row[method]
        if "paper" in cell:
            bold = " best" if cell["paper"] == paper_best else ""
            cells.append(td(_pm(cell["paper"], cell["paper_sd"], digits), f"paper{bold}"))
        else:
            cells.append(td("", "paper"))
        bold = " best" if cell["mean"] == ours_best else ""
        cells.append(
            td(_pm(cell["mean"], cell["sd"], digits), f"ours{bold} {_colour(cell)}", _tip(cell))
        )
    return cells


def _plain(cell: Mapping[str, Any] | None, digits: int) -> str:
    return td(_pm(cell["mean"], cell["sd"], digits) if cell else "", "ours peer")


def _range(cell: Mapping[str, float]) -> str:
    return f"{cell['min']:.2f} – {cell['max']:.2f}"


def _number(value: float) -> str:
    """Return a setting as a reader would write it: 0.8, 200, 2.5×10⁻⁵."""
    if value == 0 or value >= 1e-3:
        return f"{value:g}"
    digits, power = f"{value:e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{float(digits):g}×10{raised}"


def _pm(mean: float, sd: float, digits: int) -> str:
    return f"{mean:.{digits}f} ± {sd:.{digits}f}"


def _colour(cell: Mapping[str, Any]) -> str:
    """Return the CSS class of a cell: |z| up to ½, 1, 2, or more."""
    if "z" not in cell:
        return ""
    return f"z{sum(abs(cell['z']) > limit for limit in (0.5, 1, 2))}"


def _tip(cell: Mapping[str, Any]) -> str:
    return f"{cell['z']:+.2f} of the paper's standard deviations" if "z" in cell else ""
