"""RobustLinearRegression beside lmrob and ltsReg on the classic data sets of robust regression.

``python benchmarks/classic.py`` lets ``benchmarks/classic.R`` export the data sets and R's fits to
out/classic (which needs Rscript with robustbase and MASS; ``--reuse`` takes the files that are
there), fits RobustLinearRegression() without arguments, and prints a table for every data set and
a summary. ``--only wood hbk`` shows these alone, ``--brief`` the summary alone, and ``--write
docs/classic.md`` puts the summary of all sets into that page.

Outliers are rows with |residual| / scale above 2.576, the 99% point of the Gaussian, by each
method's own scale. Differences of coefficients are in lmrob's standard errors. Times are medians
of several calls, in milliseconds of CPU.
"""

import argparse
import csv
import re
import shutil
import subprocess
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from time import process_time

import numpy as np

from kmpe import RobustLinearRegression

FOLDER = Path("out/classic")
SCRIPT = Path(__file__).with_suffix(".R")
OURS, LMROB, KS2014, LTS = "kmpe", "lmrob", "lmrob KS2014", "ltsReg"
METHODS = (OURS, LMROB, KS2014, LTS)
CALLS = 5
# As numbers of rows, from 1. Rousseeuw and Leroy (1987), Robust Regression and Outlier Detection,
# for all but hills: Atkinson (1986), Stat. Sci. 1, 397. SiegelsEx has 3 rows off an exact fit.
KNOWN = {
    "education": [50],
    "hbk": list(range(1, 11)),
    "hills": [7, 18],
    "phones": list(range(15, 21)),
    "SiegelsEx": [7, 8, 9],
    "stackloss": [1, 3, 4, 21],
    "starsCYG": [11, 20, 30, 34],
    "telef": list(range(15, 21)),
    "wood": [4, 6, 8, 19],
}
MARKS = re.compile(r"(<!-- summary -->\n).*?(<!-- end of summary -->)", re.DOTALL)


@dataclass(frozen=True)
class Data:
    """A data set: its name, the labels of its rows, inputs by name, and targets."""

    name: str
    labels: list[str]
    terms: list[str]
    X: np.ndarray
    y: np.ndarray


@dataclass(frozen=True)
class Fitted:
    """What a method says: coefficients and standard errors by term, outliers as row numbers."""

    coef: dict[str, float]
    error: dict[str, float]
    outliers: set[int]
    scale: float
    milliseconds: float
    remark: str = ""


def export(folder):
    if shutil.which("Rscript") is None:
        sys.exit("Rscript is not installed: it exports the data sets and fits lmrob and ltsReg.")
    done = subprocess.run(["Rscript", SCRIPT, folder], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"R stopped; it needs robustbase and MASS. It said:\n{done.stderr}")


