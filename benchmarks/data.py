"""How fast text becomes token ids, how long training waits for batches, and how much of them is padding.

    python benchmarks/data.py --data-root DIR [--lines 1000000] [--cache DIR]

DIR holds Multi30k, {train,val,test_2016_flickr}.{en,de}; its training lines, repeated in random order, make the text.
SentencePiece's own batch call, over the same lines from the same file and from memory, takes turns with ours.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from paths import MULTI30K

from unrolled.data import store
from unrolled.data.corpus import ParallelText
from unrolled.data.encode import encode
from unrolled.data.module import DataModule
from unrolled.text.lines import read_lines
from unrolled.text.tokenizer import SentencePiece

TURNS = 3


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", required=True, type=MULTI30K)
    parser.add_argument("--cache", default=str(ROOT / "outputs/cache"))
    parser.add_argument("--lines", type=int, default=1_000_000)
    chosen = parser.parse_args()
    data = module(chosen.data_root, chosen.cache)
    for line in data.notices:
        print(line)
    print(f"a batch of 64 sentences is made in {1000 * batch_seconds(data):.2f} ms (median)")
    with tempfile.TemporaryDirectory() as folder:
        encoding(data, Path(folder), chosen.lines)


def module(root: Path, cache: str) -> DataModule:
    """Multi30k, joint BPE of 8,000, as experiment=multi30k has it."""
    files = {split: [str(root / f"{name}.{side}") for side in ("en", "de")] for split, name in NAMES.items()}
    data = DataModule(
        corpus=ParallelText(**files),
        tokenizer=SentencePiece(kind="bpe", size=8000, joint=True),
        cache=cache,
        max_tokens=100_000,
        max_sentences=64,
        max_length=100,
        seed=1,
    )
    data.prepare_data()
    data.setup()
    return data


NAMES = {"train": "train", "val": "val", "test": "test_2016_flickr"}


def batch_seconds(data: DataModule) -> float:
    batches = iter(data.train_dataloader())
    return statistics.median(seconds(lambda: next(batches)) for _ in range(100))


def encoding(data: DataModule, folder: Path, lines: int) -> None:
    sentences, text = data.text.references("train"), folder / "text"
    drawn = random.Random(1)
    text.write_text("".join(f"{drawn.choice(sentences)}\n" for _ in range(lines)), encoding="utf-8")
    tokenizer, held, ids = data.target_tokenizer, list(read_lines(text)), folder / "ids"
    ways: dict[str, Callable[[], object]] = {
        "file to ids on disk (ours)": lambda: store.write(
            folder / "ids", encode(text, tokenizer), vocabulary_size=8000
        ),
        "file to ids in memory (SentencePiece's batch call)": lambda: tokenizer.encode(list(read_lines(text))),
        "lines in memory to ids in memory (the same)": lambda: tokenizer.encode(held),
    }
    taken: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(TURNS):
        for way, work in ways.items():
            ids.unlink(missing_ok=True)
            taken[way].append(seconds(work))
    ours = taken["file to ids on disk (ours)"]
    print(f"\n| {lines:,} lines | lines/s | time to ours |\n| --- | ---: | ---: |")
    for way, times in taken.items():
        ratio = statistics.median(a / b for a, b in zip(times, ours, strict=True))
        print(f"| {way} | {lines / statistics.median(times):,.0f} | {ratio:.2f} |")


if __name__ == "__main__":
    main()
