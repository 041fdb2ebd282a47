"""What each step towards a fast search brings: all of them against all but one, in turns in one process.

    OMP_NUM_THREADS=1 python benchmarks/search_steps.py --data-root DIR [--run RUN] [--attention gru_att]
        [--sentences 64] [--words 20] [--turns 5] [--give-back]

Without RUN an untrained cgru of the sizes of 256 in train_throughput.py, every hypothesis forced to 40 tokens; with
RUN a trained translator and translations of natural length. CPU seconds, so that other programs disturb little; medians
of the ratios, and the least and the greatest. --words: sources of that many words each, cut from the running text. A
last line has the seconds with all steps, and how many pages the system gave for them; --give-back lets the C library
give them back, as it does in a process that did not ask it to keep them.
"""

import argparse
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import torch
from paths import MULTI30K, existing

from unrolled.data.loader import encode_source
from unrolled.models.attention import add
from unrolled.models.fast import frozen as freezing
from unrolled.models.fast.siblings import Siblings
from unrolled.search import beam
from unrolled.search.settings import BeamSearch, Greedy
from unrolled.training.process_memory import keep_freed_memory


def _squashed(linear: Any, x: Any, y: Any, valid: Any) -> Any:
    return linear(add(x, y).mul_(2).sigmoid_().mul_(2).sub_(1)).squeeze(-1)


def _whole(linear: Any, x: Any, y: Any, valid: Any) -> Any:
    return torch.sub(2 * linear(add(x, y).mul_(2).sigmoid_()), linear.weight.sum(dim=1)).squeeze(-1)


GROUPS = patch.object(beam, "GROUP", 10**9)
TABLES = patch.object(freezing, "Remembered", lambda compute, vocabulary: compute)
WHOLE = patch("unrolled.models.attention.energies_of_sums", _whole)
TANH = patch("unrolled.models.attention.energies_of_sums", _squashed)
IN_PLACE = patch("torch.log_softmax", lambda x, dim, out=None, log_softmax=torch.log_softmax: log_softmax(x, dim))
SIBLINGS = patch.object(Siblings, "renew", lambda *_: None)
HOISTED = patch.object(beam, "hoisted", lambda models, hypotheses: nullcontext())
WITHOUT = {
    "products with the context once for each sentence": [HOISTED],
    "products with a state once for all hypotheses that share it": [SIBLINGS],
    "ranking by groups of 32 words": [GROUPS],
    "products with the previous word as tables": [TABLES],
    "energies of some sentences at a time": [WHOLE],
    "the same, and v tanh x as 2 v sigma(2 x) - v 1": [TANH],
    "soft-max in place": [IN_PLACE],
    "all of these": [HOISTED, SIBLINGS, GROUPS, TABLES, TANH, IN_PLACE],
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", required=True, type=MULTI30K)
    parser.add_argument("--cache", default=str(ROOT / "outputs/cache"))
    parser.add_argument("--run", type=existing)
    parser.add_argument("--attention", default="bahdanau")
    parser.add_argument("--sentences", type=int, default=64)
    parser.add_argument("--words", type=int)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 5])
    parser.add_argument("--give-back", action="store_true")
    chosen = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    if not chosen.give_back:
        keep_freed_memory()
    lines = (chosen.data_root / "test_2016_flickr.en").read_text("utf-8").splitlines()
    if chosen.words:
        words = " ".join(lines).split()
        lines = [" ".join(words[first : first + chosen.words]) for first in range(0, len(words), chosen.words)]
    lines = lines[: chosen.sentences]
    print("| beam | without | CPU time to all steps | range |\n| ---: | --- | ---: | --- |")
    for size in chosen.beams:
        search = natural(chosen.run, lines, size) if chosen.run else forced(chosen, lines, size)
        for name, ratios in against_everything(search, chosen.turns).items():
            print(
                f"| {size} | {name} | {statistics.median(ratios):.2f} | {min(ratios):.2f} to {max(ratios):.2f} |",
                flush=True,
            )
        seconds, pages = statistics.median(cpu_seconds(search) for _ in range(chosen.turns)), pages_for(search)
        print(f"beam {size}: {seconds:.2f} CPU seconds, {pages:,} pages", flush=True)


def forced(chosen: argparse.Namespace, lines: list[str], size: int) -> Callable[[], object]:
    from data import module
    from scaling import contestant
    from search import forced as search

    model = contestant(attention=chosen.attention).model.eval()
    tokenizer = module(chosen.data_root, chosen.cache).source_tokenizer
    ids = sorted(tokenizer.encode(lines), key=len)
    return lambda: search(model, ids, size, 64)


def natural(run: str, lines: list[str], size: int) -> Callable[[], object]:
    import unrolled

    translator = unrolled.load(run).translator
    search = Greedy() if size == 1 else BeamSearch(beam_size=size)
    batches = encode_source(translator.members[0].source_tokenizer, lines, max_tokens=2000)
    return lambda: [search(translator.generator, batch) for batch in batches]


def against_everything(search: Callable[[], object], turns: int) -> dict[str, list[float]]:
    """For each step the CPU time without it, in units of that with all."""
    ratios: dict[str, list[float]] = {name: [] for name in WITHOUT}
    search()
    for _ in range(turns):
        for name, patches in WITHOUT.items():
            whole = cpu_seconds(search)
            with ExitStack() as stack:
                for change in patches:
                    stack.enter_context(change)
                ratios[name].append(cpu_seconds(search) / whole)
    return ratios


def pages_for(work: Callable[[], object]) -> int:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    work()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before


def cpu_seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    main()
