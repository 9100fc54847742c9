"""The evidence of Gaussian process regression, its gradient, and leave-one-out errors.

Targets Y (n × q) are a Gaussian process with the covariance v C, C = K(θ) + diag(η / (a w)): a
row of sample weight a and weight w has the noise variance vη / (a w). With v at its maximum, the
log evidence is, up to a constant (Rasmussen and Williams 2006, section 5.4),

    -½ nq log(tr YᵀC⁻¹Y) - ½ q log det C.

It is maximised with tr YᵀC⁻¹Y / ‖Y‖² in place of the trace, so that its value, and with it the
relative tolerance at which the search ends, does not depend on the unit of the targets.

θ are the logarithms of one over the length scale of each input, of the variances of the smooth,
rough and linear part, of the ratio of the two length scales, and of η. A value with its gradient
takes one Cholesky factorisation and one inverse.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack
from scipy.optimize import minimize

from kmpe.arrays import Array
from kmpe.rows.kernel_nodes import Kernel, manhattan_distances, squared_distances

__all__ = ["Errors", "Evidence", "Theta"]

# The log variance of the linear part that means that there is none.
_NO_LINE = -10.0


@dataclass(frozen=True)
class Theta:
    """The hyperparameters θ: log scales of the inputs, or one for all, and five more."""

    values: Array
    d: int

    @classmethod
    def start(cls, n: int, d: int, *, common: bool) -> "Theta":
        """Return length scales of √d standard deviations, a smooth function and noise.

        From a rough function, noise could be fitted as part of it. With fewer rows than inputs
        there is no linear part: the smooth part is nearly linear then.
        """
        first = np.full(1 if common else d, -0.5 * np.log(d))
        linear = _NO_LINE if d > n else -2.0
        return cls(np.append(first, [-0.7, -2.5, 0.0, linear, -1.5]), d)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Numerical bounds: e⁻¹⁶ of the variance is near rounding."""
        n_scales = len(self.values) - 5
        line = (_NO_LINE, _NO_LINE if self.values[-2] == _NO_LINE else 5.0)
        rest = [(-8.0, 5.0), (-8.0, 5.0), (-3.0, 3.0), line, (-16.0, 3.0)]
        return [(-8.0, 4.0)] * n_scales + rest

    @property
    def scales(self) -> Array:
        """One over the length scale of each input."""
        return np.asarray(np.broadcast_to(np.exp(self.values[:-5]), self.d))

    @property
    def kernel(self) -> Kernel:
        """The kernel with these hyperparameters."""
        smooth, rough, ratio, linear, _ = np.exp(self.values[-5:]).tolist()
        linear = linear if self.values[-2] > _NO_LINE else 0.0
        return Kernel(self.scales.copy(), smooth, rough, ratio, linear)

    @property
    def noise(self) -> float:
        """The noise variance η over that of the process."""
        return float(np.exp(self.values[-1]))

    def shifted(self, by: float) -> "Theta":
        """Return θ with all length scales times exp(-by)."""
        values = self.values.copy()
        values[:-5] += by
        return Theta(values, self.d)

    def prior(self) -> tuple[float, Array]:
        """Return minus the log prior and its gradient.

        Log-normal: standard deviations are a factor e of scales about their mean, e² of their mean
        about the start, e of the ratio and e³ of variances. It matters: on Friedman 1, 300 rows of
        noise 1 with five of ten inputs irrelevant, half of this log prior has 6% smaller errors of
        the function and twice 9% larger ones (six draws; a fifth of the rows spoilt: 5% and 8%).
        """
        # Without a linear part its term is a constant.
        start = Theta.start(self.d, self.d, common=len(self.values) == 6).values
        scales, from_start = self.values[:-5], self.values - start
        about = scales - scales.mean()
        shift = float(from_start[:-5].mean())
        rest = from_start[-5:] / np.array([9.0, 9.0, 1.0, 9.0, 9.0])
        value = 0.5 * (float(about @ about) + shift**2 / 4 + float(rest @ from_start[-5:]))
        return value, np.append(about + shift / 4 / len(scales), rest)


class Errors(NamedTuple):
    """Leave-one-out errors (n × q), predictive variances without noise, and noise variances."""

    errors: Array
    open: Array
    noise: float

    @property
    def scaled(self) -> Array:
        """Root mean squared errors over the targets, over their standard deviations."""
        s = np.einsum("ij,ij->i", self.errors, self.errors) / self.errors.shape[1]
        return np.asarray(np.sqrt(s / (self.open + self.noise)))


