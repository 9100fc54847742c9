"""RobustPCA on the multivariate data sets of robustbase and rrcov, beside PcaHubert and PcaGrid.

    python benchmarks/classic_pca.py --robpy-python PYTHON --write docs/classic_pca.md

Two components each. Needs R with rrcov; robpy's ROBPCA joins in where --robpy-python names an
interpreter that imports it (pip install robpy, in an environment of its own). Prints, and with
--write puts between the marks of a page: the largest principal angle to PcaHubert's plane,
variances, outliers, and CPU times. The files are in out/classic_pca.
"""

import argparse
import csv
import re
import shutil
import subprocess
import sys
from pathlib import Path
from time import process_time

import numpy as np
from pca_outliers import robpca

from kmpe import RobustPCA

FOLDER = Path("out/classic_pca")
SCRIPT = Path(__file__).with_suffix(".R")
MARKS = re.compile(r"(<!-- summary -->\n).*(\n<!-- end of summary -->)", re.DOTALL)
CALLS = 3
# Rows that the literature knows as outliers.
KNOWN = {
    "hbk3": range(1, 15),
    "hbk4": range(1, 15),
    "wood5": (4, 6, 8, 19),
    "wood": (4, 6, 8, 19),
    "octane": (25, 26, 36, 37, 38, 39),
}


def export(folder):
    if shutil.which("Rscript") is None:
        sys.exit("Rscript is not installed: it exports the data sets and fits PcaHubert.")
    done = subprocess.run(["Rscript", SCRIPT, folder], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"R stopped; it needs rrcov. It said:\n{done.stderr}")


def records(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def peers(folder):
    """Return R's fits by data set and method: directions, variances, outliers, milliseconds."""
    loadings = records(folder / "loadings.csv")
    found = {}
    for row in records(folder / "fits.csv"):
        key = row["set"], row["method"]
        W = np.array(
            [
                [float(one["first"]), float(one["second"])]
                for one in loadings
                if (one["set"], one["method"]) == key
            ]
        )
        variances = [float(row["first"]), float(row["second"])]
        outliers = set(map(int, row["outliers"].split()))
        found.setdefault(row["set"], {})[row["method"]] = (
            W,
            variances,
            outliers,
            float(row["milliseconds"]),
        )
    return found


def ours(X):
    spent = []
    for _ in range(CALLS):
        start = process_time()
        model = RobustPCA(2).fit(X)
        spent.append(process_time() - start)
    rows = set((np.flatnonzero(model.outliers_) + 1).tolist())
    return (
        model.components_.T,
        model.explained_variance_,
        rows,
        1e3 * float(np.median(spent)),
    )


def angle(W, V):
    """Return the largest principal angle of two planes in degrees."""
    cosines = np.linalg.svd(W.T @ V, compute_uv=False)
    return np.degrees(np.arccos(min(1.0, cosines[-1])))


def named(rows):
    rows = sorted(rows)
    return " ".join(map(str, rows)) if len(rows) <= 14 else f"{len(rows)} rows"


def table(rows):
    head, *body = [[str(word) for word in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def pair(values):
    return " and ".join(f"{value:.3g}" for value in values)


def known_outliers(results):
    rows = [("data set", "known outliers", "missed", "others", "PcaHubert: missed", "others")]
    for name, _, own, (hubert, *_) in results:
        if name in KNOWN:
            true = set(KNOWN[name])
            cells = [named(r) for fit in (own, hubert) for r in (true - fit[2], fit[2] - true)]
            rows.append((name, named(true), *cells))
    return table(rows)


def beside_hubert(results):
    rows = [
        (
            *("data set", "rows", "columns", "angle", "variances", "of PcaHubert"),
            *("outliers of both", "only kmpe's", "only PcaHubert's", "ms", "ms PcaHubert"),
        )
    ]
    for name, shape, own, (hubert, *_) in results:
        rows.append(
            (
                *(name, *shape, f"{angle(own[0], hubert[0]):.1f}", pair(own[1]), pair(hubert[1])),
                *(named(own[2] & hubert[2]), named(own[2] - hubert[2]), named(hubert[2] - own[2])),
                *(f"{own[3]:.0f}", f"{hubert[3]:.0f}"),
            )
        )
    return table(rows)


def other_peers(results):
    names = ["PcaGrid", "robpy"][: len(results[0][3]) - 1]
    head = [word for name in names for word in (f"{name}: angle", "variances", "outliers", "ms")]
    rows = [("data set", *head, "outliers of kmpe")]
    for name, _, own, (hubert, *others) in results:
        cells = [
            word
            for W, variances, outliers, ms in others
            for word in (f"{angle(W, hubert[0]):.1f}", pair(variances), len(outliers), f"{ms:.0f}")
        ]
        rows.append((name, *cells, len(own[2])))
    return table(rows)


def summary(results):
    tables = known_outliers(results), beside_hubert(results), other_peers(results)
    return "\n\n".join(tables) + "\n"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--reuse", action="store_true", help="take the files in out/classic_pca")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the summary into a page")
    parser.add_argument("--robpy-python", help="an interpreter that imports robpy")
    options = parser.parse_args()
    if not (options.reuse and (FOLDER / "fits.csv").exists()):
        export(FOLDER)
    results = []
    for name, fits in peers(FOLDER).items():
        X = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1)
        own = ours(X)
        others = [fits["PcaHubert"], fits["PcaGrid"]]
        if options.robpy_python:
            W, variances, outliers, seconds = robpca(options.robpy_python, X, 2)
            marked = set((np.flatnonzero(outliers) + 1).tolist())
            others.append((W.T, variances, marked, 1e3 * seconds))
        results.append((name, X.shape, own, others))
    print(summary(results))
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        if not MARKS.search(page):
            sys.exit(f"{options.write} has no <!-- summary --> ... <!-- end of summary -->")
        page = MARKS.sub(lambda marks: f"{marks[1]}\n{summary(results)}{marks[2]}", page)
        options.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
