"""Few different numbers of rows in matrix products, for bfloat16 on a CPU.

There oneDNN compiles a product for every new shape, and remembers 1,024 of them. Each batch has another number of
words, and compiling takes about as long as multiplying. So rows of zeros are appended, up to a multiple of 64, and left
out of the result; in the gradients they are zero. float32 has products for any shape and stays as it is.
"""

import torch
from torch import Tensor
from torch.nn import functional

MULTIPLE = 64
FEWEST = 256
"""Rows from which on they are rounded up: one for each position. With fewer, batches often have the same number."""


def rounded_up(x: Tensor) -> Tensor:
    """``(N, I)`` -> ``(N', I)``, zero from row N on; ``x`` itself if nothing is compiled or there are few rows."""
    missing = -len(x) % MULTIPLE
    if missing == 0 or len(x) < FEWEST or not compiled(x, x.dtype):
        return x
    return functional.pad(x, (0, 0, 0, missing))


def compiled(x: Tensor, dtype: torch.dtype) -> bool:
    """Whether a product with ``x``, in ``dtype``, is compiled for its shape."""
    return dtype == torch.bfloat16 and x.device.type == "cpu" and bool(torch.backends.mkldnn.enabled)
