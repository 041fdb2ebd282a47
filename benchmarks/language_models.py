"""Training of recurrent language models on continuous text, against the usual loop around nn.RNN, nn.GRU and nn.LSTM.

    python benchmarks/language_models.py [--sizes 200 650] [--vocabulary 11000] [--threads 2] [--turns 15]

Two layers, batches of 20 rows and 35 words, random words, dropout 0.2, SGD with clipped norm: what PyTorch's example
of a word language model does. The usual loop: all logits, log_softmax, nll_loss, and an update parameter by parameter.
Each contestant has a process of its own, as ours also keeps freed memory; they take turns, the other one asleep.
Figures are medians, ratios of paired times. Operations are those of the equations; the peak is
that of torch.mm 2048^3 in the same run. nn.GRU is reset-after, ours (gru) reset-before: as many operations.
"""

import argparse
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROWS, STEPS, LAYERS, DROPOUT, RATE, CLIP = 20, 35, 2, 0.2, 1.0, 0.25
CELLS = {"tanh": (1, "RNN"), "gru": (3, "GRU"), "lstm": (4, "LSTM")}  # gates, torch's


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[200, 650])
    parser.add_argument("--vocabulary", type=int, default=11_000)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--turns", type=int, default=15)
    chosen = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = str(chosen.threads)  # before torch is loaded
    os.environ["GOMP_CPU_AFFINITY"] = " ".join(map(str, sorted(os.sched_getaffinity(0))[: chosen.threads]))
    print("| cell | size | usual, tokens/s | ours, tokens/s | usual to ours, time | of peak | readout's operations |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for size in chosen.sizes:
        for cell in CELLS:
            report(cell, size, chosen.vocabulary, chosen.turns)


def report(cell: str, size: int, vocabulary: int, turns: int) -> None:
    ways = {name: Contestant(name, cell, size, vocabulary) for name in ("usual", "ours")}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(-2, turns):  # two to warm up
        if turn == 0:
            peaks = [peak()]
        for name, way in ways.items():
            time.sleep(0.05)  # threads that have nothing to do wait busily for a moment
            taken = way.step(turn % 4)
            if turn >= 0:
                seconds[name].append(taken)
    peaks.append(peak())
    for way in ways.values():
        way.close()
    ratio = statistics.median(a / b for a, b in zip(seconds["usual"], seconds["ours"], strict=True))
    rates = {name: ROWS * STEPS / statistics.median(taken) for name, taken in seconds.items()}
    recurrent, readout = LAYERS * CELLS[cell][0] * 2 * size**2, vocabulary * size
    operations = 3 * 2 * (recurrent + readout)
    share = operations * rates["ours"] / statistics.median(peaks)
    print(
        f"| {cell} | {size} | {rates['usual']:,.0f} | {rates['ours']:,.0f} | {ratio:.2f} | {share:.0%} "
        f"| {readout / (recurrent + readout):.0%} |",
        flush=True,
    )


class Contestant:
    """A training loop in a process of its own."""

    def __init__(self, name: str, *options: object) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, there = context.Pipe()
        self._process = context.Process(target=serve, args=(there, name, *options), daemon=True)
        self._process.start()

    def step(self, window: int) -> float:
        """The seconds of one training step."""
        self._pipe.send(window)
        return self._pipe.recv()

    def close(self) -> None:
        self._pipe.send(None)
        self._process.join()


def serve(pipe: Connection, name: str, cell: str, size: int, vocabulary: int) -> None:
    """A contestant's process: steps when it is told to, until it is told None."""
    sys.path.insert(0, str(ROOT / "src"))
    import torch

    from unrolled.training.process_memory import keep_freed_memory

    if name == "ours":
        keep_freed_memory()
    step = {"usual": usual, "ours": ours}[name](cell, size, vocabulary)
    words = torch.randint(4, vocabulary, (ROWS, STEPS * 4 + 1), generator=torch.Generator().manual_seed(1))
    while (window := pipe.recv()) is not None:
        some = words[:, window * STEPS : (window + 1) * STEPS + 1]
        start = time.perf_counter()
        step(some[:, :-1].contiguous(), some[:, 1:].contiguous())
        pipe.send(time.perf_counter() - start)


Step = Callable[..., float]


def usual(cell: str, size: int, vocabulary: int) -> Step:
    """PyTorch's modules in the loop that one writes around them."""
    import torch
    from torch import nn
    from torch.nn import functional

    torch.manual_seed(0)
    embedding, output = nn.Embedding(vocabulary, size), nn.Linear(size, vocabulary)
    layers = getattr(nn, CELLS[cell][1])(size, size, LAYERS, dropout=DROPOUT)
    modules = nn.ModuleList([embedding, layers, output])
    state = None

    def step(read: torch.Tensor, words: torch.Tensor) -> float:
        nonlocal state
        modules.zero_grad()
        hidden, new = layers(functional.dropout(embedding(read.t()), DROPOUT), state)
        state = tuple(tensor.detach() for tensor in new) if isinstance(new, tuple) else new.detach()
        logits = output(functional.dropout(hidden, DROPOUT)).flatten(0, 1)
        loss = functional.nll_loss(functional.log_softmax(logits, dim=1), words.t().flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(modules.parameters(), CLIP)
        for parameter in modules.parameters():
            parameter.data.add_(parameter.grad, alpha=-RATE)
        return loss.item()

    return step


def ours(cell: str, size: int, vocabulary: int) -> Step:
    """What train.py runs for every batch, without Lightning around it."""
    import torch

    from unrolled.data.continuous import StreamBatch
    from unrolled.models.language_model import rnn_lm
    from unrolled.training.language_modeling import LanguageModeling
    from unrolled.training.schedule import constant

    torch.manual_seed(0)
    sizes = {"embedding_size": size, "hidden_size": size, "layers": LAYERS}
    options = {"dropout": DROPOUT, "variational": False, "embedding_dropout": 0.0, "tied_embeddings": False}
    shared = {"source_vocabulary": None, "target_vocabulary": vocabulary, "attention": None, "orthogonal": True}
    module = LanguageModeling(
        model=rnn_lm(**shared, cell=cell, **sizes, **options),
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=RATE),
        schedule=constant,
        label_smoothing=0.0,
        monitor="val/loss",
        mode="min",
    )
    optimizer, first = module.configure_optimizers(), True

    def step(read: torch.Tensor, words: torch.Tensor) -> float:
        nonlocal first
        optimizer.zero_grad()
        loss = module.loss(StreamBatch(read, words, first=first))
        first = False
        (loss.objective / loss.tokens).backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), CLIP)
        optimizer.step()
        return loss.negative_log_likelihood.item() / loss.tokens

    return step


def peak(size: int = 2048) -> float:
    """Operations a second of torch.mm of two square matrices, median."""
    import torch

    a, b = torch.randn(2, size, size)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(seconds)


if __name__ == "__main__":
    main()