def records(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def number(text):
    return np.nan if text == "NA" else float(text)


def load(folder, name):
    rows = records(folder / f"{name}.csv")
    terms = list(rows[0])[2:]
    X = np.array([[float(row[term]) for term in terms] for row in rows])
    y = np.array([float(row["y"]) for row in rows])
    return Data(name, [row["label"] for row in rows], terms, X, y)


def peers(folder):
    """Return R's fits by data set and method; a method that failed on a set is left out."""
    coef, error = defaultdict(dict), defaultdict(dict)
    for row in records(folder / "terms.csv"):
        key = row["set"], row["method"]
        coef[key][row["term"]] = number(row["coef"])
        error[key][row["term"]] = number(row["error"])
    found = defaultdict(dict)
    for row in records(folder / "fits.csv"):
        key = row["set"], row["method"]
        found[row["set"]]
        if not row["failure"]:
            found[row["set"]][row["method"]] = Fitted(
                coef[key],
                error[key],
                set(map(int, row["outliers"].split())),
                number(row["scale"]),
                number(row["milliseconds"]),
                "" if row["converged"] == "TRUE" else "did not converge",
            )
    return found


def timed(X, y, calls):
    spent = []
    for _ in range(calls):
        start = process_time()
        model = RobustLinearRegression().fit(X, y)
        spent.append(process_time() - start)
    return model, 1e3 * float(np.median(spent))


def ours(data):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model, milliseconds = timed(data.X, data.y, CALLS)
    terms = [*data.terms, "intercept"]
    errors = np.sqrt(np.diagonal(model.coef_cov_))
    said = sorted({str(warning.message) for warning in caught})
    return Fitted(
        dict(zip(terms, [*model.coef_, model.intercept_], strict=True)),
        dict(zip(terms, errors, strict=True)),
        set((np.flatnonzero(model.outliers_) + 1).tolist()),
        model.scale_,
        milliseconds,
        " ".join([f"{model.loss_}; noise_: {model.noise_}.", *said]),
    )


def apart(fit, lmrob, terms):
    """Return the largest difference from lmrob's coefficients, in lmrob's standard errors."""
    far = [abs(fit.coef[t] - lmrob.coef[t]) / lmrob.error[t] for t in terms if lmrob.error[t] > 0]
    return max(far, default=np.nan)


def table(rows):
    """Return rows of words as a Markdown table."""
    head, *body = [[str(word) for word in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def digits(x):
    return "" if np.isnan(x) else f"{x:.4g}"


def named(data, rows):
    """Return the labels of rows, the first few of many."""
    words = [data.labels[i - 1] for i in sorted(rows)]
    return ", ".join(words) if len(words) <= 12 else f"{len(words)} rows"


def details(data, fits):
    shown = [method for method in METHODS if method in fits]
    rows = [["", *(word for method in shown for word in (method, "error"))]]
    for term in [*data.terms, "intercept"]:
        pairs = [(fits[m].coef[term], fits[m].error[term]) for m in shown]
        rows.append([term, *(digits(x) for pair in pairs for x in pair)])
    lines = [f"### {data.name}: {len(data.y)} rows", "", table(rows), ""]
    for method in shown:
        fit = fits[method]
        facts = f"scale {digits(fit.scale)}; {fit.milliseconds:.0f} ms"
        lines.append(f"- {method}: outliers {named(data, fit.outliers) or 'none'}; {facts}")
    lines.append(f"- {OURS} chose {fits[OURS].remark}")
    if data.name in KNOWN:
        lines.append(f"- known outliers: {named(data, KNOWN[data.name])}")
    return "\n".join(lines) + "\n"


HEAD = (
    "data set",
    "rows",
    "slopes",
    "slopes of kmpe",
    "of KS2014",
    "of ltsReg",
    "intercept of kmpe",
    "outliers of both",
    "only kmpe's",
    "only lmrob's",
    "ms kmpe",
    "ms lmrob",
    "ms KS2014",
)


def summary_row(data, fits):
    own, lmrob = fits[OURS], fits[LMROB]
    slopes = [
        apart(fits[m], lmrob, data.terms) if m in fits else np.nan for m in (OURS, KS2014, LTS)
    ]
    intercept = apart(own, lmrob, ["intercept"])
    rows = (own.outliers & lmrob.outliers, own.outliers - lmrob.outliers)
    times = [f"{fits[m].milliseconds:.0f}" for m in (OURS, LMROB, KS2014)]
    return [
        data.name,
        len(data.y),
        len(data.terms),
        *("" if np.isnan(x) else f"{x:.1f}" for x in (*slopes, intercept)),
        *(named(data, found) for found in (*rows, lmrob.outliers - own.outliers)),
        *times,
    ]


def known_rows(results):
    rows = [["data set", "known outliers", *(f"missed by {m}" for m in METHODS)]]
    for data, fits in results:
        known = set(KNOWN.get(data.name, ()))
        if known:
            missed = [named(data, known - fits[m].outliers) if m in fits else "" for m in METHODS]
            rows.append([data.name, named(data, known), *missed])
    return rows


def closing(results):
    """Return sentences that count what the tables show."""
    far = np.array([apart(fits[OURS], fits[LMROB], data.terms) for data, fits in results])
    far = far[~np.isnan(far)]
    pairs = [(fits[OURS].outliers, fits[LMROB].outliers) for _, fits in results]
    both = sum(len(own & peer) for own, peer in pairs)
    own_only = sum(len(own - peer) for own, peer in pairs)
    peer_only = sum(len(peer - own) for own, peer in pairs)
    times = [np.median([fits[m].milliseconds for _, fits in results]) for m in METHODS[:3]]
    return "\n".join(
        [
            f"All slopes lie within one of lmrob's standard errors on {np.sum(far <= 1)} of "
            f"{len(far)} data sets, and within two on {np.sum(far <= 2)}.",
            f"{both} outliers are common to kmpe and lmrob, {own_only} are kmpe's only and "
            f"{peer_only} lmrob's only.",
            f"The median time is {times[0]:.0f} ms for kmpe, {times[1]:.0f} ms for lmrob and "
            f"{times[2]:.0f} ms for KS2014.",
        ]
    )


def summary(results):
    rows = [HEAD, *(summary_row(data, fits) for data, fits in results)]
    return "\n\n".join([closing(results), table(rows), table(known_rows(results))]) + "\n"


def write(path, text):
    page = path.read_text(encoding="utf-8")
    if not MARKS.search(page):
        sys.exit(f"{path} has no <!-- summary --> ... <!-- end of summary --> to write between.")
    page = MARKS.sub(lambda marks: f"{marks[1]}\n{text}\n{marks[2]}", page)
    path.write_text(page, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--reuse", action="store_true", help="take the files in out/classic")
    parser.add_argument("--brief", action="store_true", help="print the summary alone")
    parser.add_argument("--only", nargs="+", metavar="SET", help="these data sets alone")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the summary into a page")
    options = parser.parse_args()
    if options.write and options.only:
        parser.error("--write needs all data sets: leave --only out")
    if not (options.reuse and (FOLDER / "fits.csv").exists()):
        export(FOLDER)
    found = peers(FOLDER)
    unknown = set(options.only or ()) - set(found)
    if unknown:
        parser.error(f"{sorted(unknown)[0]!r} is none of {', '.join(found)}")
    results = []
    for name in options.only or found:
        data = load(FOLDER, name)
        results.append((data, {OURS: ours(data)} | found[name]))
        if not options.brief:
            print(details(*results[-1]), flush=True)
    print(summary(results))
    if options.write:
        write(options.write, summary(results))


if __name__ == "__main__":
    main()
