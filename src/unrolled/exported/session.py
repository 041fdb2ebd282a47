"""An exported model run by onnxruntime, and how far it is from the model that it was made of."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.exported.graphs import graphs
from unrolled.exported.onnx_files import START, STEP
from unrolled.text.tokens import SPECIALS

STEPS = 6


def has_runtime() -> bool:
    """Whether onnxruntime is installed."""
    return find_spec("onnxruntime") is not None


def largest_difference(model: nn.Module, folder: Path, described: dict[str, Any], words: tuple[int, int]) -> float:
    """The largest difference of a log-probability between ``model`` and ``folder``'s files, relative to sizes above 1.

    On three random sentences of 2 to 9 words and single ones, ids below ``words`` of source and target, for some steps.
    """
    import onnxruntime

    def session(name: str) -> Any:
        return onnxruntime.InferenceSession(str(folder / name), providers=["CPUExecutionProvider"])

    random = torch.Generator().manual_seed(1)
    step = session(STEP)
    start = None if isinstance(described["start"][0], dict) else session(START)
    largest = 0.0
    for lengths in ([9, 2, 7], [4], [1]):
        source = torch.randint(
            len(SPECIALS), max(words[0], len(SPECIALS) + 1), (len(lengths), max(lengths)), generator=random
        )
        wanted, tensors = _state(model, start, source, torch.tensor(lengths))
        for _ in range(STEPS):
            tokens = torch.randint(1, words[1], (len(lengths),), generator=random)
            log_probs, wanted = model.step(tokens, wanted)  # type: ignore[operator]
            inputs = zip(described["step"], [tokens.numpy(), *tensors.values()], strict=True)
            outputs = dict(zip(described["next"], step.run(described["next"], dict(inputs)), strict=True))
            difference = (torch.from_numpy(outputs["log_probs"]) - log_probs).abs() / log_probs.abs().clamp(min=1)
            largest = max(largest, float(difference.max()))
            tensors = {name: outputs.get(f"next_{name}", value) for name, value in tensors.items()}
    return largest


def _state(model: Any, start: Any, source: Tensor, lengths: Tensor) -> tuple[Any, dict[str, Any]]:
    """The state before the first word, of the model and of the files."""
    if start is None:
        wanted = model.zero_state(len(source))
        tensors = [tensor.numpy() for tensor in graphs(model, len(source)).state]
    else:
        wanted = model.decoder.start(*model.encode(source, lengths))
        tensors = start.run(None, {"source": source.numpy(), "lengths": lengths.numpy()})
    return wanted, {f"state_{number}": tensor for number, tensor in enumerate(tensors)}
