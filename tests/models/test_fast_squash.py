"""The squashing functions in place."""

import pytest
import torch

from unrolled.models.fast.squash import tanh


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_tanh_without_gradients_is_exact_near_zero(dtype):
    x = torch.tensor([1e-3, -2e-4], dtype=dtype)
    with torch.no_grad():
        torch.testing.assert_close(tanh(x.clone()), torch.tanh(x), rtol=1e-3, atol=0)
