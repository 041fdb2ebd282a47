"""The precision of matrix products, and whether it is fast on this machine."""

import logging
from contextlib import AbstractContextManager
from functools import cache

import torch

from unrolled.errors import check_choice

log = logging.getLogger(__name__)

DTYPES = {"32-true": None, "bf16-mixed": torch.bfloat16, "16-mixed": torch.float16}


def autocast(device: torch.device, precision: str) -> AbstractContextManager[None]:
    """Products in ``precision``, in Lightning's words: 32-true, bf16-mixed or 16-mixed. UserError for any other."""
    check_choice("precision", precision, DTYPES)
    warn_if_emulated(precision, device.type)
    dtype = DTYPES[precision]
    return torch.autocast(device.type, dtype=dtype, enabled=dtype is not None)


@cache
def warn_if_emulated(precision: str, device: str) -> None:
    """Warn once if ``device`` (cpu, cuda) only emulates ``precision``, and so loses time with it."""
    dtype = DTYPES.get(precision)
    if dtype is None or _has(device, dtype):
        return
    suits = "16-mixed (in training hardware=gpu_fp16)" if device == "cuda" else "32-true (in training hardware=cpu)"
    name = str(dtype).removeprefix("torch.")
    log.warning("precision=%s: this %s only emulates %s, which is slower: use %s", precision, device, name, suits)


def _has(device: str, dtype: torch.dtype) -> bool:
    if device == "cuda":
        return dtype == torch.float16 or torch.cuda.is_bf16_supported(including_emulation=False)
    if device != "cpu":
        return True
    asks = "_is_mkldnn_bf16_supported" if dtype == torch.bfloat16 else "_is_mkldnn_fp16_supported"
    try:
        return bool(getattr(torch.ops.mkldnn, asks)())
    except (AttributeError, RuntimeError):
        return False
