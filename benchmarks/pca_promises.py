"""What RobustPCA promises of variances, flags, missing values and answers, as five tables.

    python benchmarks/pca_promises.py --draws 20

variances: over those of PCA of the clean rows, with outliers inside and outside the subspace.
flags: shares of clean Gaussian rows beyond each limit.
missing: subspace error with a tenth of the values missing over that of complete rows.
level: variances as above for the level of the score distances they are cut off at, 0.999, its
distance from 1 halved, doubled and ten times as large.
answers: different answers over 20 runs and 20 orders of the rows of classic tables (R with rrcov).
"""

import argparse
from itertools import product

import numpy as np
from classic_pca import FOLDER, export
from pca_problems import subspace_error
from sklearn.decomposition import PCA

from kmpe import RobustPCA
from kmpe.inference import pca as inference


def plane(n, d, m, rng):
    """Return Gaussian rows near a subspace, its directions and one beside them, and deviations."""
    axes = np.linalg.qr(rng.standard_normal((d, m + 1)))[0]
    deviations = np.linspace(10, 5, m)
    X = rng.standard_normal((n, m)) * deviations @ axes[:, :m].T + rng.standard_normal((n, d))
    return X, axes, deviations


def with_outliers(n, d, m, share, kind, seed):
    """Return rows of which a share is moved 8 deviations inside, or 40 outside the subspace."""
    X, axes, deviations = plane(n, d, m, np.random.default_rng(seed))
    bad = np.arange(n) < int(share * n)
    X[bad] += 8 * deviations @ axes[:, :m].T if kind == "inside" else 40 * axes[:, m]
    return X, axes[:, :m], bad


def variances(draws):
    print("Variances over those of PCA of the clean rows (0.8 to 1.25), and outliers found")
    print(
        f"{'n':>6}{'d':>4}{'m':>3}{'share':>7} {'kind':8}{'mean':>7}{'least':>7}{'most':>7}", end=""
    )
    print(f"{'5%':>7}{'inside':>8}{'found':>7}")
    for n, d, m, share, kind in product(
        (100, 1000), (6, 40), (1, 2, 5), (0.1, 0.2), ("inside", "outside")
    ):
        ratios, found = [], []
        for seed in range(draws):
            X, _, bad = with_outliers(n, d, m, share, kind, seed)
            model, clean = RobustPCA(m).fit(X), PCA(m).fit(X[~bad])
            ratios.append(model.explained_variance_ / clean.explained_variance_)
            found.append(model.outliers_[bad].mean())
        r = np.array(ratios)
        held = np.mean((r >= 0.8) & (r <= 1.25))
        print(
            f"{n:6}{d:4}{m:3}{share:7.0%} {kind:8}{r.mean():7.3f}{r.min():7.2f}{r.max():7.2f}",
            end="",
        )
        print(f"{np.quantile(r, 0.05):7.2f}{held:8.1%}{np.mean(found):7.0%}", flush=True)


def level(draws):
    print("\nVariances over those of PCA of the clean rows, 100 rows, a tenth of them outliers")
    print(f"{'level':>8} {'kind':8}{'mean':>14}{'5%':>7}{'inside':>8}")
    given = inference.WIDE
    for beyond, kind in product((0.5, 1, 2, 10), ("inside", "outside", "none")):
        inference.WIDE = 1 - beyond * (1 - given)
        ratios = []
        for d, m, seed in product((6, 40), (1, 2, 5), range(draws)):
            share = 0.0 if kind == "none" else 0.1
            X, _, bad = with_outliers(100, d, m, share, kind, seed)
            model, clean = RobustPCA(m).fit(X), PCA(m).fit(X[~bad])
            ratios.extend(model.explained_variance_ / clean.explained_variance_)
        r = np.array(ratios)
        held = np.mean((r >= 0.8) & (r <= 1.25))
        error = r.std() / np.sqrt(len(r))
        print(f"{inference.WIDE:8.4f} {kind:8}{r.mean():7.3f} ±{error:.3f}", end="")
        print(f"{np.quantile(r, 0.05):7.2f}{held:8.1%}", flush=True)
    inference.WIDE = given


