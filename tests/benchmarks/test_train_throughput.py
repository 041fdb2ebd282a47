"""The benchmark counts what the equations need, its contestants compute one function, and it runs from end to end."""

import copy
import json
import os
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import measure
import pytest
import torch
import train_throughput
from contestants import Contestant, plain
from operations import training_operations
from peer import JoeyNMT, NmtPyTorch, peers
from support.forked import Process, connect
from support.small_models import COMBINATIONS, IDS, build, fed
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode, flop_registry

from unrolled.data.batch import make_batch
from unrolled.models.fast.products import packs

ROOT = Path(__file__).resolve().parents[2]


def batch_of(source_lengths, target_lengths):
    """Random words of these lengths, without the special tokens."""
    generator = torch.Generator().manual_seed(0)
    sides = (source_lengths, 17), (target_lengths, 19)
    source, target = (
        [torch.randint(4, words, (length,), generator=generator).tolist() for length in lengths]
        for lengths, words in sides
    )
    return make_batch(source, target, range(len(source)))


class OperationCounter(TorchDispatchMode):
    """What torch's FlopCounterMode counts in all, without its account by module."""

    def __init__(self):
        super().__init__()
        self.total = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if operations := flop_registry.get(function.overloadpacket):
            self.total += operations(*args, **(kwargs or {}), out_val=result)
        return result


def test_the_counter_counts_what_that_of_torch_does():
    model, batch = build("bahdanau", "coverage", decoder=fed()).float(), batch_of([3, 7], [4, 2])
    contestant = Contestant("plain", model, precision="fp32", device="cpu")
    with FlopCounterMode(display=False) as expected, OperationCounter() as counter:
        plain(contestant.model, batch, contestant.watch).backward()
    assert counter.total == expected.get_total_flops() > 0


