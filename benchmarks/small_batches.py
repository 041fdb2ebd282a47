"""What a small training spends its time on: CPU time of a step of experiment=g2p, bare and as train.py takes it.

    OMP_NUM_THREADS=1 python benchmarks/small_batches.py --data-root DIR --language ady

Bare: loss, backward, clipping, optimiser. Trained: the same by Lightning, with loggers and callbacks, no validations.
Both take turns, epoch by epoch of the same batches, in one process; CPU time, so that other processes count little.
"""

import argparse
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

import unrolled.training.lean_lightning  # noqa: F401, I001  # before all that imports Lightning
import torch
from lightning.pytorch.callbacks import Callback
from paths import existing

from unrolled.configuration.build import build_data, build_module, build_trainer
from unrolled.configuration.composition import composed
from unrolled.search.settings import BeamSearch, Greedy


class Turns(Callback):
    """After every epoch of the trainer, one without it."""

    def __init__(self, bare, batches):
        self.bare, self.batches = bare, batches
        self.trained, self.alone, self.epochs = [], [], count(1)

    def on_train_epoch_start(self, trainer, module):
        self.start = time.process_time()

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if batch_idx == trainer.num_training_batches - 1:
            self.trained.append(time.process_time() - self.start)
            self.alone.append(self.bare(self.batches))
            print(f"epoch {next(self.epochs)}", file=sys.stderr)


def bare_epoch(module):
    """A function that trains ``module`` on batches without Lightning and returns its CPU seconds."""
    optimizer = module._optimizer(module.model.parameters())
    module.log = lambda *_, **__: None

    def epoch(batches):
        start = time.process_time()
        for batch in batches:
            loss = module.loss(batch)
            optimizer.zero_grad()
            (loss.objective / loss.tokens).backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
        return time.process_time() - start

    return epoch


def search_cost(search, model, batches):
    """CPU milliseconds a word."""
    start = time.process_time()
    with torch.inference_mode():
        for batch in batches:
            search(model, batch)
    return 1000 * (time.process_time() - start) / sum(map(len, batches))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-root", required=True, type=existing)
    parser.add_argument("--language", default="ady")
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("options", nargs="*", help="of train.py, such as model.decoder_size=128")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        options = ["experiment=g2p", f"data.root={given.data_root}", f"data.language={given.language}", "hardware=cpu"]
        options += [f"trainer.max_epochs={given.epochs}", "trainer.check_val_every_n_epoch=1000"]
        config = composed("train", (*options, f"hydra.run.dir={folder}/run", f"cache={folder}/cache", *given.options))
        data = build_data(config)
        data.prepare_data()
        data.setup()
        batches = list(data.train_dataloader())
        bare = bare_epoch(build_module(config, data).train())
        bare(batches)
        module, trainer, turns = build_module(config, data), build_trainer(config), Turns(bare, batches)
        trainer.callbacks.append(turns)
        trainer.fit(module, datamodule=data)
        alone, trained = (1000 * median(times) / len(batches) for times in (turns.alone, turns.trained))
        print(f"parameters              {sum(weights.numel() for weights in module.parameters()):,}")
        print(f"words a batch           {sum(map(len, batches)) / len(batches):.1f}")
        print(f"bare, ms a step         {alone:.1f}")
        print(f"trained, ms a step      {trained:.1f}")
        print(f"ratio                   {trained / alone:.3f}")
        module.eval()
        words = list(data.val_dataloader())
        for name, search in (("greedy", Greedy()), ("beam of 5", BeamSearch())):
            print(f"{name + ', ms a word':24}{search_cost(search, module.model, words):.1f}")


if __name__ == "__main__":
    main()
