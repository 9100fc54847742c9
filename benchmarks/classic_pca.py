"""RobustPCA on the multivariate data sets of robustbase and rrcov, beside PcaHubert and PcaGrid.

    python benchmarks/classic_pca.py --write docs/classic_pca.md

Two components each. Needs R with rrcov; robpy's ROBPCA joins in where --robpy-python names an
interpreter that imports it. Prints, and with --write puts between the marks of a page: the largest
principal angle to PcaHubert's plane, variances, outliers, and CPU times. The files are in
out/classic_pca.
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


def summary(results):
    rows = [
        (
            *("data set", "rows", "columns", "angle", "of PcaGrid", "variances", "of PcaHubert"),
            *("of PcaGrid", "outliers of both", "only kmpe's", "only PcaHubert's"),
            *("ms", "ms PcaHubert", "ms PcaGrid"),
        )
    ]
    known = [("data set", "known outliers", "missed", "others", "PcaHubert: missed", "others")]
    for name, shape, own, (hubert, grid) in results:
        rows.append(
            (
                *(name, *shape, f"{angle(own[0], hubert[0]):.1f}"),
                *(f"{angle(grid[0], hubert[0]):.1f}", pair(own[1]), pair(hubert[1])),
                *(pair(grid[1]), named(own[2] & hubert[2]), named(own[2] - hubert[2])),
                *(named(hubert[2] - own[2]), f"{own[3]:.0f}", f"{hubert[3]:.0f}"),
                f"{grid[3]:.0f}",
            )
        )
        if name in KNOWN:
            true = set(KNOWN[name])
            cells = [named(r) for fit in (own, hubert) for r in (true - fit[2], fit[2] - true)]
            known.append((name, named(true), *cells))
    return f"{table(known)}\n\n{table(rows)}\n"


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
        results.append((name, X.shape, own, (fits["PcaHubert"], fits["PcaGrid"])))
        if options.robpy_python:
            W, seconds = robpca(options.robpy_python, X, 2)
            away = angle(W.T, fits["PcaHubert"][0])
            print(f"{name}: robpy {away:.1f} degrees from PcaHubert, {1e3 * seconds:.0f} ms")
    print(summary(results))
    if options.write:
        page = options.write.read_text(encoding="utf-8")
        if not MARKS.search(page):
            sys.exit(f"{options.write} has no <!-- summary --> ... <!-- end of summary -->")
        page = MARKS.sub(lambda marks: f"{marks[1]}\n{summary(results)}{marks[2]}", page)
        options.write.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
