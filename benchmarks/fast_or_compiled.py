"""Does models/fast/, the hand-written backward passes, earn its keep against what torch offers for the same loops?

    OMP_NUM_THREADS=1 python benchmarks/fast_or_compiled.py [--attention gru_att] [--size 320] [--precision fp32]
        [--way compiled] [--results FILE] [--device cuda]

A training step (forward, loss, backward) of model=cgru on random words, batches shaped as experiment=multi30k's and one
of sentences of 100 pieces, each filled to its 1,200 tokens. Each way is timed against ``fast`` alone, in turns in one
process, in CPU seconds, which neighbours disturb least. Its memory is the resident high-water of another process, which
also starts with what the first has compiled. What FILE holds is not measured again. On a GPU, seconds on the clock and
its memory; ``fast`` has CUDA graphs there, and ``without graphs`` has not.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
# embeddings, encoder (of one direction), decoder, attention
SIZES = {"320": (256, 256, 320, 128), "512": (256, 256, 512, 512)}
# (sentences, source length, target length); quantiles 0.1, 0.5 and 0.9 of the target lengths of Multi30k's batches
BATCHES = {"multi30k": [(85, 14, 11), (75, 14, 16), (48, 20, 25)], "100 x 100": [(12, 100, 100)]}
TURNS = {"multi30k": 3, "100 x 100": 2}
VOCABULARY = 8000
ATTENTIONS = ("bahdanau", "gru_att", "gru_att_pooled", "coverage", "location")
WAYS = ("fast", "plain", "checkpoint", "compiled", "compiled + checkpoint")
MORE = ("without graphs", "whole loop compiled")
COMPILED = ("compiled", "compiled + checkpoint", "whole loop compiled")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attention", nargs="+", default=["bahdanau", "gru_att"], choices=ATTENTIONS)
    parser.add_argument("--size", nargs="+", default=list(SIZES), choices=SIZES, help="the decoder's")
    parser.add_argument("--precision", nargs="+", default=["fp32", "bf16"], choices=["fp32", "bf16"])
    parser.add_argument("--way", nargs="+", default=list(WAYS), choices=[*WAYS, *MORE])
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--results", type=Path, help="JSON lines, added to; another run resumes from it")
    parser.add_argument("--child", help=argparse.SUPPRESS)  # what a child process measures
    return parser.parse_args()


def build(attention: str, size: str) -> Any:
    """cgru with dropout off, so that the ways can be compared."""
    import torch

    from unrolled.models.attention import BahdanauAttention, CoverageAttention, GRUAttention, PooledGRUAttention
    from unrolled.models.decoder import CGRUDecoder
    from unrolled.models.location_attention import LocationAttention
    from unrolled.models.readout import DeepReadout
    from unrolled.models.translator import translator

    embedding, encoder, decoder, attention_size = SIZES[size]
    mechanism: Callable[..., Any] = {
        "bahdanau": BahdanauAttention,
        "gru_att": GRUAttention,
        "gru_att_pooled": PooledGRUAttention,
        "coverage": partial(CoverageAttention, coverage_size=10),
        "location": partial(LocationAttention, filters=10, kernel_size=7),
    }[attention]
    torch.manual_seed(1)
    return translator(
        source_vocabulary=VOCABULARY,
        target_vocabulary=VOCABULARY,
        decoder=CGRUDecoder,
        readout=DeepReadout,
        attention=lambda **sizes: mechanism(size=attention_size, **sizes),
        embedding_size=embedding,
        encoder_size=encoder,
        encoder_layers=1,
        decoder_size=decoder,
        embedding_dropout=0.0,
        annotation_dropout=0.0,
        readout_dropout=0.0,
        tied_target_embeddings=True,
        orthogonal=True,
    )


def take(way: str, model: Any) -> None:
    """Let ``model`` train that way; all but ``fast`` have nn.GRU in the encoder and the loop over ``advance``."""
    import torch
    from torch.utils.checkpoint import checkpoint

    encoder, decoder = model.encoder, model.decoder
    if way in ("fast", "without graphs"):
        return
    encoder.forward = encoder.annotate_by_torch
    decoder.unroll = decoder.unroll_plainly
    if way == "whole loop compiled":
        decoder.unroll = torch.compile(decoder.unroll_plainly, dynamic=True)
    if way in ("compiled", "compiled + checkpoint"):
        decoder.advance = torch.compile(decoder.advance, dynamic=True)
    if way in ("checkpoint", "compiled + checkpoint"):
        advance = decoder.advance
        decoder.advance = lambda *inputs: checkpoint(advance, *inputs, use_reentrant=False, preserve_rng_state=False)


def batch(sentences: int, source_length: int, target_length: int) -> tuple[Any, ...]:
    """Source with its lengths, the longest without padding; target in and out; all target positions count."""
    import torch

    generator = torch.Generator().manual_seed(2)
    source = torch.randint(4, VOCABULARY, (sentences, source_length), generator=generator)
    lengths = torch.randint(source_length * 9 // 10, source_length + 1, (sentences,), generator=generator)
    lengths[0] = source_length
    source[torch.arange(source_length) >= lengths.unsqueeze(1)] = 0
    target = torch.randint(4, VOCABULARY, (sentences, target_length + 1), generator=generator)
    return source, lengths, target[:, :-1], target[:, 1:]


def step(model: Any, inputs: tuple[Any, ...], precision: str) -> float:
    """Forward, loss, backward; the loss a token."""
    import torch

    from unrolled.training.linear_loss import linear_token_loss

    source, lengths, target_in, target_out = inputs
    model.zero_grad()
    device = source.device.type
    with torch.autocast(device, torch.bfloat16, enabled=precision == "bf16"):
        hidden, _ = model(source, lengths, target_in, torch.ones_like(target_in, dtype=torch.bool))
        loss = linear_token_loss(hidden, model.readout.output, target_out.flatten()).objective / target_out.numel()
    loss.backward()
    return float(loss.detach())  # a GPU is waited for


def check_same(one: Any, other: Any, inputs: tuple[Any, ...], precision: str) -> None:
    """Ways that compute different functions are no contestants."""
    import torch

    losses = [step(model, inputs, precision) for model in (one, other)]
    gradients = [torch.cat([p.grad.flatten() for p in model.parameters()]) for model in (one, other)]
    distance = float((gradients[0] - gradients[1]).norm() / gradients[0].norm())
    tolerance = 1e-3 if precision == "fp32" else 0.1
    if abs(losses[0] - losses[1]) > 0.1 * tolerance * losses[0] or distance > tolerance:
        raise RuntimeError(f"not the same function: losses {losses}, gradients {distance:.1e} apart")


def steps_of(way: str, model: Any, precision: str) -> Callable[[tuple[Any, ...]], float]:
    """A training step of ``model``, that way."""
    from unrolled.models.fast import cuda_graphs

    def one(inputs: tuple[Any, ...]) -> float:
        cuda_graphs.ENABLED = way == "fast"
        return step(model, inputs, precision)

    return one


def timed(device: str, way: str, attention: str, size: str, precision: str) -> dict[str, Any]:
    """Start-up seconds of ``way``, and per kind of batch the median of its time to fast's."""
    models = {name: build(attention, size).to(device) for name in ("fast", way)}
    now = time.perf_counter if device == "cuda" else time.process_time
    for name, model in models.items():
        take(name, model)
    steps = {name: steps_of(name, model, precision) for name, model in models.items()}
    batches = {kind: [on(device, batch(*shape)) for shape in shapes] for kind, shapes in BATCHES.items()}
    first = batches["multi30k"][0]
    start = start_seconds(steps[way], batches["multi30k"])
    check_same(*models.values(), first, precision)
    ratios = {}
    for kind, several in batches.items():
        if way == "whole loop compiled" and kind != "multi30k":
            continue
        if device == "cuda":
            for inputs, run in product(several * 3, steps.values()):
                run(inputs)  # loops are captured before anything is timed
        seconds: dict[str, list[float]] = {name: [] for name in steps}
        for turn in range(TURNS[kind]):
            for inputs in several:
                for name in list(steps)[:: -1 if turn % 2 else 1]:
                    begin = now()
                    steps[name](inputs)
                    seconds[name].append(now() - begin)
        ratios[kind] = statistics.median(a / b for a, b in zip(seconds[way], seconds["fast"], strict=True))
    return {"start": start, "times": ratios}


