"""The losses of this package as PyTorch modules and as a function.

A loss is a function of the residual r = input - target, ½ρ(r²). Its value, slope ψ and curvature ψ'
are those of `kmpe.losses`, evaluated by NumPy in double precision and passed to autograd, second
derivatives included. Tensors on a GPU are copied to the CPU for this, which is cheap for batches of
targets, but not for images.
"""

from typing import Any

import numpy as np

from kmpe.arrays import Array
from kmpe.losses import KMPE, Loss

try:
    import torch
except ModuleNotFoundError as error:
    if error.name != "torch":
        raise
    raise ModuleNotFoundError(
        "kmpe.torch needs PyTorch: pip install 'kmpe[torch]'", name="torch"
    ) from error

__all__ = ["KMPELoss", "RobustLoss", "robust_loss"]


class _Value(torch.autograd.Function):  # type: ignore[misc]
    """½ρ(r²) of each residual; its slope is ψ(r)."""

    @staticmethod
    def forward(ctx: Any, r: Any, loss: Loss) -> Any:
        ctx.save_for_backward(r)
        ctx.loss = loss
        with np.errstate(over="ignore"):
            return _evaluate(lambda x: 0.5 * loss.rho(x * x), r)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        (r,) = ctx.saved_tensors
        return grad * _Slope.apply(r, ctx.loss), None


class _Slope(torch.autograd.Function):  # type: ignore[misc]
    """ψ of each residual; its slope is ψ'(r). There are no third derivatives."""

    @staticmethod
    def forward(ctx: Any, r: Any, loss: Loss) -> Any:
        ctx.save_for_backward(r)
        ctx.loss = loss
        return _evaluate(loss.psi, r)

    @staticmethod
    @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, grad: Any) -> tuple[Any, None]:
        (r,) = ctx.saved_tensors
        return grad * _evaluate(ctx.loss.psi_derivative, r), None


def _evaluate(function: Any, r: Any) -> Any:
    """Evaluate a NumPy function at a tensor; keep the dtype and the device of the tensor."""
    values = np.asarray(function(_array(r)), dtype=np.float64)
    return torch.from_numpy(np.ascontiguousarray(values)).to(r.dtype).to(r.device)


def _array(tensor: Any) -> Array:
    # To the CPU first: not every device has double precision.
    return np.asarray(tensor.detach().cpu().to(torch.float64).numpy())


def robust_loss(
    input: Any,  # noqa: A002 - PyTorch's name for it
    target: Any,
    loss: Loss | None = None,
    weight: Any = None,
    reduction: str = "mean",
) -> Any:
    """Return ½ρ((input - target)²), like ``torch.nn.functional.smooth_l1_loss``.

    Parameters
    ----------
    input, target : Tensor
        Predictions and targets, of one shape.
    loss : Loss, default=KMPE()
        Any loss of this package. A rule for σ is applied to the residuals of this call, without
        a gradient.
    weight : Tensor, optional
        Weights of the elements; it must broadcast to their shape.
    reduction : {"mean", "sum", "none"}, default="mean"
        What is returned: the mean (over the sum of the weights, if there are any), the sum, or all.

    See Also
    --------
    RobustLoss : The same as a module, with a running σ.

    Examples
    --------
    >>> x = torch.tensor([0.0, 1.0, 100.0], requires_grad=True)
    >>> robust_loss(x, torch.zeros(3), KMPE(sigma=1.0), reduction="sum").backward()
    >>> x.grad
    tensor([0.0000, 0.6065, 0.0000])
    """
    if input.shape != target.shape:
        raise ValueError(
            f"input has shape {tuple(input.shape)} and target {tuple(target.shape)}: they must "
            "agree, or every element would be compared with every other"
        )
    _check_reduction(reduction)
    r = input - target
    loss = KMPE() if loss is None else loss
    values = _Value.apply(r, loss.resolve(*_squares(r, weight)) if loss.has_rule else loss)
    if weight is not None:
        values = weight * values
    if reduction == "none":
        return values
    if reduction == "sum":
        return values.sum()
    return values.mean() if weight is None else values.sum() / weight.expand_as(values).sum()


def _squares(r: Any, weight: Any) -> tuple[Array, Array | None]:
    """Return squared residuals and weights as constants, for a rule."""
    s = _array(r).ravel() ** 2
    return s, None if weight is None else _array(weight.expand_as(r)).ravel()


def _check_reduction(reduction: str) -> None:
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f'reduction={reduction!r} must be "mean", "sum" or "none"')


class RobustLoss(torch.nn.Module):  # type: ignore[misc]
    """Any loss of this package as a module.

    A rule for σ is applied to every batch in training, and the values are averaged with factor
    ``momentum``, like the statistics of BatchNorm. In evaluation mode σ stays fixed.

    Parameters
    ----------
    loss : Loss, default=KMPE()
        The loss.
    reduction : {"mean", "sum", "none"}, default="mean"
        As in `robust_loss`.
    momentum : float, default=0.1
        The share of the batch's σ in the running average; 1 uses the σ of each batch.

    Attributes
    ----------
    running_sigma : Tensor
        The σ in use, a buffer of the module; NaN before the first batch.

    See Also
    --------
    KMPELoss : The loss of the paper.
    robust_loss : The same as a function.

    Examples
    --------
    >>> from kmpe import Tukey
    >>> criterion = RobustLoss(Tukey())
    >>> criterion(torch.tensor([0.0, 1.0, -2.0, 100.0]), torch.zeros(4))
    tensor(2.5...)
    """

    def __init__(
        self, loss: Loss | None = None, *, reduction: str = "mean", momentum: float = 0.1
    ) -> None:
        super().__init__()
        _check_reduction(reduction)
        if not 0 < momentum <= 1:
            raise ValueError(f"momentum={momentum!r} must lie above 0 and be at most 1")
        self.loss = KMPE() if loss is None else loss
        self.reduction = reduction
        self.momentum = momentum
        self.register_buffer("running_sigma", torch.tensor(float("nan")))

    def forward(self, input: Any, target: Any, weight: Any = None) -> Any:  # noqa: A002
        """Return the loss of a batch."""
        loss = self.loss
        if loss.has_rule:
            loss = loss.at(self._sigma(input, target, weight))
        return robust_loss(input, target, loss, weight, self.reduction)

    def _sigma(self, input: Any, target: Any, weight: Any) -> float:  # noqa: A002
        """Return the running σ, updated in training mode."""
        before = float(self.running_sigma)
        if self.training or np.isnan(before):
            now = self.loss.resolve(*_squares(input - target, weight)).scale
            # The average is geometric: σ may fall by powers of ten as a network learns.
            sigma = now if np.isnan(before) else before * (now / before) ** self.momentum
            self.running_sigma.fill_(sigma)
            return float(sigma)
        return before

    def extra_repr(self) -> str:
        """Return the text in the printed form of the module."""
        return f"{self.loss}, reduction={self.reduction!r}"


class KMPELoss(RobustLoss):
    """The kernel mean p-power error, `kmpe.KMPE`.

    See Also
    --------
    RobustLoss : Any loss of this package.
    kmpe.KMPE : The loss.

    Examples
    --------
    >>> criterion = KMPELoss(p=4, sigma=1.0)
    >>> criterion(torch.tensor([0.0, 1.0, 100.0]), torch.zeros(3)).round(decimals=4)
    tensor(0.1925)
    """

    def __init__(
        self,
        p: float = 2.0,
        sigma: float | str = "mad",
        *,
        reduction: str = "mean",
        momentum: float = 0.1,
    ) -> None:
        super().__init__(KMPE(p, sigma), reduction=reduction, momentum=momentum)
