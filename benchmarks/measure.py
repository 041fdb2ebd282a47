"""The measurements: contestants in turns on the same batches, the machine's peak, memory in a child process."""

import argparse
import copy
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import torch
from contestants import Contestant
from hydra import compose, initialize_config_dir
from omegaconf import DictConfig
from operations import TRAINING, training_operations
from peer import Peer

from unrolled.configuration.build import build_data, build_model
from unrolled.configuration.conf import CONF
from unrolled.data.batch import Batch
from unrolled.models.fast import cuda_graphs
from unrolled.models.fast.products import packs
from unrolled.models.translator import Translator

DTYPES = {"fp32": torch.float32, "tf32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Prepared:
    """A model and its batches, on the device."""

    model: Translator
    batches: list[Batch]
    data_seconds: float
    """To make a batch, median."""
    precision: str
    device: str

    @property
    def autocast(self) -> bool:
        return DTYPES[self.precision] is not torch.float32

    def contestant(self, name: str) -> Contestant:
        return Contestant(
            name,
            copy.deepcopy(self.model),
            precision=self.precision,
            device=self.device,
        )


def prepare(
    chosen: argparse.Namespace,
    *,
    model: str,
    attention: str,
    sizes: tuple[int, int, int, int],
    precision: str,
) -> Prepared:
    """Compose the configuration, draw the batches, build the model; dropout is off, so that losses can be compared."""
    embedding, encoder, decoder, attention_size = sizes
    overrides = [
        f"model={model}",
        f"attention={attention}",
        f"cache={Path(chosen.cache).resolve()}",
    ]
    overrides += [
        f"model.embedding_size={embedding}",
        f"model.encoder_size={encoder}",
        f"model.decoder_size={decoder}",
    ]
    overrides += [f"model.{what}_dropout=0" for what in ("embedding", "annotation", "readout")]
    if attention not in ("dot", "general", "none"):
        overrides += [f"attention.size={attention_size}"]
    if chosen.data_root:
        overrides += [
            "data=multi30k",
            "tokenizer=bpe",
            f"data.root={Path(chosen.data_root).resolve()}",
        ]
    overrides += [
        f"+data.module.max_sentences={chosen.sentences}",
        "data.max_tokens=1000000",
        f"seed={chosen.seed}",
    ]
    with initialize_config_dir(str(CONF), version_base="1.3"):
        config = compose("train", [*overrides, *chosen.set])
    batches, seconds, vocabularies = draw(config, chosen.batches)
    torch.manual_seed(chosen.seed)
    built = build_model(config, source_vocabulary=vocabularies[0], target_vocabulary=vocabularies[1])
    return Prepared(
        built,
        [batch.to(chosen.device) for batch in batches],
        seconds,
        precision,
        chosen.device,
    )


def draw(config: DictConfig, count: int) -> tuple[list[Batch], float, tuple[int, int]]:
    """The first batches of an epoch, median seconds a batch, and the sizes of both vocabularies."""
    data = build_data(config)
    data.prepare_data()
    data.setup()
    batches, seconds = [], []
    loader, last = iter(data.train_dataloader()), time.perf_counter()
    for batch in islice(loader, count):
        now = time.perf_counter()
        batches.append(batch)
        seconds.append(now - last)
        last = time.perf_counter()
    return (
        batches,
        statistics.median(seconds),
        (data.source_tokenizer.size, data.target_tokenizer.size),
    )


def measure(prepared: Prepared, names: list[str], peers: Sequence[Peer] = ()) -> dict:
    """All figures of one model, attention, size and precision. Closes the peers."""
    # before the first step: a loop that is captured as CUDA graphs serves one setting only
    torch.set_float32_matmul_precision("high" if prepared.precision == "tf32" else "highest")
    torch.backends.cudnn.allow_tf32 = prepared.precision == "tf32"  # the encoder's nn.GRU; torch's default is True
    contestants: dict[str, Contestant | Peer] = {name: prepared.contestant(name) for name in names}
    check_same_loss(
        {name: contestant.step(prepared.batches[0]) for name, contestant in contestants.items()},
        prepared,
    )
    if prepared.device == "cuda":  # so that loops are captured before anything is timed
        for batch, contestant in product(prepared.batches * (cuda_graphs.AFTER + 1), contestants.values()):
            contestant.step(batch)
    ours = [sum(training_operations(prepared.model, batch).values()) for batch in prepared.batches]
    operations = dict.fromkeys(names, ours)
    for peer in peers:
        contestants[peer.name] = peer
        peer.step(prepared.batches[0])
        operations[peer.name] = [peer.operations(batch) for batch in prepared.batches]
        names = [*names, peer.name]
    peaks, gru = [product_peak(prepared)], gru_rate(prepared)
    seconds: dict[str, list[dict[str, float]]] = {name: [] for name in names}
    for number, batch in enumerate(prepared.batches):
        turn = number % len(names)
        for name in [*names[turn:], *names[:turn]]:
            contestant = contestants[name]
            taken = contestant.step(batch)
            seconds[name].append({"step": taken} if isinstance(contestant, Peer) else dict(contestant.watch.seconds))
    peaks.append(product_peak(prepared))

    parts = [training_operations(prepared.model, batch) for batch in prepared.batches]
    tokens = [int(batch.target_out_valid.sum()) for batch in prepared.batches]
    totals = {name: [sum(step.values()) for step in seconds[name]] for name in names}
    peak = statistics.median(peaks)
    measured = {
        name: {
            "target_tokens_per_second": median_rate(tokens, totals[name]),
            "operations_per_second": (rate := median_rate(operations[name], totals[name])),
            "share_of_peak": rate / peak,
            "times_as_long_as": {
                other: statistics.median(a / b for a, b in zip(totals[name], totals[other], strict=True))
                for other in names
            },
            "range_as_long_as": {
                other: (min(ratios), max(ratios))
                for other in names
                if (ratios := [a / b for a, b in zip(totals[name], totals[other], strict=True)])
            },
            "times_as_long_an_operation_as": {
                other: statistics.median(
                    (a / n) / (b / m)
                    for a, n, b, m in zip(totals[name], operations[name], totals[other], operations[other], strict=True)
                )
                for other in names
            },
            "part_seconds": {
                phase: statistics.median(step[phase] for step in seconds[name]) for phase in seconds[name][0]
            },
            "seconds": totals[name],
        }
        for name in names
    }
    for peer in peers:
        measured[peer.name]["memory"] = {"peak": peer.peak_mib}
        peer.close()
    return {
        "batches": len(prepared.batches),
        "peak_operations_per_second": peaks,
        "gru_operations_per_second": gru,
        "data_seconds": prepared.data_seconds,
        "operations": {phase: sum(batch[phase] for batch in parts) for phase in parts[0]},
        **padding(prepared.batches),
        "contestants": measured,
    }


def check_same_loss(losses: dict[str, float], prepared: Prepared) -> None:
    """Contestants that compute different functions are no contestants."""
    tolerance = 1e-4 if prepared.precision == "fp32" else 2e-2
    first = next(iter(losses.values()))
    if any(abs(loss - first) > tolerance * abs(first) for loss in losses.values()):
        raise RuntimeError(f"the contestants do not compute the same loss: {losses}")


def median_rate(amounts: list[int], seconds: list[float]) -> float:
    return statistics.median(amount / second for amount, second in zip(amounts, seconds, strict=True))


def padding(batches: list[Batch]) -> dict[str, float]:
    """The shares of padding in source and target positions."""
    sides = {
        "source": [batch.source_valid for batch in batches],
        "target": [b.target_out_valid for b in batches],
    }
    return {
        f"{side}_padding": 1 - sum(int(mask.sum()) for mask in masks) / sum(mask.numel() for mask in masks)
        for side, masks in sides.items()
    }


def product_peak(prepared: Prepared, size: int = 2048, times: int = 7) -> float:
    """Operations a second of torch.mm of two square matrices, median; smaller ones where bfloat16 is emulated."""
    if prepared.device == "cpu" and prepared.precision == "bf16" and not packs(torch.bfloat16):
        size, times = 256, 3
    a, b = torch.randn(2, size, size, device=prepared.device, dtype=DTYPES[prepared.precision])
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        torch.mm(a, b)
        if prepared.device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return 2 * size**3 / statistics.median(seconds)


def gru_rate(prepared: Prepared, steps: int = 20, times: int = 5) -> float:
    """Operations a second of torch's nn.GRU (cuDNN's on a GPU), as wide as the decoder, trained on as many rows."""
    size, rows = prepared.model.decoder.initial.out_features, len(prepared.batches[0])
    gru = torch.nn.GRU(size, size).to(prepared.device)
    words = torch.randn(steps, rows, size, device=prepared.device, requires_grad=True)
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        with torch.autocast(prepared.device, DTYPES[prepared.precision], enabled=prepared.autocast):
            outputs, _ = gru(words)
        outputs.float().sum().backward()
        if prepared.device == "cuda":
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return TRAINING * 2 * steps * rows * 2 * size * 3 * size / statistics.median(seconds)


def measure_memory(prepared: Prepared, name: str) -> dict[str, float]:
    """Peak MiB of this process (of the GPU, where there is one) over all batches, and how much of it training added."""
    before = _memory()
    contestant = prepared.contestant(name)
    for batch in prepared.batches:
        contestant.step(batch)
    peak = torch.cuda.max_memory_allocated() / 2**20 if prepared.device == "cuda" else _memory()
    return {
        "peak": peak,
        "training": peak if prepared.device == "cuda" else peak - before,
    }


def _memory() -> float:
    """The most that this process has held so far. ru_maxrss would not do: a child begins with its parent's."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def machine() -> dict:
    """What the figures depend on besides the code."""
    cpu = Path("/proc/cpuinfo")
    models = [line.split(":")[1].strip() for line in cpu.read_text().splitlines() if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cpus": os.cpu_count(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "capability": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "load_average": os.getloadavg(),
    }