@dataclass(frozen=True)
class Evidence:
    """The evidence of scaled inputs X, targets Y and sample weights a, raised to a power."""

    X: Array
    Y: Array
    a: Array
    power: float = 1.0

    @cached_property
    def _line(self) -> Array:
        return np.asarray(self.X @ self.X.T / self.X.shape[1])

    @cached_property
    def _targets(self) -> tuple[Array, float, float]:
        """Targets over a power of two near the largest, their sum of squares, and log ‖Y‖.

        In that unit squares do not vanish.
        """
        unit = float(np.exp2(np.rint(np.log2(np.abs(self.Y).max(initial=0.0) or 1.0))))
        Y = self.Y / unit
        squares = float(np.vdot(Y, Y))
        return Y, squares, float(np.log(unit) + 0.5 * np.log(squares))

    def covariance(self, theta: Theta) -> Array:
        """Return K(θ), the linear part and the constant included."""
        kernel = theta.kernel
        K = kernel(self.X, self.X)
        K.flat[:: len(K) + 1] = kernel.smooth + kernel.rough
        K += kernel.linear * self._line
        K += 10.0
        return K

    def errors(self, theta: Theta, w: Array) -> Errors:
        """Return leave-one-out errors (Sundararajan and Keerthi 2001)."""
        C = self.covariance(theta)
        noise = theta.noise / (self.a * w)
        C.flat[:: len(C) + 1] += noise
        upper, _ = lapack.dpotrf(C)
        solved, _ = lapack.dpotrs(upper, self.Y)
        inverse, _ = lapack.dpotri(upper)
        diagonal = np.diagonal(inverse)
        v = float(np.vdot(self.Y, solved)) / self.Y.size
        left = np.maximum(1 / diagonal - noise, 0.0)
        return Errors(solved / diagonal[:, None], v * left, v * theta.noise)

    def maximise(self, theta: Theta, w: Array, max_iter: int) -> tuple[Theta, float]:
        """Return the maximum a posteriori θ by L-BFGS, and its log posterior."""

        def minus_log(values: Array) -> tuple[float, Array]:
            return self._minus_log(Theta(values, theta.d), w)

        found: Any = minimize(
            minus_log,
            theta.values,
            jac=True,
            method="L-BFGS-B",
            bounds=theta.bounds,
            options={"maxiter": max_iter},
        )
        return Theta(found.x, theta.d), -float(
            found.fun
        ) - self.power * self.Y.size * self._targets[2]

    def _minus_log(self, theta: Theta, w: Array) -> tuple[float, Array]:
        """Return minus the log posterior and its gradient."""
        (n, q), kernel = self.Y.shape, theta.kernel
        XG = self.X * kernel.scales
        D2 = squared_distances(XG, XG)
        D2.flat[:: n + 1] = 0
        smooth = kernel.smooth * np.exp(-0.5 * D2)
        D1 = manhattan_distances(XG, XG)
        rough = kernel.rough * np.exp(-kernel.ratio * D1)
        noise = theta.noise / (self.a * w)
        C = smooth + rough
        C += kernel.linear * self._line
        C += 10.0
        C.flat[:: n + 1] += noise
        upper, info = lapack.dpotrf(C, overwrite_a=1)
        value, prior = theta.prior()
        gradient = np.zeros_like(prior)
        if info:
            return 1e10, gradient
        Y, squares, _ = self._targets
        solved, _ = lapack.dpotrs(upper, Y)
        total = float(np.vdot(Y, solved))
        determinant = q * float(np.log(np.diagonal(upper)).sum())
        value += self.power * (0.5 * n * q * np.log(total / squares) + determinant)
        inverse, _ = lapack.dpotri(upper, overwrite_c=1)
        # LAPACK fills the upper triangle only; G becomes the gradient in C.
        G = np.triu(inverse, 1)
        G += G.T
        G.flat[:: n + 1] = np.diagonal(inverse)
        G *= 0.5 * q
        G -= (0.5 * n * q / total) * (solved @ solved.T)
        by_smooth, by_rough = G * smooth, G * rough
        gradient[-5] += by_smooth.sum()
        gradient[-4] += by_rough.sum()
        in_ratio = kernel.ratio * float(np.vdot(by_rough, D1))
        gradient[-3] -= in_ratio
        gradient[-2] += kernel.linear * np.vdot(G, self._line)
        gradient[-1] += np.diagonal(G) @ noise
        pairs = by_smooth.sum(axis=1) @ XG**2 - np.einsum("ij,ij->j", XG, by_smooth @ XG)
        if len(gradient) - 5 == theta.d:
            gradient[:-5] -= 2 * pairs + kernel.ratio / np.sqrt(theta.d) * _apart(by_rough, XG)
        else:
            gradient[0] -= 2 * pairs.sum() + in_ratio
        return value, prior + self.power * gradient


def _apart(G: Array, X: Array) -> Array:
    """Return Σ Gᵢₖ |xᵢⱼ - xₖⱼ| for each column j."""
    total, apart = np.empty(X.shape[1]), np.empty_like(G)
    for j, x in enumerate(X.T):
        np.subtract.outer(x, x, out=apart)
        total[j] = np.vdot(G, np.abs(apart, out=apart))
    return total