@pytest.mark.parametrize(("model", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_operations_are_those_that_torch_counts_without_padding(model, attention, cell):
    check_operations(build(model, attention, cell))


def test_operations_of_input_feeding_count():
    check_operations(build("bahdanau", "bahdanau", decoder=fed()))


def check_operations(model):
    batch = batch_of([22] * 3, [28] * 3)
    contestant = Contestant("plain", model.float(), precision="fp32", device="cpu")
    with OperationCounter() as counter:
        plain(contestant.model, batch, contestant.watch).backward()
    try:
        counted = sum(training_operations(contestant.model, batch).values())
    except TypeError as problem:
        pytest.skip(f"benchmarks/operations.py: {problem}")
    assert counted == pytest.approx(counter.total, rel=0.04)


def test_padding_needs_no_operations():
    model = build()
    alone = [training_operations(model, batch_of([s], [t])) for s, t in ((3, 11), (7, 2))]
    together = training_operations(model, batch_of([3, 7], [11, 2]))
    assert together == {part: sum(counts[part] for counts in alone) for part in together}


@pytest.mark.parametrize(("model", "attention", "cell"), COMBINATIONS, ids=IDS)
def test_contestants_compute_one_function(model, attention, cell):
    batch = batch_of([3, 7, 5], [11, 2, 4])
    reference = build(model, attention, cell).float()
    losses = []
    for name in ("ours", "plain", "plain_keys_every_step"):
        contestant = Contestant(name, copy.deepcopy(reference), precision="fp32", device="cpu")
        losses.append([contestant.step(batch) for _ in range(2)])  # the second one after an update
        assert set(contestant.watch.seconds) == {"encoder", "decoder", "readout", "optimiser"}
        assert min(contestant.watch.seconds.values()) > 0
    for other in losses[1:]:
        assert other == pytest.approx(losses[0], rel=1e-4)


@pytest.mark.parametrize("peer", [JoeyNMT, NmtPyTorch])
@pytest.mark.parametrize(
    ("worker", "line"),
    [
        ("#!/bin/sh\necho 'ModuleNotFoundError: No module named joeynmt' >&2; exit 1", "No module named joeynmt"),
        ("#!/bin/sh\nread question; echo nonsense", "nonsense"),
        ("#!/bin/sh\nread question; exit 3", "ended without a word"),
    ],
)
def test_a_peer_that_fails_is_one_line(tmp_path, peer, worker, line):
    with pytest.raises(SystemExit) as ended:
        peer(python(tmp_path, worker), build(), precision="fp32")
    assert str(ended.value).startswith(f"--{peer.toolkit} {tmp_path}/python: ")
    assert line in str(ended.value)
    assert "\n" not in str(ended.value)
    for file in re.findall(r"benchmarks/\S+txt", str(ended.value)):
        assert (ROOT / file).is_file()


def test_a_peer_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(SystemExit, match=r"--joeynmt .*/none: No such file"):
        JoeyNMT(str(tmp_path / "none"), build(), precision="fp32")


def test_peers_are_those_whose_model_is_like_ours(tmp_path):
    answers = python(tmp_path, '#!/bin/sh\nwhile read question; do echo \'{"seconds": 0.5, "peak": 9}\'; done')
    names = {}
    for model, attention in (("cgru", "bahdanau"), ("rnnsearch", "bahdanau"), ("cgru", "gru_att")):
        others = peers(build(), model, attention, "fp32", joeynmt=answers, nmtpytorch=answers)
        names[model, attention] = [peer.name for peer in others]
        for peer in others:
            assert (peer.step(batch_of([3, 7], [11, 2])), peer.peak_mib) == (0.5, 9)
            peer.close()
    assert names["cgru", "bahdanau"] == ["joeynmt", "nmtpytorch", "nmtpytorch_keys_once"]
    assert names["rnnsearch", "bahdanau"] == ["joeynmt"]
    assert names["cgru", "gru_att"] == []


def python(folder, script):
    """A script in the place of an environment's Python."""
    path = folder / "python"
    path.write_text(script)
    path.chmod(0o755)
    return str(path)


def run_quickly(folder, arguments):
    """The benchmark, with smaller products; as a program of its own it measures the memory of our contestant alone."""
    said, start = folder / "said", subprocess.run
    measure.product_peak = partial(measure.product_peak, size=256)

    def run(command, **options):
        if command[-1] == "ours":
            return start(command, **options)
        assert command[:2] == [sys.executable, train_throughput.__file__]
        process = Process(lambda: called(folder / "child", command[2:]))
        assert process.wait() == 0
        return subprocess.CompletedProcess(command, 0, (folder / "child").read_text(encoding="utf-8"))

    def called(path, words):
        connect(None, *[os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)] * 2)
        sys.argv = [train_throughput.__file__, *words]
        train_throughput.main()
        sys.stdout.flush()
        return 0

    train_throughput.subprocess = SimpleNamespace(run=run, PIPE=subprocess.PIPE)
    return called(said, arguments)


def test_products_have_their_precision_in_every_step_also_in_those_that_capture_loops(monkeypatch):
    during, step = [], Contestant.step
    monkeypatch.setattr(
        Contestant, "step", lambda *given: [during.append(torch.get_float32_matmul_precision()), step(*given)][1]
    )
    monkeypatch.setattr(measure, "product_peak", lambda prepared: 1.0)
    monkeypatch.setattr(measure, "gru_rate", lambda prepared: 1.0)
    batch, before = batch_of([3, 7], [4, 2]), torch.backends.cudnn.allow_tf32
    try:
        for precision, expected in (("tf32", "high"), ("fp32", "highest")):
            prepared = measure.Prepared(build("cgru", "bahdanau").float(), [batch], 0.0, precision, "cpu")
            measure.measure(prepared, ["ours", "plain"])
            assert set(during) == {expected}
            during.clear()
    finally:
        torch.set_float32_matmul_precision("highest")
        torch.backends.cudnn.allow_tf32 = before


@pytest.mark.slow
def test_the_benchmark_runs_and_reports(tmp_path):
    output = tmp_path / "figures.json"
    precision = "bf16" if packs(torch.bfloat16) else "fp32"  # emulated, it would take minutes
    options = ["--size", "tiny", "--batches", "2"]
    options += ["--attention", "gru_att", "--precision", precision, "--threads", "1", "--output", str(output)]
    options += ["--cache", str(tmp_path / "cache"), "--set", "data.grammar.pairs=200"]
    options += ["--contestants", "ours", "plain", "--operators"]
    status = Process(lambda: run_quickly(tmp_path, options)).wait()
    stdout = (tmp_path / "said").read_text(encoding="utf-8")
    assert status == 0, stdout[-3000:]
    assert stdout.count(f"| cgru | gru_att | tiny | {precision} |") == 2
    shares = [float(share) for share in re.findall(r"^\| `\w+::.* ([\d.]+)% \|$", stdout, re.MULTILINE)]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) > 5
    assert sum(shares) <= 100
    assert re.search(r"^Matrix products: \d+% of the time, \d+ GFLOP/s\.$", stdout, re.MULTILINE)
    (experiment,) = json.loads(output.read_text())["experiments"]
    for figures in experiment["contestants"].values():
        assert len(figures["seconds"]) == 2
        assert 0 < figures["share_of_peak"] < 1
        assert figures["memory"]["peak"] > figures["memory"]["training"] > 0
