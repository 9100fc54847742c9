"""Peak memory of RobustPCA above its input, as a share of the input.

    python benchmarks/pca_memory.py

The peak is that of all arrays that a fit allocates, as tracemalloc counts numpy's. The limit
for 200 000 x 200 is a quarter of the input.
"""

import argparse
import tracemalloc

from pca_problems import contaminated

from kmpe import KMPE, RobustPCA


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=200_000, help="rows (default 200000)")
    parser.add_argument("--columns", type=int, default=200, help="columns (default 200)")
    parser.add_argument("--components", type=int, default=10, help="components (default 10)")
    options = parser.parse_args()
    m = options.components
    X, _, _ = contaminated(options.rows, options.columns, m, 0.1, "clustered", 0)
    print(f"{'model':30}{'input MB':>10}{'peak MB':>10}{'share':>8}")
    for model in (RobustPCA(m, random_state=0), RobustPCA(m, loss=KMPE(10), random_state=0)):
        tracemalloc.start()
        model.fit(X)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        print(
            f"{model.loss_!r:30.29}{X.nbytes / 1e6:10.1f}{peak / 1e6:10.1f}{peak / X.nbytes:8.3f}"
        )


if __name__ == "__main__":
    main()
