"""Random hidden layers: from inputs x to features h(x), (17) and (19) of the paper."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from scipy.special import expit

from kmpe.scale import Array

__all__ = ["ACTIVATIONS", "Activation", "HiddenLayer"]

Activation = str | Callable[[Array], Array]


def _hard_limit(z: Array) -> Array:
    return np.heaviside(z, 1.0).astype(z.dtype, copy=False)


def _relu(z: Array) -> Array:
    return np.maximum(z, 0, out=z)


def _fourier(z: Array) -> Array:
    return np.asarray(np.sqrt(z.dtype.type(2)) * np.cos(z, out=z))


def _rbf(distance2: Array) -> Array:
    return np.exp(-distance2)


#: What is applied to xW + b, by name. "rbf" gets b ‖x - w‖² instead.
ACTIVATIONS: Mapping[str, Callable[[Array], Array]] = MappingProxyType(
    {
        "sigmoid": lambda z: np.asarray(expit(z, out=z)),
        "tanh": lambda z: np.tanh(z, out=z),
        "relu": _relu,
        "sine": lambda z: np.sin(z, out=z),
        "hard_limit": _hard_limit,
        "rbf": _rbf,
        "fourier": _fourier,
    }
)


@dataclass(frozen=True)
class HiddenLayer:
    """A hidden layer with its input weights W (d × L) and biases b (L)."""

    W: Array
    b: Array
    activation: Activation

    @classmethod
    def draw(
        cls,
        n_features: int,
        n_hidden: int,
        activation: Activation,
        rng: np.random.RandomState,
        dtype: Any = np.float64,
    ) -> "HiddenLayer":
        """Draw a layer: W from U(-1, 1) and b from U(0, 1).

        The random Fourier layer draws W from N(0, 1) and b from U(0, 2π), so that its features
        approximate the Gaussian kernel exp(-‖x - y‖² / 2).
        """
        shape = (n_features, n_hidden)
        if activation == "fourier":
            W, b = rng.standard_normal(shape), rng.uniform(0, 2 * np.pi, n_hidden)
        else:
            W, b = rng.uniform(-1, 1, shape), rng.uniform(0, 1, n_hidden)
        return cls(W.astype(dtype, copy=False), b.astype(dtype, copy=False), activation)

    def __call__(self, X: Any) -> Array:
        """Return the features of the rows of X, dense or sparse."""
        if callable(self.activation):
            return np.asarray(self.activation(X @ self.W + self.b))
        if self.activation == "rbf":
            squares = X.multiply(X).sum(axis=1) if hasattr(X, "multiply") else (X * X).sum(axis=1)
            distance2 = np.asarray(squares).reshape(-1, 1) - 2 * (X @ self.W)
            distance2 += (self.W * self.W).sum(axis=0)
            return ACTIVATIONS["rbf"](self.b * np.maximum(distance2, 0))
        return ACTIVATIONS[self.activation](np.asarray(X @ self.W + self.b))
