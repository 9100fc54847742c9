"""The loss that suits the noise, for residuals of any model: where users import it from."""

from kmpe.choice.loss import Choice, choose_loss

__all__ = ["Choice", "choose_loss"]
