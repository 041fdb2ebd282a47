"""What Lightning, loggers, callbacks and progress cost a step of a small model, and how the model's own step compares.

    OMP_NUM_THREADS=1 python benchmarks/small_models.py --data TRAIN.tsv [--steps 300] [--batch 32 256] [--size 128 64]
        [-- logger=wandb callbacks=default or other options of train.py]

TRAIN.tsv holds words and pronunciations (SIGMORPHON's letters to sounds). The model is that of experiment=g2p:
embeddings and each direction of the encoder have 128 numbers (--size), the decoder twice as many. In CPU milliseconds
a step, without validations, in turns of 25 steps: *train.py* is the Trainer as configured; *bare* is the same
objective in a loop of its own: loss, backward, clipping, Adam; *plain loop* is that with nn.GRU in the encoder and
the decoder's loop by autograd; *nn.LSTM, plain loop* has nn.LSTM in the encoder instead. Medians of the turns.
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from paths import existing

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))
BLOCK = 25


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, type=existing)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, nargs="+", default=[32, 256], help="sentences")
    parser.add_argument("--size", type=int, nargs="+", default=[128, 64], help="of embeddings; half the decoder's")
    parser.add_argument("options", nargs="*", help="of train.py")
    chosen = parser.parse_args()
    if chosen.steps < 2 * BLOCK:
        parser.error(f"argument --steps: give at least {2 * BLOCK}: the first {BLOCK} are not counted")
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", "1")))
    print("| size | sentences | way | CPU ms a step | to bare |\n| ---: | ---: | --- | ---: | ---: |")
    for size, batch in itertools.product(chosen.size, chosen.batch):
        times = measured(str(chosen.data.resolve()), size, batch, chosen.steps, chosen.options)
        for way, milliseconds in times.items():
            print(f"| {size} | {batch} | {way} | {milliseconds:.2f} | {milliseconds / times['bare']:.2f} |", flush=True)


def measured(data: str, size: int, batch: int, steps: int, given: list[str]) -> dict[str, float]:
    import unrolled.training.lean_lightning  # noqa: F401, I001
    from hydra import compose, initialize_config_dir

    from unrolled.configuration.build import build_data, build_module, build_trainer
    from unrolled.configuration.conf import CONF

    with tempfile.TemporaryDirectory() as folder, initialize_config_dir(str(CONF), version_base="1.3"):
        options = ["experiment=g2p", "data=tsv", *(f"data.{split}={data}" for split in ("train", "val", "test"))]
        options += [f"run_folder={folder}/run", f"cache={folder}/cache", f"+data.module.max_sentences={batch}"]
        sizes = {"embedding": size, "encoder": size, "decoder": 2 * size}
        options += [f"model.{kind}_size={numbers}" for kind, numbers in sizes.items()]
        options += ["data.max_tokens=1000000", "trainer.limit_val_batches=0", f"trainer.max_steps={steps}", "name=g2p"]
        options += ["trainer.max_epochs=-1", "overrides=[]"]
        options += ["choices={model: cgru, attention: bahdanau, alignment: guide, data: tsv}"]
        config = compose("train", [*options, *given])
        text = build_data(config)
        text.prepare_data()
        text.setup()
        loader = text.train_dataloader()
        batches = list(itertools.islice(itertools.chain.from_iterable(itertools.repeat(loader)), 100))
        others = {}
        for way, change in {"bare": None, "plain loop": plain, "nn.LSTM, plain loop": lstm}.items():
            module = build_module(config, text)
            if change is not None:
                change(module.model)
            others[way] = Bare(module, itertools.cycle(batches))
        clock = clock_callback(others)
        trainer = build_trainer(config)
        trainer.callbacks.append(clock)
        trainer.fit(build_module(config, text), datamodule=text)
    return {way: 1000 * statistics.median(times[1:]) / BLOCK for way, times in clock.times.items()}


def clock_callback(others: dict[str, "Bare"]) -> Any:
    import lightning

    class Clock(lightning.Callback):
        """Every 25 steps notes the time that they took, and lets the others take as many."""

        def __init__(self) -> None:
            self.times: dict[str, list[float]] = {name: [] for name in (*others, "train.py")}
            self.last = 0.0

        def on_train_start(self, *_: object) -> None:
            self.last = time.process_time()

        def on_train_batch_end(self, trainer: Any, *_: object) -> None:
            if trainer.global_step % BLOCK == 0:
                self.times["train.py"].append(time.process_time() - self.last)
                for name, other in others.items():
                    start = time.process_time()
                    other.steps(BLOCK)
                    self.times[name].append(time.process_time() - start)
                self.last = time.process_time()

    return Clock()


class Bare:
    """A training loop without Lightning."""

    def __init__(self, module: Any, batches: Any) -> None:
        self.module, self.batches = module.train(), batches
        module.log = lambda *_, **__: None
        optimizer = module.configure_optimizers()
        self.optimizer = optimizer["optimizer"] if isinstance(optimizer, dict) else optimizer

    def steps(self, count: int) -> None:
        import torch

        for number, batch in zip(range(count), self.batches, strict=False):
            self.optimizer.zero_grad()
            self.module.training_step(batch, number).backward()
            torch.nn.utils.clip_grad_norm_(self.module.parameters(), 1.0)
            self.optimizer.step()


def plain(model: Any) -> None:
    model.decoder.unroll = model.decoder.unroll_plainly
    model.encoder.forward = model.encoder.annotate_by_torch


def lstm(model: Any) -> None:
    from torch import nn

    plain(model)
    gru = model.encoder.gru
    model.encoder.gru = nn.LSTM(gru.input_size, gru.hidden_size, gru.num_layers, batch_first=True, bidirectional=True)


if __name__ == "__main__":
    main()
