"""
A PyTorch network with a robust loss
====================================

The resistance of sailing yachts grows steeply with their speed, as 308 towing experiments show. A
fifth of the measurements are wrong here. Every loss of kmpe is also a PyTorch module. A rule for σ
such as ``"mad"`` is evaluated on each batch, and σ is a running average, as in batch
normalisation.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.preprocessing import StandardScaler

from kmpe.datasets import load
from kmpe.torch import KMPELoss

torch.set_num_threads(1)
yacht = load("yacht", download=False)
X = torch.tensor(StandardScaler().fit_transform(yacht.X), dtype=torch.float32)
clean = torch.tensor(yacht.y / yacht.y.std(), dtype=torch.float32)
rng = np.random.default_rng(0)
bad = rng.choice(len(clean), len(clean) // 5, replace=False)
y = clean.clone()
y[bad] += torch.tensor(rng.normal(0, 10, len(bad)), dtype=torch.float32)

# %%
# The same network and optimiser with three losses.


def train(criterion, steps=250):
    """Return a trained network and its error on clean targets after each step."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(X.shape[1], 50), torch.nn.Tanh(), torch.nn.Linear(50, 1)
    )
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02, weight_decay=1e-4)
    errors = []
    for _ in range(steps):
        optimiser.zero_grad()
        output = network(X)[:, 0]
        criterion(output, y).backward()
        optimiser.step()
        errors.append(float(torch.sqrt(torch.mean((output.detach() - clean) ** 2))))
    return network, errors


losses = {
    "MSELoss": torch.nn.MSELoss(),
    "SmoothL1Loss": torch.nn.SmoothL1Loss(),
    "kmpe.torch.KMPELoss": KMPELoss(),
}
fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
speed = yacht.X[:, -1]
axes[0].plot(speed, clean, "k.", ms=4, label="clean")
for (name, criterion), color in zip(losses.items(), ("0.6", "C1", "C0"), strict=True):
    network, errors = train(criterion)
    axes[1].semilogy(errors, color=color, label=f"{name}: {errors[-1]:.2f}")
    if name != "SmoothL1Loss":
        axes[0].plot(speed, network(X).detach()[:, 0], ".", color=color, ms=3, label=name)
axes[0].set(xlabel="Froude number", ylabel="resistance, standard deviations", ylim=(-2, 6))
axes[0].legend(frameon=False)
axes[1].set(xlabel="step", ylabel="error on clean targets")
axes[1].legend(frameon=False)
plt.show()
