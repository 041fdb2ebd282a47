"""Greedy and beam search: sentences and tokens a second, by beam, batch and precision, also against JoeyNMT.

    python benchmarks/search.py --data-root DIR [--joeynmt PYTHON] [--run RUN] [--sentences 256]

DIR holds Multi30k; its test sentences are translated by model=cgru attention=bahdanau of the sizes of 256 in
train_throughput.py, untrained, with every hypothesis forced to 40 tokens, so that all have the same work. RUN, a
trained run, adds translations of natural length. Contestants take turns.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from paths import MULTI30K, existing

ROOT = Path(__file__).resolve().parents[1]
LENGTH, TURNS = 40, 3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", required=True, type=MULTI30K)
    parser.add_argument("--cache", default=str(ROOT / "outputs/cache"))
    parser.add_argument("--joeynmt", metavar="PYTHON")
    parser.add_argument("--run", type=existing)
    parser.add_argument("--sentences", type=int, default=256)
    parser.add_argument("--beams", nargs="+", type=int, default=[1, 2, 5, 10])
    parser.add_argument("--batches", nargs="*", type=int, default=[1, 16, 64, 256])
    chosen = parser.parse_args()
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    os.environ.setdefault("GOMP_CPU_AFFINITY", " ".join(map(str, sorted(os.sched_getaffinity(0)))))
    sys.path.insert(0, str(ROOT / "src"))
    from data import module

    from unrolled.training.process_memory import keep_freed_memory

    keep_freed_memory()
    tokenizer = module(chosen.data_root, chosen.cache).source_tokenizer
    lines = (chosen.data_root / "test_2016_flickr.en").read_text("utf-8").splitlines()[: chosen.sentences]
    ids = sorted(tokenizer.encode(lines), key=len)
    if chosen.batches:
        ours(ids, chosen.beams, chosen.batches)
    if chosen.joeynmt:
        against_joeynmt(ids, chosen.joeynmt, lexicon(chosen.data_root, tokenizer))
    if chosen.run:
        natural(chosen.run, lines, chosen.beams)
        against_everything(chosen.run, lines)


def lexicon(root: Path, tokenizer: Any) -> Any:
    """From the training text, as `search/shortlist=lexical` learns it."""
    import torch

    from unrolled.alignment.piece_lexicon import Lexicon, learn

    sides = (tokenizer.encode((root / f"train.{side}").read_text("utf-8").splitlines()) for side in ("en", "de"))
    tables = learn(*sides, source_vocabulary=tokenizer.size, target_vocabulary=tokenizer.size, most=50)
    return Lexicon(torch.from_numpy(tables.likely).long(), torch.from_numpy(tables.frequent).long())


def forced(model: object, ids: list[list[int]], beam: int, batch: int, precision: str = "fp32") -> float:
    """Seconds for all sentences."""
    import torch

    from unrolled.data.batch import make_source_batch
    from unrolled.search.beam import beam_search, greedy
    from unrolled.search.length import PerToken

    start = time.perf_counter()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
        for first in range(0, len(ids), batch):
            some = ids[first : first + batch]
            lengths = torch.full((len(some),), LENGTH)
            given = make_source_batch(some, range(len(some)))
            limits = {"max_lengths": lengths, "min_lengths": lengths}
            if beam == 1:
                greedy(model, given, **limits)
            else:
                beam_search(model, given, beam_size=beam, score=PerToken(), **limits)
    return time.perf_counter() - start


def ours(ids: list[list[int]], beams: list[int], batches: list[int]) -> None:
    from scaling import contestant

    model = contestant().model.eval()
    forced(model, ids[:64], 5, 64)
    print(f"every hypothesis {LENGTH} tokens, sentences a second\n")
    print(f"| precision | beam | {' | '.join(f'batch {batch}' for batch in batches)} |")
    print("| --- | ---: |" + " ---: |" * len(batches))
    for precision in ("fp32", "bf16"):
        for beam in beams:
            rates = []
            for batch in batches:
                some = ids if batch >= 16 else ids[:: max(1, len(ids) // 16)]
                rates.append(len(some) / forced(model, some, beam, batch, precision))
            print(f"| {precision} | {beam} | {' | '.join(f'{rate:.1f}' for rate in rates)} |", flush=True)


def against_joeynmt(ids: list[list[int]], python: str, lexicon: Any) -> None:
    """In CPU seconds of one thread each, so that other programs disturb little; medians and ranges of the ratios."""
    from peer import JoeyNMT
    from scaling import contestant

    from unrolled.search.shortlist import Shortlist

    model = contestant().model.eval()
    peer = JoeyNMT(python, model, precision="fp32")
    ended = [[*row, 2] for row in ids]
    shortlist = Shortlist(lexicon.likely[:, :20], lexicon.frequent[:300])
    print("\n| batches of 64, CPU seconds | beam | a batch, s | JoeyNMT's time to this | range |")
    print("| --- | ---: | ---: | ---: | --- |")
    for beam in (1, 5):
        ways: dict[str, Callable[[int], float]] = {
            "JoeyNMT 2.3": lambda n, beam=beam: peer.forced_search(ended[n : n + 64], beam, LENGTH),
        }
        for name, weights, words in (
            ("ours", "float", None),
            ("ours, search.weights=int8", "int8", None),
            ("ours, search/shortlist=lexical", "float", shortlist),
            ("ours, both", "int8", shortlist),
        ):
            ways[name] = lambda n, beam=beam, weights=weights, words=words: forced_cpu(
                model, ids[n : n + 64], beam, weights, words
            )
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(TURNS):
            for first in range(0, len(ids), 64):
                for name, way in ways.items():
                    seconds[name].append(way(first))
        for name, times in seconds.items():
            ratios = [b / a for a, b in zip(times, seconds["JoeyNMT 2.3"], strict=True)]
            middle = statistics.median(ratios)
            row = f"{statistics.median(times):.2f} | {middle:.2f} | {min(ratios):.2f} to {max(ratios):.2f}"
            print(f"| {name} | {beam} | {row} |", flush=True)
    peer.close()


def forced_cpu(model: object, ids: list[list[int]], beam: int, weights: str, shortlist: Any) -> float:
    """CPU seconds for one batch."""
    import torch

    from unrolled.data.batch import make_source_batch
    from unrolled.search.beam import beam_search, greedy
    from unrolled.search.frozen_weights import inference
    from unrolled.search.length import PerToken
    from unrolled.search.shortlist import search_among

    lengths = torch.full((len(ids),), LENGTH)
    limits = {"max_lengths": lengths, "min_lengths": lengths}

    def search(generator: Any) -> Any:
        if beam == 1:
            return [[h] for h in inference(greedy, weights)(generator, batch, **limits)]
        return inference(beam_search, weights)(generator, batch, beam_size=beam, score=PerToken(), **limits)

    start = time.process_time()
    batch = make_source_batch(ids, range(len(ids)))
    if shortlist is None:
        search(model)
    else:
        int8 = weights == "int8"
        inference(search_among, weights)(model, batch, shortlist, search, int8=int8)
    return time.process_time() - start


def natural(run: str, lines: list[str], beams: list[int]) -> None:
    from omegaconf import OmegaConf

    from unrolled.configuration.load import load_translator

    print("\n| natural lengths, trained run | sentences/s | tokens/s |\n| --- | ---: | ---: |")
    for beam in beams:
        search = {"_target_": "unrolled.search.settings.BeamSearch", "beam_size": beam}
        mean = {"_target_": "unrolled.search.ensemble.geometric_mean", "_partial_": True}
        options = {"run": run, "device": "cpu", "max_tokens": 2000, "search": search, "ensemble": mean}
        options["precision"] = "32-true"
        translator = load_translator(OmegaConf.create(options))
        translator.translations(lines[:32])
        seconds, tokens = [], 0
        for _ in range(TURNS):
            start = time.perf_counter()
            translations = translator.translations(lines)
            seconds.append(time.perf_counter() - start)
            tokens = sum(len(best.hypothesis.tokens) + 1 for best, *_ in translations)
        taken = statistics.median(seconds)
        print(f"| beam {beam} | {len(lines) / taken:.1f} | {tokens / taken:,.0f} |", flush=True)


def against_everything(run: str, lines: list[str]) -> None:
    """Beam 5 at natural lengths against the plain way: every row is kept until the last sentence of a batch is done."""
    import torch
    from omegaconf import OmegaConf

    from unrolled.configuration.load import load_translator
    from unrolled.data.loader import encode_source
    from unrolled.search.settings import BeamSearch

    mean = {"_target_": "unrolled.search.ensemble.geometric_mean", "_partial_": True}
    options = {"run": run, "device": "cpu", "precision": "32-true", "max_tokens": 2000, "ensemble": mean}
    translator = load_translator(OmegaConf.create(options))
    member, search = translator.members[0], BeamSearch(beam_size=5)
    batches = list(encode_source(member.source_tokenizer, lines, max_tokens=2000))
    ways: dict[str, Callable[[object], object]] = {
        "ours": lambda batch: search(member.model, batch),
        "keep everything": lambda batch: keep_everything(member.model, batch, 5),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    with torch.inference_mode():
        for _ in range(TURNS):
            for name, way in ways.items():
                start = time.perf_counter()
                for batch in batches:
                    way(batch)
                seconds[name].append(time.perf_counter() - start)
    rates = [len(lines) / statistics.median(times) for times in seconds.values()]
    ratio = statistics.median(b / a for a, b in zip(*seconds.values(), strict=True))
    print("\n| natural lengths, beam 5 | ours, sentences/s | keep everything | its time to ours |")
    print(f"| --- | ---: | ---: | ---: |\n| {len(lines)} sentences | {rates[0]:.1f} | {rates[1]:.1f} | {ratio:.2f} |")


def keep_everything(model: Any, batch: Any, beam: int) -> object:
    """Beam search as it is often written: no row leaves, a finished one continues with </s> at no cost."""
    import torch

    from unrolled.search.length import length_limits

    sentences, most = len(batch.source_lengths), int(length_limits(batch, 2.0, 10)[1].max())
    state = repeat(model.start(batch), beam)
    tokens = torch.ones(sentences * beam, dtype=torch.int64)
    total = torch.tensor([0.0] + [-1e9] * (beam - 1)).repeat(sentences, 1)
    lengths, ended = torch.zeros(sentences, beam), torch.zeros(sentences, beam, dtype=torch.bool)
    words = torch.zeros(sentences, beam, 0, dtype=torch.int64)
    for _ in range(most):
        log_probs, state = model.step(tokens, state)
        log_probs = log_probs.unflatten(0, (sentences, beam))
        log_probs[:, :, :2] = -1e9
        only_end = torch.full((log_probs.shape[-1],), -1e9).index_fill(0, torch.tensor(2), 0)
        log_probs = torch.where(ended.unsqueeze(2), only_end, log_probs)
        total, place = (total.unsqueeze(2) + log_probs).flatten(1).topk(beam)
        parent, word = place // log_probs.shape[-1], place % log_probs.shape[-1]
        rows = (torch.arange(sentences).unsqueeze(1) * beam + parent).flatten()
        state, tokens = reorder(state, rows), word.flatten()
        words = torch.cat([words.flatten(0, 1)[rows].unflatten(0, (sentences, beam)), word.unsqueeze(2)], dim=2)
        ended, lengths = ended.gather(1, parent), lengths.gather(1, parent) + ~ended.gather(1, parent)
        ended = ended | (word == 2)
        if ended.all():
            break
    return words[torch.arange(sentences), (total / lengths).argmax(dim=1)].tolist()


def repeat(state: Any, times: int) -> Any:
    """Every row ``times`` times, in plain tuples."""
    if isinstance(state, tuple):
        return tuple(repeat(inner, times) for inner in state)
    return state.repeat_interleave(times, 0)


def reorder(state: Any, rows: Any) -> Any:
    """These rows of everything."""
    return tuple(reorder(inner, rows) for inner in state) if isinstance(state, tuple) else state[rows]


if __name__ == "__main__":
    main()