def flags(draws):
    print("\nClean Gaussian rows beyond each limit (at most 2.5%)")
    print(f"{'n':>6}{'d':>4}{'m':>3}{'orthogonal':>12}{'score':>8}{'either':>8}")
    for (n, d), m in product(((100, 3), (100, 10), (100, 40), (1000, 10), (5000, 40)), (1, 2, 5)):
        if m >= d:
            continue
        shares = []
        for seed in range(draws):
            model = RobustPCA(m).fit(plane(n, d, m, np.random.default_rng(seed))[0])
            off = model.orthogonal_distances_ > model.cutoffs_.orthogonal
            far = model.score_distances_ > model.cutoffs_.score
            shares.append([off.mean(), far.mean(), (off | far).mean()])
        off, far, either = np.mean(shares, axis=0)
        print(f"{n:6}{d:4}{m:3}{off:12.2%}{far:8.2%}{either:8.2%}", flush=True)


def missing(draws):
    print(
        "\nSubspace error, a tenth missing and a fifth outlying, over that of complete rows (1.2)"
    )
    print(f"{'n':>6}{'d':>4}{'m':>3} {'kind':8}{'missing':>9}{'complete':>10}{'ratio':>7}")
    for n, d, m, kind in product((200, 1000), (10, 40), (2, 3), ("inside", "outside")):
        errors = []
        for seed in range(draws):
            X, U, _ = with_outliers(n, d, m, 0.2, kind, seed)
            holes = np.random.default_rng(seed).uniform(size=X.shape) < 0.1
            fits = (RobustPCA(m).fit(Z) for Z in (np.where(holes, np.nan, X), X))
            errors.append([subspace_error(model.components_, U) for model in fits])
        gone, complete = np.mean(errors, axis=0)
        print(
            f"{n:6}{d:4}{m:3} {kind:8}{gone:9.4f}{complete:10.4f}{gone / complete:7.2f}", flush=True
        )


def answers():
    print("\nDifferent sets of outliers, and the largest turn of the plane in degrees (1, 0)")
    print(f"{'data set':12}{'rows':>6}{'20 runs':>9}{'20 orders':>11}{'degrees':>10}")
    if not (FOLDER / "fits.csv").exists():
        export(FOLDER)
    for name in ("hbk3", "hbk4", "wood5", "wood", "octane", "fish", "pulpfiber", "pottery", "milk"):
        X = np.loadtxt(FOLDER / f"{name}.csv", delimiter=",", skiprows=1)
        first = RobustPCA(2).fit(X)
        rng = np.random.default_rng(0)
        runs, orders, degrees = set(), set(), 0.0
        for _ in range(20):
            runs.add(RobustPCA(2).fit(X).outliers_.tobytes())
            order = rng.permutation(len(X))
            model = RobustPCA(2).fit(X[order])
            back = np.empty(len(X), dtype=bool)
            back[order] = model.outliers_
            orders.add(back.tobytes())
            sine = subspace_error(model.components_, first.components_.T)
            degrees = max(degrees, np.degrees(np.arcsin(min(1.0, sine))))
        print(f"{name:12}{len(X):6}{len(runs):9}{len(orders):11}{degrees:10.1e}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parts = {"variances": variances, "flags": flags, "missing": missing, "level": level}
    parser.add_argument("--draws", type=int, default=20, help="draws of each case (default 20)")
    parser.add_argument("--only", choices=[*parts, "answers"], help="one of the tables")
    options = parser.parse_args()
    for name, part in parts.items():
        if options.only in (None, name):
            part(options.draws)
    if options.only in (None, "answers"):
        answers()


if __name__ == "__main__":
    main()
