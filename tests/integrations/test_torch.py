"""The losses in PyTorch: values, slopes and curvatures are those of NumPy."""

import copy

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not here: make test-integrations has it")

from every_loss import LOSSES, name  # noqa: E402
from kmpe import KMPE, MPE, Huber, Squared, Tukey  # noqa: E402
from kmpe.torch import KMPELoss, RobustLoss, robust_loss  # noqa: E402


def residuals(n=12):
    """Return residuals away from 0 and from the kinks at 1 and √0.97."""
    r = np.linspace(0.15, 2.3, n) * np.where(np.arange(n) % 2, 1, -1)
    return torch.tensor(r, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("loss", LOSSES, ids=name)
def test_first_and_second_derivatives_are_those_of_the_values(loss):
    r, zero = residuals(), torch.zeros(12, dtype=torch.float64)

    def value(r):
        return robust_loss(r, zero, loss, reduction="none")

    np.testing.assert_allclose(value(r).detach(), 0.5 * loss.rho(r.detach().numpy() ** 2))
    assert torch.autograd.gradcheck(value, (r,))
    assert torch.autograd.gradgradcheck(value, (r,))


@pytest.mark.parametrize("p", [0.5, 1.0, 2.0, 4.0])
def test_an_exact_prediction_has_no_slope(p):
    for dtype in (torch.float32, torch.float64):
        x = torch.zeros(3, dtype=dtype, requires_grad=True)
        robust_loss(x, torch.zeros(3, dtype=dtype), KMPE(p, 1.0)).backward()
        assert torch.equal(x.grad, torch.zeros(3, dtype=dtype))


def test_huber_is_that_of_pytorch():
    x, y = torch.randn(20, generator=torch.Generator().manual_seed(0)), torch.zeros(20)
    for reduction in ("none", "sum", "mean"):
        ours = robust_loss(x, y, Huber(sigma=1.0), reduction=reduction)
        theirs = torch.nn.functional.smooth_l1_loss(x, y, reduction=reduction)
        torch.testing.assert_close(ours, theirs)
    torch.testing.assert_close(robust_loss(x, y, Squared()), 0.5 * (x * x).mean())


def test_weights_are_repeats():
    x, y = torch.tensor([0.3, 1.0, 5.0]), torch.zeros(3)
    twice = torch.tensor([2.0, 1.0, 1.0])
    for loss in (Tukey(), KMPE(4.0, "mad"), MPE(1.0)):
        repeated = robust_loss(x[[0, 0, 1, 2]], y[[0, 0, 1, 2]], loss)
        torch.testing.assert_close(robust_loss(x, y, loss, weight=twice), repeated)


def test_sigma_by_a_rule_runs_along_in_training_and_stays_in_evaluation():
    criterion = KMPELoss(momentum=0.5)
    x = torch.randn(200, generator=torch.Generator().manual_seed(0), requires_grad=True)
    criterion(x, torch.zeros(200)).backward()
    first = float(criterion.running_sigma)
    assert first == pytest.approx(KMPE().resolve(x.detach().numpy() ** 2).scale, rel=1e-5)
    criterion(4 * x, torch.zeros(200))
    assert float(criterion.running_sigma) == pytest.approx(2 * first, rel=1e-5)
    criterion.eval()
    criterion(100 * x, torch.zeros(200))
    assert float(criterion.running_sigma) == pytest.approx(2 * first, rel=1e-5)
    restored = KMPELoss()
    restored.load_state_dict(criterion.state_dict())
    assert float(copy.deepcopy(restored).running_sigma) == pytest.approx(2 * first, rel=1e-5)


def test_sigma_is_a_constant_to_autograd():
    x = torch.tensor([0.3, -1.0, 2.0, 0.5], dtype=torch.float64, requires_grad=True)
    zero = torch.zeros(4, dtype=torch.float64)
    (by_rule,) = torch.autograd.grad(robust_loss(x, zero, Tukey()), x)
    fixed = Tukey().resolve(x.detach().numpy() ** 2)
    (by_number,) = torch.autograd.grad(robust_loss(x, zero, fixed), x)
    torch.testing.assert_close(by_rule, by_number)


def test_bad_arguments_are_named_with_advice():
    x = torch.zeros(3)
    with pytest.raises(ValueError, match=r"input has shape \(3,\) and target \(3, 1\)"):
        robust_loss(x, torch.zeros(3, 1))
    with pytest.raises(ValueError, match="reduction='median' must be"):
        RobustLoss(reduction="median")
    with pytest.raises(ValueError, match="momentum=0 must lie above 0"):
        RobustLoss(momentum=0)
    assert "KMPE(p=2, sigma='mad')" in repr(KMPELoss())


def test_a_network_learns_the_curve_and_not_the_garbage():
    generator = torch.Generator().manual_seed(0)
    X = torch.rand(400, 1, generator=generator) * 4 - 2
    clean = torch.sin(2 * X)
    y = clean + 0.1 * torch.randn(400, 1, generator=generator)
    y[:80] += 8
    errors = {}
    for criterion in (KMPELoss(), torch.nn.SmoothL1Loss()):
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(1, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1))
        optimiser = torch.optim.Adam(net.parameters(), lr=0.02)
        for _ in range(300):
            optimiser.zero_grad()
            criterion(net(X), y).backward()
            optimiser.step()
        errors[type(criterion).__name__] = float(((net(X) - clean) ** 2).mean().sqrt().detach())
    assert errors["KMPELoss"] < 0.1
    assert errors["SmoothL1Loss"] > 3 * errors["KMPELoss"]