def on(device: str, inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """A batch on ``device``; lengths stay on the CPU."""
    source, lengths, *target = inputs
    return source.to(device), lengths, *(tensor.to(device) for tensor in target)


def start_seconds(run: Callable[[tuple[Any, ...]], object], several: list[tuple[Any, ...]]) -> float:
    """By how many seconds the first step on every batch takes longer than the second."""
    seconds = []
    for _ in range(2):
        begin = cpu_seconds()
        for inputs in several:
            run(inputs)
        seconds.append(cpu_seconds() - begin)
    return seconds[0] - seconds[1]


def cpu_seconds() -> float:
    """The CPU seconds of this process and of the compilers that it has started."""
    return sum(os.times()[:4])


def held(device: str, way: str, attention: str, size: str, precision: str) -> dict[str, Any]:
    """MiB resident at most, and the start-up seconds with what another process has compiled."""
    import torch

    model = build(attention, size).to(device)
    take(way, model)
    run = steps_of(way, model, precision)
    peaks, start = {}, 0.0
    for kind, shapes in BATCHES.items():  # from small to large
        several = [on(device, batch(*shape)) for shape in shapes]
        if kind == "multi30k":
            start = start_seconds(run, several)
        elif way == "whole loop compiled":
            continue
        else:
            run(several[0])
        if device == "cuda":
            run(several[0])  # captured
            peaks[kind] = torch.cuda.max_memory_reserved() / 2**20
            continue
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        peaks[kind] = int(status.split("VmHWM:")[1].split()[0]) / 1024
    return {"start again": start, "peaks": peaks}


def child(what: list[str]) -> None:
    sys.path.insert(0, str(ROOT / "src"))
    from unrolled.training.process_memory import keep_freed_memory

    keep_freed_memory()
    kind, *key = what
    print(json.dumps({"timed": timed, "held": held}[kind](*key)))


def run_child(kind: str, key: list[str], environment: dict[str, str]) -> dict[str, Any]:
    command = [sys.executable, __file__, "--child", json.dumps([kind, *key])]
    done = subprocess.run(command, check=False, capture_output=True, text=True, env={**os.environ, **environment})
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if "Error" in line]
        return {"failed": errors[-1] if errors else done.stderr}
    return json.loads(done.stdout.splitlines()[-1])


