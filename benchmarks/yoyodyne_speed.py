"""Training speed of our small transducers and yoyodyne's (https://pypi.org/project/yoyodyne), in words per CPU second.

    OMP_NUM_THREADS=1 python benchmarks/yoyodyne_speed.py --data-root DIR --language ady
    OMP_NUM_THREADS=1 python benchmarks/yoyodyne_speed.py --data-root DIR --language gre --seconds 40

Needs the environment of yoyodyne-requirements.txt. All train on the same words: loss, backward, clipping and Adam,
without Lightning, embeddings of 128, a bidirectional encoder of 128 a direction and a decoder of 256, batches of
the same number of words. They take turns, epoch by epoch, in one process; medians, and ratios of an epoch to its
neighbour. With --seconds each trains for so many CPU seconds, and then says its word error rate on the validation
words, by greedy search, with its last weights.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import torch
from paths import existing
from torch.nn.utils import clip_grad_norm_

from unrolled.configuration.build import build_data, build_module
from unrolled.configuration.composition import composed
from unrolled.metrics.error_rates import errors_of_lines, total
from unrolled.search.settings import Greedy


class Contestant(NamedTuple):
    """A function that trains for an epoch and returns its CPU seconds; parameters; a function that validates."""

    epoch: Callable[[], float]
    parameters: int
    word_error_rate: Callable[[], float]


def ours(root, language, folder, *options):
    """An epoch of ours, the number of parameters, and how many words a batch has."""
    chosen = ["experiment=g2p", f"data.root={root}", f"data.language={language}", "hardware=cpu", *options]
    config = composed("train", (*chosen, f"hydra.run.dir={folder}/run", f"cache={folder}/cache"))
    data = build_data(config)
    data.prepare_data()
    data.setup()
    module = build_module(config, data).train()
    loader = data.train_dataloader()
    optimizer = module._optimizer(module.model.parameters())

    def losses():
        for batch in loader:
            loss = module.loss(batch)
            yield loss.objective / loss.tokens

    def word_error_rate():
        module.eval()
        hypotheses = {}
        with torch.inference_mode():
            for batch in data.val_dataloader():
                for line, hypothesis in zip(batch.index.tolist(), Greedy()(module.model, batch), strict=True):
                    hypotheses[line] = module.decode(hypothesis.tokens)
        lines = [hypotheses[line] for line in sorted(hypotheses)]
        return total(errors_of_lines(lines, data.text.references("val"), "word")).word_error_rate

    words = sum(map(len, loader)) / len(loader)
    parameters = sum(weights.numel() for weights in module.parameters())
    return Contestant(epoch(losses, module, optimizer), parameters, word_error_rate), words


def theirs(kind, root, language, folder, words):
    """The same of yoyodyne."""
    from yoyodyne import data, models, special
    from yoyodyne.models import modules

    paths = {split: next(Path(root).rglob(f"{language}_{split}.tsv")) for split in ("train", "dev")}
    data_module = data.DataModule(
        model_dir=folder, train=str(paths["train"]), val=str(paths["dev"]), target_sep=" ", batch_size=words
    )
    sizes = {"embedding_size": 128, "dropout": 0.3, "layers": 1}
    encoder = getattr(modules, f"{kind}Encoder")(hidden_size=128, **sizes)
    model = getattr(models, f"SoftAttention{kind}Model")(
        source_encoder=encoder,
        embedding_size=128,
        decoder_hidden_size=256,
        decoder_layers=1,
        decoder_dropout=0.3,
        label_smoothing=0.1,
        vocab_size=data_module.vocab_size,
        target_vocab_size=data_module.target_vocab_size,
        teacher_forcing=True,
    ).train()
    loader = data_module.train_dataloader()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)

    def losses():
        for batch in loader:
            predictions, target = model._align(model(batch), batch.target.tensor)
            yield model.loss_func(predictions, target)

    def word_error_rate():
        model.eval()._trainer = SimpleNamespace(validating=False, sanity_checking=False)  # of which it asks
        wrong = []
        with torch.inference_mode():
            for batch in data_module.val_dataloader():
                predicted = model(batch).argmax(dim=1)
                for written, wanted in zip(predicted.tolist(), batch.target.tensor.tolist(), strict=True):
                    wrong.append(until(written, special.END_IDX) != until(wanted, special.END_IDX))
        return 100 * sum(wrong) / len(wrong)

    parameters = sum(weights.numel() for weights in model.parameters())
    return Contestant(epoch(losses, model, optimizer), parameters, word_error_rate)


def until(ids, end):
    """The ids before the first ``end``."""
    return ids[: ids.index(end)] if end in ids else ids


def epoch(losses, module, optimizer):
    """A function that trains for one epoch and returns its CPU seconds."""

    def run():
        start = time.process_time()
        for loss in losses():
            optimizer.zero_grad()
            loss.backward()
            clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
        return time.process_time() - start

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", required=True, type=existing)
    parser.add_argument("--language", default="ady")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--only", nargs="*", help="parts of the names of those that take part")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        first, words = ours(given.data_root, given.language, folder)
        contestants = {"unrolled, cgru, bahdanau": first}
        simple = ("model=bahdanau", "model.decoder.cell=gru_reset_after")  # one GRU in the decoder, as yoyodyne's
        contestants["unrolled, bahdanau, bahdanau"], _ = ours(given.data_root, given.language, folder, *simple)
        for kind in ("GRU", "LSTM"):
            contestants[f"yoyodyne, SoftAttention{kind}Model"] = theirs(
                kind, given.data_root, given.language, folder, round(words)
            )
        if given.only:
            contestants = {
                name: contestant for name, contestant in contestants.items() if any(word in name for word in given.only)
            }
        if given.seconds is None:
            compare_speed(contestants, given)
        else:
            compare_at_equal_time(contestants, given)


def compare_speed(contestants, given):
    """A table of words per CPU second."""
    words = len(next(Path(given.data_root).rglob(f"{given.language}_train.tsv")).read_text("utf-8").splitlines())
    seconds = {name: [] for name in contestants}
    for turn in range(given.turns + 1):
        for name, contestant in contestants.items():
            seconds[name].append(contestant.epoch())
        print(f"turn {turn}", file=sys.stderr)
    first = next(iter(seconds.values()))[1:]
    print("| model | parameters | words per CPU second | time to the first's |")
    print("| --- | ---: | ---: | ---: |")
    for name, contestant in contestants.items():
        times = seconds[name][1:]
        ratio = statistics.median(one / other for one, other in zip(times, first, strict=True))
        print(f"| {name} | {contestant.parameters:,} | {words / statistics.median(times):.0f} | {ratio:.2f} |")


def compare_at_equal_time(contestants, given):
    """A table of validation word error rates after as many CPU seconds."""
    spent, epochs = dict.fromkeys(contestants, 0.0), dict.fromkeys(contestants, 0)
    while min(spent.values()) < given.seconds:
        name = min(spent, key=spent.get)
        spent[name] += contestants[name].epoch()
        epochs[name] += 1
    print("| model | parameters | CPU seconds | epochs | validation WER, % |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, contestant in contestants.items():
        rate = contestant.word_error_rate()
        print(f"| {name} | {contestant.parameters:,} | {spent[name]:.0f} | {epochs[name]} | {rate:.1f} |")


if __name__ == "__main__":
    main()
