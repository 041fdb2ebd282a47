"""Matrix products whose precision is their weight's, while states, sums and gradients keep their own.

In one precision these are ``torch.mm`` and ``addmm`` into buffers; under autocast the product alone is lowered.
"""

import torch
from torch import Tensor


def product_dtype(weight: Tensor) -> torch.dtype:
    """What products with ``weight`` run in: autocast's dtype where it is on and the weight is float32."""
    device = weight.device.type
    if torch.is_autocast_enabled(device) and weight.dtype == torch.float32:
        return torch.get_autocast_dtype(device)
    return weight.dtype


def multiply(a: Tensor, weight: Tensor, out: Tensor) -> Tensor:
    """``out`` = a W: ``(N, I)``, ``(I, O)`` -> ``(N, O)``."""
    if out.dtype == a.dtype == weight.dtype:
        return torch.mm(a, weight, out=out)
    return out.copy_(torch.mm(a.to(weight.dtype), weight))


def accumulate(out: Tensor, a: Tensor, weight: Tensor) -> Tensor:
    """``out`` += a W: ``(N, I)``, ``(I, O)`` -> ``(N, O)``."""
    if out.dtype == a.dtype == weight.dtype:
        return out.addmm_(a, weight)
    return out.add_(torch.mm(a.to(weight.dtype), weight))


def weight_gradient(gradients: Tensor, inputs: Tensor, dtype: torch.dtype) -> Tensor:
    """The gradient of W in y = x W^T, all steps in one product: sum_t dy_t^T x_t.

    ``(T, B, O)``, ``(T, B, I)`` -> ``(O, I)``, the product in ``dtype``.
    """
    return torch.mm(gradients.to(dtype).flatten(0, 1).t(), inputs.to(dtype).flatten(0, 1)).to(gradients.dtype)
