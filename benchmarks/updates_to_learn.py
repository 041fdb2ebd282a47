"""How many updates the default settings need until a model knows more of a text than how often each word comes.

    python benchmarks/updates_to_learn.py --data DATA --output updates.jsonl [--only initialisation data model ...]
    python benchmarks/updates_to_learn.py --output updates.jsonl --figure docs/images/updates-to-learn.png

DATA holds greek-nt, multi30k, bible-en-es, tanaka-en-ja and wmt-10k-en-de, each with its text files. A cell is one
training in a bare loop: the optimiser, clipping, batches and dropout of conf/train.yaml, no Lightning, no search. Its
line in the JSON file has the loss of up to four validation batches after every ten updates, and the unigram level of
these batches. The table has the first update after which the loss lay 0.1 nats a token below that level. A cell whose
line is there is not run again, so the same command continues where it was interrupted.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import numpy as np
import torch
from hydra import compose, initialize_config_dir
from hydra.utils import instantiate
from initialisations import RECIPES
from paths import existing
from torch import nn

from unrolled.configuration.build import build_data, build_model
from unrolled.configuration.conf import CONF
from unrolled.configuration.values import register_resolvers
from unrolled.data.module import DataModule
from unrolled.metrics.unigram_loss import leaves_unigram_level, unigram_loss
from unrolled.training.linear_loss import linear_token_loss
from unrolled.training.loss import TokenLoss

EVERY = 10  # updates between two validations
BATCHES = 4  # of validation
CORPORA = {  # source and target file of a split; the split's name where it is another
    "greek-nt": ("{}.grc", "{}.en", {}),
    "multi30k": ("{}.en", "{}.de", {"test": "test_2016_flickr"}),
    "bible-en-es": ("{}.en", "{}.es", {}),
    "tanaka-en-ja": ("{}.en", "{}.ja", {}),
    "wmt-10k-en-de": ("src-{}.txt", "tgt-{}.txt", {}),
}
OTHERS = ("gru_att", "gru_att_pooled", "dot", "general", "coverage", "location", "location_extrapolating")
"""The attentions but the default."""
EXPERIMENT = (  # conf/experiment/multi30k.yaml, but for label smoothing
    "tokenizer=bpe",
    "data.max_tokens=1200",
    "optimizer.lr=1e-3",
    "model.embedding_size=256",
    "model.encoder_size=256",
    "model.decoder_size=320",
    "model.embedding_dropout=0.3",
    "model.annotation_dropout=0.3",
    "model.readout_dropout=0.3",
    "model.tied_target_embeddings=true",
)


class Cell(NamedTuple):
    """What is trained: the axis it belongs to, its name there, and how it differs from the defaults."""

    axis: str
    name: str
    options: tuple[str, ...] = ()
    corpus: str = "greek-nt"
    recipe: str = "ours"
    updates: int = 150  # at most
    whole: bool = False  # continue after the unigram level is left
    to_the_best: bool = False  # continue until an epoch brings no better validation loss


def size(number: int) -> tuple[str, ...]:
    """Embeddings, one direction of the encoder and half of the decoder of ``number`` units."""
    return (
        f"model.embedding_size={number}",
        f"model.encoder_size={number}",
        f"model.decoder_size={2 * number}",
        f"attention.size={number}",
    )


def cells() -> Iterator[Cell]:
    """One axis at a time around the default, the cheap ones of each axis first."""
    small = ("data.max_tokens=1000",)
    for recipe in RECIPES:
        yield Cell("initialisation", recipe, ("data.max_tokens=500",), recipe=recipe, updates=100, whole=True)
    for corpus in CORPORA:
        yield Cell("data", corpus, corpus=corpus)
    for model in ("cgru", "bahdanau", "rnnsearch", "encoder_decoder", "rnn_lm", "feedforward_lm"):
        yield Cell("model", model, (f"model={model}", *small))
    for attention in ("bahdanau", *OTHERS):
        yield Cell("attention", attention, (f"attention={attention}", *small))
    for model in ("cgru", "rnnsearch", "encoder_decoder"):
        yield Cell("tied", model, (f"model={model}", "model.tied_target_embeddings=true", *small))
    for number in (500, 1000, 2000, 4000, 8000):
        yield Cell("batch", f"{number}", (f"data.max_tokens={number}",))
    for number in (64, 128, 256, 512, 1024):
        yield Cell("size", f"{number}", (*size(number), *small))
    for rate in ("5e-4", "1e-3", "2e-3", "4e-3"):
        yield Cell("learning rate", rate, (f"optimizer.lr={rate}", *small))
    yield Cell("clipping", "null", ("trainer.gradient_clip_val=null", *small))
    for number in (512, 1024):
        yield Cell("size, tied", f"{number}", (*size(number), "model.tied_target_embeddings=true", *small))
    for recipe in ("before", "ours"):
        yield Cell("experiment", recipe, EXPERIMENT, corpus="multi30k", recipe=recipe, updates=60, whole=True)
    for recipe in ("dl4mt", "before", "ours"):  # its own optimiser; clipping at 1 is ours too
        yield Cell("dl4mt's optimiser", recipe, ("optimizer=adadelta",), recipe=recipe, updates=426, whole=True)
    for corpus in CORPORA:
        yield Cell("two epochs", corpus, corpus=corpus, updates=20_000, whole=True, to_the_best=True)
    for recipe in ("unit variance", "E^3/8"):
        yield Cell("two epochs, initialisation", recipe, recipe=recipe, updates=20_000, whole=True, to_the_best=True)
    for name, options in variations():
        yield Cell("two epochs, greek-nt", name, options, updates=20_000, whole=True, to_the_best=True)


def variations() -> Iterator[tuple[str, tuple[str, ...]]]:
    """One option changed: what the defaults' first two epochs are compared with."""
    for attention in OTHERS:
        yield f"attention={attention}", (f"attention={attention}",)
    yield "tied", ("model.tied_target_embeddings=true",)
    for number in (500, 1000, 4000, 8000):
        yield f"data.max_tokens={number}", (f"data.max_tokens={number}",)
    yield "data.max_tokens=8000 optimizer.lr=2e-3", ("data.max_tokens=8000", "optimizer.lr=2e-3")
    for number in (64, 256, 512, 1024):
        yield f"size {number}", size(number)
        yield f"size {number}, tied", (*size(number), "model.tied_target_embeddings=true")


