"""When packing a recurrence's weights pays: all, none, by `worth_packing`, by its rule for CPUs that are not Intel's.

    OMP_NUM_THREADS=1 python benchmarks/packing.py [--size 64 128 256] [--turns 8] [--bf16]

cgru with bahdanau and with gru_att; SIZE is that of embeddings, encoder and additive attention, decoders have
twice as much, attention with GRU a quarter. In turns in one process, CPU milliseconds of forward and backward pass; "to
the rule" are ratios of medians.
"""

import argparse
import statistics
import time
from collections.abc import Callable
from functools import partial

import torch
from scaling import contestant
from torch import nn

from unrolled.models.fast import products

SHAPES = [(42, 8), (64, 14), (64, 25), (16, 25)]  # sentences and words of a batch, source and target
WAYS = {  # which weights, and whether this is a CPU of Intel's
    "rule": (products.worth_packing, products.INTEL),
    "all": (lambda *_: True, False),
    "none": (lambda *_: False, False),
    "not Intel's": (products.worth_packing, False),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, nargs="+", default=[64, 128, 256])
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--bf16", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    print("| attention | size | sentences | words | by the rule, ms | all packed, to the rule | none | not Intel's |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for attention, share in (("bahdanau", 1), ("gru_att", 4)):
        for size in chosen.size:
            sizes = {"size": size, "attention_size": size // share, "vocabulary": 500}
            model = contestant(attention=attention, **sizes).model.eval()  # without dropout
            for sentences, words in SHAPES:
                times = measured(partial(step, model, sentences, words, bf16=chosen.bf16), chosen.turns)
                rule, *others = (statistics.median(times[way]) for way in WAYS)
                row = f"| {attention} | {size} | {sentences} | {words} | {rule:.1f} | "
                print(row + " | ".join(f"{other / rule:.2f}" for other in others) + " |", flush=True)


def step(model: nn.Module, sentences: int, words: int, *, bf16: bool) -> None:
    """Forward and backward pass of a batch without padding."""
    ids = torch.arange(sentences * words).view(sentences, words) % 496 + 4
    with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
        outputs = model(ids, torch.full((sentences,), words), ids, torch.ones_like(ids, dtype=torch.bool))[0]
    outputs.float().sum().backward()
    model.zero_grad()


def measured(run: Callable[[], None], turns: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for turn in range(turns + 1):
        for way, chosen in WAYS.items():
            products.worth_packing, products.INTEL = chosen
            start = time.process_time()
            run()
            if turn > 0:
                times[way].append(1000 * (time.process_time() - start))
    products.worth_packing, products.INTEL = WAYS["rule"]
    return times


if __name__ == "__main__":
    main()
