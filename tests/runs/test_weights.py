"""Which weights are kept, and what their average is."""

import json
import math
import os
import resource
import signal
from types import SimpleNamespace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import nn

from unrolled.errors import UserError
from unrolled.files import clean
from unrolled.runs.weights import average, choose, ranked, read_kept, read_weights, save_tensors
from unrolled.training.callbacks.kept_weights import KeepWeights


def validations(folder, values, mode="max", **numbers):
    """A training with one weight, the step's number, at every validation."""
    keep = KeepWeights(folder=str(folder), monitor="val/x", mode=mode, **numbers)
    model = nn.Linear(1, 1, bias=False)
    for step, value in enumerate(values, start=1):
        nn.init.constant_(model.weight, step)
        state = {
            "is_global_zero": True,
            "sanity_checking": False,
            "state": SimpleNamespace(fn="fit"),
            "global_step": step,
        }
        metrics = {"val/x": torch.tensor(value)}
        keep.on_validation_end(SimpleNamespace(**state, callback_metrics=metrics), SimpleNamespace(model=model))


@settings(max_examples=25)
@given(values=st.lists(st.integers(0, 4), min_size=1, max_size=8), last=st.integers(0, 3), best=st.integers(0, 3))
def test_the_last_and_the_best_are_kept_and_no_other(values, last, best, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "kept"
    validations(folder, [float(value) for value in values], last=last, best=best)
    steps = range(1, len(values) + 1)
    expected = {*steps[len(steps) - min(last, len(steps)) :]}
    expected |= {*sorted(steps, key=lambda step: (-values[step - 1], -step))[:best]}
    assert {int(path.stem[5:]) for path in folder.glob("*.safetensors")} == expected
    assert read_kept(folder)["steps"].keys() == expected
    for which, number in (("last", min(last, len(steps))), ("best", min(best, len(steps)))):
        if number:
            chosen = choose(folder, which, number)
            mean = average([folder / f"step-{step}.safetensors" for step in chosen])["weight"]
            assert float(mean) == pytest.approx(sum(chosen) / number)


def test_best_means_lowest_for_a_loss_and_what_is_no_number_is_worst():
    values = {1: 3.0, 2: math.nan, 3: 1.0, 4: 3.0}
    assert ranked(values, "min") == [3, 4, 1, 2]
    assert ranked(values, "max") == [4, 1, 3, 2]


def test_the_mean_is_exact_and_keeps_the_dtype(tmp_path):
    values = [torch.tensor([1.0, 2.0**30]), torch.tensor([1.0, 1.0]), torch.tensor([1.0 + 2**-22, -(2.0**30)])]
    for number, value in enumerate(values):
        save_file({"w": value, "b": torch.ones(1, dtype=torch.bfloat16)}, tmp_path / f"{number}.safetensors")
    mean = average([tmp_path / f"{number}.safetensors" for number in range(3)])
    assert torch.equal(mean["w"], (torch.stack(values).double().mean(dim=0)).float())
    assert mean["b"].dtype == torch.bfloat16


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read_is_not_called_missing(tmp_path):
    save_tensors({"a": torch.zeros(1)}, tmp_path / "w.safetensors")
    (tmp_path / "w.safetensors").chmod(0)
    with pytest.raises(UserError, match=r"w\.safetensors: cannot be read \(Permission denied\)"):
        read_weights(tmp_path / "w.safetensors")


def test_too_few_are_refused_with_their_number(tmp_path):
    validations(tmp_path / "kept", [1.0, 2.0], last=1, best=2)
    with pytest.raises(UserError, match=r"2 validations, not of 3.*callbacks\.kept\.best=3"):
        choose(tmp_path / "kept", "best", 3)
    with pytest.raises(UserError, match="no weights were kept"):
        choose(tmp_path / "nothing", "last", 1)
    assert json.loads((tmp_path / "kept" / "kept.json").read_text())["steps"] == {"1": 1.0, "2": 2.0}
    with pytest.raises(UserError, match="last=-1"):
        KeepWeights(folder="x", monitor="y", mode="min", last=-1, best=0)


def test_a_killed_writer_leaves_nothing_that_is_not_cleaned(tmp_path):
    process = os.fork()
    if process == 0:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))  # the rest of the file kills it
        save_tensors({"w": torch.ones(10_000)}, tmp_path / "weights.safetensors")
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == -signal.SIGXFSZ
    assert len(os.listdir(tmp_path)) == 1
    clean(tmp_path)
    assert os.listdir(tmp_path) == []
