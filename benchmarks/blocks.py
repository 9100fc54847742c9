"""The size of a block of features: ``python -m benchmarks.blocks``.

Times of a pass over the rows, the cost and the moments of a weighted ridge problem, and of a robust
fit that computes its features in every pass, for several sizes of a block. Run it on a quiet
machine with as many BLAS threads as cores.
"""

from benchmarks.measure import interleave, ratio
from benchmarks.problems import hidden, inputs, ridge_problem
from kmpe import KMPE, ELMRegressor
from kmpe.losses import Correntropy
from kmpe.rows import source

MEGABYTES = (1, 2, 4, 8, 16, 32)


def with_blocks(megabytes, work):
    def run():
        source.BLOCK_BYTES = megabytes << 20
        return work()

    return run


def show(title, work, rounds):
    given = source.BLOCK_BYTES
    timings = interleave({str(mb): with_blocks(mb, work) for mb in MEGABYTES}, rounds)
    source.BLOCK_BYTES = given
    over = (f"{mb} MB {ratio(timings, str(mb), '8')[0]:.2f}" for mb in MEGABYTES)
    print(
        f"{title}, {timings['8'].median:.3f} s with 8 MB; over that: {', '.join(over)}", flush=True
    )


def main():
    X, y = inputs(200_000)
    H = hidden(X, 500)
    loss = Correntropy(0.5)

    def one_pass():
        # A new problem: blocks are made once for each.
        problem = ridge_problem(H, y, 1e-3)
        return problem.weighted(problem.zero, loss)

    show("a pass over 200 000 x 500 features in memory", one_pass, 5)
    X, y = X[:50_000], y[:50_000]
    model = ELMRegressor(
        KMPE(p=2, sigma=0.5), n_hidden=300, activation="sigmoid", alpha=1e-3, memory_limit=1
    )
    show("a fit of 50 000 rows, 300 nodes computed in every pass", lambda: model.fit(X, y), 3)


if __name__ == "__main__":
    main()