def measured(device: str, key: list[str]) -> dict[str, Any]:
    """One way of one model: times, then memory, in processes with a cache of compiled code of their own."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_COMPILE_THREADS": "1"}
        times = {} if key[0] == "fast" else run_child("timed", [device, *key], environment)
        return times | run_child("held", [device, *key], environment)


def without_compiler(key: list[str]) -> str:
    """What becomes of a compiled way where there is no C++ compiler."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {"TORCHINDUCTOR_CACHE_DIR": cache, "CXX": "/nowhere"}
        return run_child("held", ["cpu", *key], environment).get("failed", "it runs")


def main() -> None:
    chosen = arguments()
    if chosen.child:
        child(json.loads(chosen.child))
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    lines = chosen.results.read_text().splitlines() if chosen.results and chosen.results.exists() else []
    known = {tuple(line["key"]): line["figures"] for line in map(json.loads, lines)}
    head = [f"{kind}: {what}" for kind in BATCHES for what in ("time to fast's", "MiB")]
    print("| attention | size | precision | way | " + " | ".join(head) + " | start, s | start again, s |")
    print("| --- | ---: | --- | --- |" + " ---: |" * (len(head) + 2))
    keys = product(chosen.attention, chosen.size, chosen.precision, chosen.way)
    for attention, size, precision, way in keys:
        key = [way, attention, size, precision]
        if tuple(key) not in known:
            known[tuple(key)] = measured(chosen.device, key)
            if chosen.results:
                with chosen.results.open("a") as file:
                    file.write(json.dumps({"key": key, "figures": known[tuple(key)]}) + "\n")
        print(row(key, known[tuple(key)]), flush=True)
    compiled = next((way for way in chosen.way if way in COMPILED), None)
    if compiled and chosen.device == "cpu":
        key = [compiled, chosen.attention[0], chosen.size[0], chosen.precision[0]]
        print(f"\n{compiled} without a C++ compiler: {without_compiler(key)}")


def row(key: list[str], figures: dict[str, Any]) -> str:
    way, *model = key
    if "failed" in figures:
        return f"| {' | '.join([*model, way])} | {figures['failed']} |"
    cells = []
    for kind in figures["peaks"]:
        ratio = figures["times"][kind] if "times" in figures else 1
        cells += [f"{ratio:.2f}", f"{figures['peaks'][kind]:,.0f}"]
    starts = [f"{figures[what]:.1f}" if what in figures else "" for what in ("start", "start again")]
    return f"| {' | '.join([*model, way, *cells, *starts])} |"


if __name__ == "__main__":
    main()
