"""PyTorch's settings as a command has them, whatever the program or notebook around it has chosen."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

_counting = threading.Lock()
_inside = 0
_chosen: Any = None
"""The program's type of new numbers, which all threads share, while `_inside` blocks of `usual_settings` run."""


@contextmanager
def usual_settings() -> Iterator[None]:
    """In the block new tensors are float32 and on the CPU, and gradients are computed; no autocast, no inference mode.

    Otherwise a default type of float64, for instance, would make float64 models of all runs.
    """
    import torch

    with ExitStack() as settings:
        settings.enter_context(_float32())
        if torch.get_default_device().type != "cpu":  # this context costs time in every call of torch
            settings.enter_context(torch.device("cpu"))
        settings.enter_context(torch.inference_mode(False))
        settings.enter_context(torch.enable_grad())
        for device in ("cpu", "cuda"):
            if torch.is_autocast_enabled(device):
                settings.enter_context(torch.autocast(device, enabled=False))
        yield


@contextmanager
def _float32() -> Iterator[None]:
    import torch

    global _inside, _chosen
    with _counting:
        if _inside == 0:
            _chosen = torch.get_default_dtype()
            torch.set_default_dtype(torch.float32)
        _inside += 1
    try:
        yield
    finally:
        with _counting:
            _inside -= 1
            if _inside == 0:
                torch.set_default_dtype(_chosen)
