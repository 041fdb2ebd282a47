"""The precision of matrix products outside training."""

from contextlib import AbstractContextManager

import torch

from unrolled.errors import UserError


def autocast(device: torch.device, precision: str) -> AbstractContextManager[None]:
    """Products in ``precision``, in Lightning's words: 32-true, bf16-mixed or 16-mixed. UserError for any other."""
    dtypes = {"32-true": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}
    if precision not in dtypes:
        raise UserError(f"precision={precision} is unknown: give {', '.join(dtypes)}")
    dtype = dtypes[precision]
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)
