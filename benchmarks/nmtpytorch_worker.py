"""Runs in nmtpytorch's own environment: its conditional GRU, fed batch after batch through standard input.

First line: the sizes. Every further line: a batch of token ids. Answers with a line of JSON each: seconds of a training
step as ``MainLoop.train_batch`` takes it (its encoder, decoder, loss and optimiser, clipping at 1), loss, peak MiB.
"""

import json
import resource
import sys
import time
from types import ModuleType
from typing import Any

import torch

# what nmtpytorch 4.0.0 asks of torch 1.0.0 and torch 2 no longer gives
torch.Tensor.byte = torch.Tensor.bool  # its masks
pictures = sys.modules["nmtpytorch.layers.encoders.image"] = ModuleType("image")  # needs an old torchvision
pictures.ImageEncoder = None  # takes no part

from nmtpytorch.layers import ConditionalDecoder, TextEncoder
from nmtpytorch.optimizer import Optimizer


class Translator(torch.nn.Module):
    """Encoder, decoder and loss, put together as ``nmtpytorch.models.NMT`` does by default."""

    def __init__(self, sizes: dict[str, Any]) -> None:
        super().__init__()
        self.enc = TextEncoder(
            input_size=sizes["embedding"],
            hidden_size=sizes["encoder"],
            n_vocab=sizes["source_vocabulary"],
            rnn_type="gru",
        )
        self.dec = ConditionalDecoder(
            input_size=sizes["embedding"],
            hidden_size=sizes["decoder"],
            n_vocab=sizes["target_vocabulary"],
            rnn_type="gru",
            ctx_size_dict={"source": 2 * sizes["encoder"]},
            ctx_name="source",
            dec_init="mean_ctx",
        )

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Ids ``(S, B)`` and ``(T, B)`` with <s>, both with </s> -> nats per target token."""
        loss = self.dec({"source": self.enc(source)}, target)["loss"]
        return loss / torch.nonzero(target[1:]).shape[0]


class Once(torch.nn.Module):
    """The projection of the same annotations, computed once."""

    def __init__(self, projection: torch.nn.Module) -> None:
        super().__init__()
        self.projection = projection
        self._annotations = self._keys = None

    def forward(self, annotations: torch.Tensor) -> torch.Tensor:
        if annotations is not self._annotations:
            self._annotations, self._keys = annotations, self.projection(annotations)
        return self._keys


def padded(rows: list[list[int]]) -> torch.Tensor:
    """``(length, B)``, the order that nmtpytorch uses."""
    return torch.nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows])


def step(model: Translator, optimizer: Optimizer, source: torch.Tensor, target: torch.Tensor, bf16: bool) -> float:
    optimizer.zero_grad()
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        loss = model(source, target)
    loss.backward()
    optimizer.step()
    return loss.item()


def main() -> None:
    sizes = json.loads(sys.stdin.readline())
    torch.manual_seed(1)
    model = Translator(sizes).train()
    if sizes["keys_once"]:
        model.dec.att.ctx2ctx = Once(model.dec.att.ctx2ctx)
    optimizer = Optimizer("adam", model, lr=1e-3, gclip=1.0)
    print(json.dumps({"parameters": sum(p.numel() for p in model.parameters())}), flush=True)
    for line in sys.stdin:
        question = json.loads(line)
        source, target = padded(question["source"]), padded(question["target"])
        start = time.perf_counter()
        loss = step(model, optimizer, source, target, sizes["bf16"])
        seconds = time.perf_counter() - start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": seconds, "loss": loss, "peak": peak}), flush=True)


if __name__ == "__main__":
    main()
