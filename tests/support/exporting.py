"""Exporting several models in one process."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from unittest.mock import patch


@contextmanager
def operators_read_once() -> Iterator[None]:
    """PyTorch reads the source of all of onnxscript's operators for each graph, the same every time."""
    from torch.onnx._internal.exporter._registration import ONNXRegistry

    with patch.object(ONNXRegistry, "from_torchlib", staticmethod(cache(ONNXRegistry.from_torchlib))):
        yield
