"""Recurrent cells and the encoder over whole sentences, forward and backward: ours, the plain loop, and torch's.

    python benchmarks/cells.py [--sizes 256 512 1024] [--rows 64] [--steps 20]

Contestants take turns; figures are medians of times and of paired ratios. Inputs are as wide as states.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TURNS = 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[256, 512, 1024])
    parser.add_argument("--rows", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20)
    chosen = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    os.environ.setdefault("GOMP_CPU_AFFINITY", " ".join(map(str, sorted(os.sched_getaffinity(0)))))
    sys.path.insert(0, str(ROOT / "src"))
    from unrolled.models.cells import CELLS
    from unrolled.training.process_memory import keep_freed_memory

    keep_freed_memory()
    print("| what | size | ours, ms | GFLOP/s | plain loop to ours | torch's to ours |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for size in chosen.sizes:
        for name in CELLS:
            report(f"cell {name}", size, *of_cell(name, size, chosen.rows, chosen.steps))
        report("bidirectional encoder", size, *of_encoder(size, chosen.rows, chosen.steps))


def of_cell(name: str, size: int, rows: int, steps: int) -> tuple[dict[str, Callable[[], object]], float]:
    """Contestants, and operations of a step."""
    import torch

    from unrolled.models.cells import make_cell

    cell = make_cell(name, input_size=size, hidden_size=size)
    inputs = torch.randn(rows, steps, size, requires_grad=True)

    def run(unroll: Callable) -> object:
        return unroll(inputs, cell.start(inputs, rows))[0]

    ways = {"ours": partial(run, cell.unroll), "plain": partial(run, cell.unroll_plainly)}
    torchs = {"tanh": torch.nn.RNN, "gru_reset_after": torch.nn.GRU, "lstm": torch.nn.LSTM}.get(name)
    if torchs is not None:  # reset-before has none
        layer = torchs(size, size, batch_first=True)
        ways["torch"] = lambda: layer(inputs)[0]
    gates = sum(weight.numel() for weight in cell.parameters() if weight.dim() == 2)
    return ways, 3 * 2 * rows * steps * gates


def of_encoder(size: int, rows: int, steps: int) -> tuple[dict[str, Callable[[], object]], float]:
    """Sentences of ``steps`` words and a quarter less."""
    import torch

    from unrolled.models.encoder import BidirectionalGRU

    encoder = BidirectionalGRU(embedding_size=size, size=size)
    inputs = torch.randn(rows, steps, size, requires_grad=True)
    lengths = torch.randint(3 * steps // 4, steps + 1, (rows,))
    ways = {name: partial(way, inputs, lengths) for name, way in
            {"ours": encoder.annotate, "torch": encoder.annotate_by_torch}.items()}  # fmt: skip
    return ways, 3 * 2 * int(lengths.sum()) * 2 * 6 * size**2


def report(what: str, size: int, ways: dict[str, Callable[[], object]], operations: float) -> None:
    import torch

    seconds: dict[str, list[float]] = {name: [] for name in ways}
    gradient = torch.randn_like(ways["ours"]())
    for _ in range(TURNS):
        for name, way in ways.items():
            start = time.perf_counter()
            way().backward(gradient)
            seconds[name].append(time.perf_counter() - start)
    ours = seconds["ours"]
    median = statistics.median(ours)
    ratios = {name: statistics.median(a / b for a, b in zip(seconds[name], ours, strict=True)) for name in ways}
    others = " | ".join(f"{ratios[name]:.2f}" if name in ratios else "" for name in ("plain", "torch"))
    print(f"| {what} | {size} | {1000 * median:.1f} | {operations / median / 1e9:.0f} | {others} |", flush=True)


if __name__ == "__main__":
    main()
