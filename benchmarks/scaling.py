"""Whether the cost of a target token grows: with the number of pairs, with the length of sentences.

    python benchmarks/scaling.py --data-root DIR [--pairs 10000 100000 1000000] [--lengths 10 20 40 80] [--cache DIR]

DIR holds Multi30k; its training pairs, repeated in random order, make corpora of any size. Sizes are those of 256 in
train_throughput.py; source sentences have 20 words while the target's length varies.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from pathlib import Path

from paths import MULTI30K

ROOT = Path(__file__).resolve().parents[1]
SOURCE, SENTENCES, BATCHES = 20, 64, 12


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", required=True, type=MULTI30K)
    parser.add_argument("--cache", default=str(ROOT / "outputs/cache"))
    parser.add_argument("--pairs", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--lengths", nargs="+", type=int, default=[10, 20, 40, 80])
    return parser.parse_args()


def main() -> None:
    chosen = arguments()
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    os.environ.setdefault("GOMP_CPU_AFFINITY", " ".join(map(str, sorted(os.sched_getaffinity(0)))))
    sys.path.insert(0, str(ROOT / "src"))
    from unrolled.training.process_memory import keep_freed_memory

    keep_freed_memory()
    by_pairs(chosen)
    by_length(chosen.lengths)


def by_pairs(chosen: argparse.Namespace) -> None:
    """Batches are drawn from corpora of all sizes in turns, and trained on."""
    from data import NAMES, batch_seconds, module

    sides = {side: (chosen.data_root / f"train.{side}").read_text("utf-8").splitlines() for side in ("en", "de")}
    drawn, models, data, sorting = random.Random(1), {}, {}, {}
    with tempfile.TemporaryDirectory() as folder:
        for pairs in chosen.pairs:
            root = Path(folder) / str(pairs)
            root.mkdir()
            for name in list(NAMES.values())[1:]:
                for side in sides:
                    (root / f"{name}.{side}").write_bytes((chosen.data_root / f"{name}.{side}").read_bytes())
            numbers = [drawn.randrange(len(sides["en"])) for _ in range(pairs)]
            for side, lines in sides.items():
                (root / f"train.{side}").write_text("".join(f"{lines[n]}\n" for n in numbers), "utf-8")
            data[pairs] = module(root, str(root / "cache"))
            start = time.perf_counter()
            data[pairs].train_dataloader()._batches.epoch(0)
            sorting[pairs] = time.perf_counter() - start
        models = {pairs: contestant() for pairs in chosen.pairs}
        streams = {pairs: iter(data[pairs].train_dataloader()) for pairs in chosen.pairs}
        costs: dict[int, list[float]] = {pairs: [] for pairs in chosen.pairs}
        for _ in range(BATCHES):
            for pairs, stream in streams.items():
                start = time.perf_counter()
                batch = next(stream)
                models[pairs].step(batch)
                costs[pairs].append((time.perf_counter() - start) / int(batch.target_out_valid.sum()))
        print("| pairs | us a target token | to batch an epoch, us a pair | to make a batch, ms |")
        print("| ---: | ---: | ---: | ---: |")
        for pairs in chosen.pairs:
            cost = 1e6 * statistics.median(costs[pairs][1:])
            batching = 1e6 * sorting[pairs] / pairs
            print(f"| {pairs:,} | {cost:.0f} | {batching:.2f} | {1000 * batch_seconds(data[pairs]):.2f} |")


def by_length(lengths: list[int]) -> None:
    """Target sentences of one length at a time, in turns."""
    import torch

    from unrolled.data.batch import make_batch

    torch.manual_seed(1)
    model = contestant()
    source = torch.randint(4, 8000, (SENTENCES, SOURCE - 1)).tolist()
    batches = {n: make_batch(source, torch.randint(4, 8000, (SENTENCES, n - 1)).tolist(), range(64)) for n in lengths}
    seconds: dict[int, list[float]] = {n: [] for n in lengths}
    for _ in range(BATCHES):
        for length, batch in batches.items():
            start = time.perf_counter()
            model.step(batch)
            seconds[length].append(time.perf_counter() - start)
    print("\n| target length | ms a batch | us a target token |\n| ---: | ---: | ---: |")
    for length in lengths:
        taken = statistics.median(seconds[length][1:])
        print(f"| {length} | {1000 * taken:.0f} | {1e6 * taken / (SENTENCES * length):.0f} |")


def contestant(
    *, attention: str = "bahdanau", size: int = 256, attention_size: int = 512, vocabulary: int = 8000
) -> object:
    """model=cgru: embeddings and encoder of ``size``, the decoder twice as wide."""
    import torch
    from contestants import Contestant
    from hydra import compose, initialize_config_dir

    from unrolled.configuration.build import build_model
    from unrolled.configuration.conf import CONF

    torch.manual_seed(1)
    sizes = [f"model.embedding_size={size}", f"model.encoder_size={size}", f"model.decoder_size={2 * size}"]
    sizes += [f"attention.size={attention_size}"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("train", ["model=cgru", f"attention={attention}", *sizes])
    return Contestant(
        "ours",
        build_model(config, source_vocabulary=vocabulary, target_vocabulary=vocabulary),
        precision="fp32",
        device="cpu",
    )


if __name__ == "__main__":
    main()
