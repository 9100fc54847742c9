"""Draw every loss and its weight: the picture of docs/losses.md.

python docs/draw_losses.py docs/images/losses.svg
"""

import sys

import matplotlib.pyplot as plt
import numpy as np

from kmpe import KMPE, MPE, Cauchy, Correntropy, Huber, Squared, Tukey

LOSSES = {
    "squared": Squared(),
    "MPE, p=1": MPE(p=1),
    "Huber": Huber(sigma=1.345),
    "Cauchy": Cauchy(sigma=2.385),
    "Tukey": Tukey(sigma=4.685),
    "correntropy": Correntropy(sigma=2.11),
}
POWERS = {f"KMPE, p={p:g}": KMPE(p=p, sigma=2.11) for p in (1, 2, 4, 10)}


def main(path):
    plt.rcParams["svg.hashsalt"] = "kmpe"  # the same picture gives the same file
    r = np.linspace(-8, 8, 801)
    figure, axes = plt.subplots(2, 2, figsize=(9, 6), sharex=True, layout="constrained")
    for column, (losses, title) in enumerate([(LOSSES, "losses"), (POWERS, "powers of KMPE")]):
        for name, loss in losses.items():
            axes[0, column].plot(r, loss.rho(r**2) / 2, label=name)
            weight = loss.weight(r**2)
            axes[1, column].plot(r, weight / weight[np.abs(r) > 0.1].max())
        axes[0, column].set(title=title, ylim=(0, 9), ylabel="½ ρ(r²)")
        axes[1, column].set(
            xlabel="residual r, in units of its scale", ylabel="weight", ylim=(0, 1.05)
        )
        axes[0, column].legend(fontsize=8, frameon=False)
    for axis in axes.flat:
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None} if path.endswith("svg") else None)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
