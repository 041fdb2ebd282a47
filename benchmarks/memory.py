"""Peak memory of a training step against sentence length, and against the vocabulary.

    python benchmarks/memory.py [--lengths 25 50 100] [--size 512]

Every figure is a process of its own: two steps of model=cgru on a batch of 64 random sentences, source and target of
the same length. "plain": the same with the plain loop and all logits held.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SENTENCES = 64


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention", nargs="+", default=["bahdanau", "gru_att"], help="names of conf/attention")
    parser.add_argument("--lengths", nargs="+", type=int, default=[25, 50, 100])
    parser.add_argument("--vocabularies", nargs="+", type=int, default=[8000, 32000])
    parser.add_argument("--size", type=int, default=512, help="of decoder and attention; embeddings and encoder: half")
    parser.add_argument("--one", help=argparse.SUPPRESS)  # what a child process measures
    return parser.parse_args()


def child(size: int, attention: str, length: int, vocabulary: int, contestant: str) -> None:
    sys.path.insert(0, str(ROOT / "src"))
    import torch
    from contestants import Contestant
    from hydra import compose, initialize_config_dir
    from measure import _memory

    from unrolled.configuration.build import build_model
    from unrolled.configuration.conf import CONF
    from unrolled.data.batch import make_batch
    from unrolled.training.process_memory import keep_freed_memory

    keep_freed_memory()
    torch.manual_seed(1)
    sizes = [f"model.embedding_size={size // 2}", f"model.encoder_size={size // 2}", f"model.decoder_size={size}"]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("train", ["model=cgru", f"attention={attention}", *sizes])
    if "size" in config.attention:
        config.attention.size = size
    model = build_model(config, source_vocabulary=vocabulary, target_vocabulary=vocabulary)
    before = _memory()
    ids = torch.randint(4, vocabulary, (2, SENTENCES, length - 1)).tolist()
    batch = make_batch(*ids, range(SENTENCES))
    trained = Contestant(contestant, model, precision="fp32", device="cpu")
    for _ in range(2):
        trained.step(batch)
    print(json.dumps({"peak": _memory(), "training": _memory() - before}))


def measured(*what: object) -> float:
    """GiB of the process."""
    command = [sys.executable, __file__, "--one", json.dumps(what)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])["peak"] / 1024


def main() -> None:
    chosen = arguments()
    if chosen.one:
        child(*json.loads(chosen.one))
        return
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    print(f"peak GiB of the process, batch {SENTENCES}, decoder and attention {chosen.size}")
    print("| attention | source x target | vocabulary | ours | plain |\n| --- | --- | ---: | ---: | ---: |")
    first, *others = chosen.vocabularies
    rows = [(attention, length, first) for attention in chosen.attention for length in chosen.lengths]
    rows += [(chosen.attention[0], chosen.lengths[0], vocabulary) for vocabulary in others]
    for attention, length, vocabulary in rows:
        what = (chosen.size, attention, length, vocabulary)
        figures = [measured(*what, contestant) for contestant in ("ours", "plain")]
        row = " | ".join(f"{figure:.2f}" for figure in figures)
        print(f"| {attention} | {length} x {length} | {vocabulary:,} | {row} |", flush=True)


if __name__ == "__main__":
    main()