def configuration(cell: Cell, data: Path, cache: Path) -> Any:
    """What train.py would compose for the cell, but for the run folder."""
    source, target, names = CORPORA[cell.corpus]
    files = [
        f"data.{split}=["
        + ",".join(str(data / cell.corpus / side.format(names.get(split, split))) for side in sides)
        + "]"
        for sides in [(source, target)]
        for split in ("train", "val", "test")
    ]
    fixed = [f"cache={cache}", "run_folder=.", "name=cell", "choices={}"]
    with initialize_config_dir(config_dir=str(CONF), version_base="1.3"):
        return compose("train", overrides=["data=parallel_text", *files, *fixed, *cell.options])


def token_loss(model: nn.Module, batch: Any) -> TokenLoss:
    """The loss of a batch, of a translator or of a language model."""
    counted = batch.target_out_valid
    words = batch.target_out[counted]
    if hasattr(model, "readout"):
        hidden, _ = model(batch.source, batch.source_lengths, batch.target_in, counted)
        return linear_token_loss(hidden, model.readout.output, words)
    hidden, _ = model(batch.target_in, model.start(batch))
    return linear_token_loss(hidden[counted], model.output, words)


@torch.no_grad()
def validation_loss(model: nn.Module, batches: list[Any]) -> float:
    model.eval()
    losses = [token_loss(model, batch) for batch in batches]
    model.train()
    return sum(loss.objective.item() for loss in losses) / sum(loss.tokens for loss in losses)


def train(cell: Cell, config: Any, data: DataModule, epochs: float) -> dict[str, Any]:
    """The line of a cell; a training to the best ends after ``epochs`` in any case."""
    torch.manual_seed(config.seed)
    source, target = data.source_tokenizer.size, data.target_tokenizer.size
    model = build_model(config, source_vocabulary=source, target_vocabulary=target)
    RECIPES[cell.recipe](model)
    optimizer = instantiate(config.optimizer)(model.parameters())
    validation, unigram = validation_part(data)
    loader = data.train_dataloader()
    epoch = len(loader)
    every = max(EVERY, epoch // 20) if cell.to_the_best else EVERY
    curve: list[tuple[int, float]] = []
    start = time.process_time()
    for number, batch in enumerate(repeated(loader), start=1):
        loss = token_loss(model, batch)
        optimizer.zero_grad()
        (loss.objective / loss.tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), config.trainer.gradient_clip_val or math.inf)
        optimizer.step()
        if number % every == 0 or number in (cell.updates, 2 * epoch):
            curve.append((number, round(validation_loss(model, validation), 4)))
            left = leaves_unigram_level(curve[-1][1], unigram)
            if number >= cell.updates or (left and not cell.whole):
                break
            if cell.to_the_best and (number - best(curve)[0] > epoch or number >= epochs * epoch):
                break
    return {
        "unigram": round(unigram, 4),
        "updates_an_epoch": epoch,
        "cpu_seconds": round(time.process_time() - start),
        "curve": curve,
    }


def best(curve: list[tuple[int, float]]) -> tuple[int, float]:
    """The update with the lowest validation loss, and that loss."""
    return min(curve, key=lambda point: point[1])


def share_of_the_way(line: dict[str, Any], goal: float, epochs: int = 2) -> float:
    """How much of the way from the unigram level to the loss ``goal`` is gone after some epochs."""
    after = [loss for number, loss in line["curve"] if number <= epochs * line["updates_an_epoch"]]
    return (line["unigram"] - min(after)) / (line["unigram"] - goal)


def repeated(loader: Any) -> Iterator[Any]:
    while True:
        yield from loader


