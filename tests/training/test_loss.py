import pytest
import torch
from torch.nn import functional

from unrolled.training.loss import token_loss


def test_sums_equal_torch_cross_entropy():
    torch.manual_seed(0)
    logits, words = torch.randn(5, 7, dtype=torch.float64), torch.randint(7, (5,))
    for smoothing in (0.0, 0.1):
        loss = token_loss(logits, words, smoothing)
        expected = functional.cross_entropy(logits, words, reduction="sum", label_smoothing=smoothing)
        torch.testing.assert_close(loss.objective, expected, rtol=0, atol=1e-12)
        torch.testing.assert_close(
            loss.negative_log_likelihood, functional.cross_entropy(logits, words, reduction="sum"), rtol=0, atol=1e-12
        )
        assert loss.tokens == 5


def test_large_logits_do_not_overflow():
    loss = token_loss(torch.tensor([[1e4, 0.0]]), torch.tensor([1]))
    assert loss.objective.item() == pytest.approx(1e4)


def test_half_precision_logits_are_summed_in_float32():
    loss = token_loss(torch.randn(3, 5).bfloat16(), torch.tensor([0, 1, 2]))
    assert loss.objective.dtype is torch.float32