def validation_part(data: DataModule) -> tuple[list[Any], float]:
    """Some of the validation batches, and their unigram level."""
    batches = list(data.val_dataloader())
    order = np.random.default_rng(0).permutation(len(batches))[:BATCHES]
    window = [batches[number] for number in order]
    words = torch.cat([batch.target_out[batch.target_out_valid] for batch in window])
    counts = words.bincount(minlength=data.target_tokenizer.size).numpy()
    return window, unigram_loss(data.target_counts("train"), counts)


def needed(line: dict[str, Any]) -> int | None:
    """The first update after which the loss was below the unigram level."""
    return next((number for number, loss in line["curve"] if leaves_unigram_level(loss, line["unigram"])), None)


def table(lines: list[dict[str, Any]]) -> str:
    rows = ["| axis | cell | unigram level | updates needed | loss at the end | after updates | an epoch has |"]
    rows.append("|---|---|---|---|---|---|---|")
    for line in lines:
        last, loss = line["curve"][-1]
        updates = needed(line)
        rows.append(
            f"| {line['axis']} | `{line['name']}` | {line['unigram']:.2f} | {updates or f'**not in {last}**'} "
            f"| {loss:.2f} | {last} | {line['updates_an_epoch']} |"
        )
    return "\n".join(rows)


def table_of_the_way(lines: list[dict[str, Any]]) -> str:
    """Where the best validation loss lies, and what share of the way to it two epochs go.

    A training that ended earlier is compared with the lowest loss that any of ``lines`` has on its text.
    """
    rows = [
        "| text | unigram level | an epoch has | after one epoch | after two | best loss | after updates | of the way |"
    ]
    rows.append("|---|---|---|---|---|---|---|---|")
    for line in lines:
        update, loss = best(line["curve"])
        one, two = (
            min(value for number, value in line["curve"] if number <= epochs * line["updates_an_epoch"])
            for epochs in (1, 2)
        )
        lowest = min(best(other["curve"])[1] for other in lines if other["corpus"] == line["corpus"])
        if line["curve"][-1][0] - update > line["updates_an_epoch"]:
            way = f"{loss:.2f} | {update} | {share_of_the_way(line, loss):.0%}"
        elif lowest < two:
            way = f"not trained to it | | {share_of_the_way(line, lowest):.0%} of that to {lowest:.2f}"
        else:
            way = "not trained to it | |"
        rows.append(
            f"| `{line['name']}` | {line['unigram']:.2f} | {line['updates_an_epoch']} | {one:.2f} | {two:.2f} | {way} |"
        )
    return "\n".join(rows)


def figure(lines: list[dict[str, Any]], path: Path) -> None:
    """The curves of the initialisations."""
    from matplotlib import pyplot

    shown, axes = pyplot.subplots(figsize=(7, 4.2))
    curves = [line for line in lines if line["axis"] == "initialisation"]
    for line in curves:
        style = {"ours": {"linewidth": 2.5, "color": "black"}, "before": {"linestyle": "--", "color": "black"}}
        axes.plot(*zip(*line["curve"], strict=True), label=line["name"], **style.get(line["name"], {}))
    axes.axhline(curves[0]["unigram"], color="grey", linestyle=":", label="unigram level")
    axes.set_xlabel("updates")
    axes.set_ylabel("validation loss, nats a token")
    axes.set_ylim(top=curves[0]["unigram"] + 0.5)
    axes.legend(fontsize=8, loc="upper left", bbox_to_anchor=(1, 1))
    shown.savefig(path, dpi=110, bbox_inches="tight")


def run(args: argparse.Namespace, report: Callable[[str], None]) -> None:
    register_resolvers()
    done = {(line["axis"], line["name"]) for line in read(args.output)}
    for cell in cells():
        if (cell.axis, cell.name) in done or (args.only and cell.axis not in args.only):
            continue
        if args.cells and cell.name not in args.cells:
            continue
        config = configuration(cell, args.data, args.cache)
        data = build_data(config)
        data.prepare_data()
        data.setup()
        line = {"axis": cell.axis, "name": cell.name, "options": cell.options, "corpus": cell.corpus}
        line |= train(cell, config, data, args.epochs)
        with args.output.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        report(table([line]).splitlines()[-1])


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=existing, help="the folder of the five corpora; without it nothing is trained")
    parser.add_argument("--output", type=Path, required=True, help="a line of JSON a cell")
    parser.add_argument("--only", nargs="+", help="axes")
    parser.add_argument("--cells", nargs="+", help="names of cells on these axes")
    parser.add_argument("--cache", type=Path, default=ROOT / "outputs/cache", help="tokenizers and token ids")
    parser.add_argument("--epochs", type=float, default=math.inf, help="of 'two epochs', which train to the best loss")
    parser.add_argument("--figure", type=Path, help="a picture of the initialisations' curves")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.data:
        run(args, lambda row: print(row, file=sys.stderr, flush=True))
    lines = read(args.output)
    if args.figure:
        figure(lines, args.figure)
    ways = [line for line in lines if line["axis"].startswith("two epochs")]
    print(table([line for line in lines if line not in ways]))
    if ways:
        print("\n" + table_of_the_way(ways))


if __name__ == "__main__":
    main()
