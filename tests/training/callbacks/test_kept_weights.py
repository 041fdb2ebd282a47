"""Which weights are on the disk after each validation."""

from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.trainer.states import TrainerFn
from safetensors.torch import load_file

from unrolled.errors import UserError
from unrolled.runs.weights import choose, read_kept
from unrolled.training.callbacks.kept_weights import KeepWeights


def validate(callback, step, value, **changes):
    model = torch.nn.Linear(1, 1, bias=False)
    model.weight.data.fill_(step)
    trainer = {
        "callback_metrics": {"val/bleu": torch.tensor(value)},
        "state": SimpleNamespace(fn=TrainerFn.FITTING),
        "sanity_checking": False,
        "is_global_zero": True,
        "global_step": step,
    }
    callback.on_validation_end(SimpleNamespace(**trainer | changes), SimpleNamespace(model=model))


def kept(folder):
    files = {int(path.stem.removeprefix("step-")): path for path in folder.glob("step-*.safetensors")}
    assert {step: load_file(path)["weight"].item() for step, path in files.items()} == {step: step for step in files}
    assert sorted(read_kept(folder)["steps"]) == sorted(files)
    return sorted(files)


@pytest.mark.parametrize(("mode", "best"), [("max", {20, 40}), ("min", {10, 50})])
def test_the_last_and_the_best_are_kept_and_no_others(mode, best, tmp_path):
    callback = KeepWeights(folder=str(tmp_path), monitor="val/bleu", mode=mode, last=1, best=2)
    for step, value in zip(range(10, 70, 10), (1.0, 9.0, 4.0, 8.0, 2.0, 5.0), strict=True):
        validate(callback, step, value)
    assert set(kept(tmp_path)) == best | {60}


@pytest.mark.parametrize(
    ("which", "number", "chosen"),
    [("best", 2, [4, 3]), ("last", 3, [6, 5, 4]), ("best", 4, 2), ("last", 5, 4), ("best", 3, 2)],
)
def test_an_average_is_of_the_best_or_last_of_all_validations_and_not_of_those_kept(which, number, chosen, tmp_path):
    """Of six, the second best and the second last are 3 and 5: those kept are 3, 4, 5 and 6."""
    callback = KeepWeights(folder=str(tmp_path), monitor="val/bleu", mode="max", last=2, best=2)
    for step, value in zip(range(1, 7), (3.0, 4.0, 8.0, 9.0, 1.0, 2.0), strict=True):
        validate(callback, step, value)
    assert kept(tmp_path) == [3, 4, 5, 6]
    if isinstance(chosen, int):
        with pytest.raises(UserError, match=f"holds the weights of the {which} {chosen} validations, not of {number}"):
            choose(tmp_path, which, number)
    else:
        assert choose(tmp_path, which, number) == chosen


def test_a_resumed_training_knows_what_was_kept(tmp_path):
    for step, value in ((10, 3.0), (20, 1.0), (30, 2.0)):
        validate(KeepWeights(folder=str(tmp_path), monitor="val/bleu", mode="max", last=1, best=1), step, value)
    assert kept(tmp_path) == [10, 30]


def test_weights_that_a_killed_process_had_yet_to_delete_are_deleted(tmp_path):
    callback = KeepWeights(folder=str(tmp_path), monitor="val/bleu", mode="max", last=1, best=1)
    validate(callback, 10, 3.0)
    (tmp_path / "step-5.safetensors").write_bytes(b"")
    validate(callback, 20, 1.0)
    assert kept(tmp_path) == [10, 20]


@pytest.mark.parametrize(
    "changes",
    [
        {"sanity_checking": True},
        {"state": SimpleNamespace(fn=TrainerFn.VALIDATING)},
        {"is_global_zero": False},
        {"callback_metrics": {}},
    ],
)
def test_only_the_first_process_keeps_and_only_in_training(changes, tmp_path):
    callback = KeepWeights(folder=str(tmp_path), monitor="val/bleu", mode="max", last=1, best=1)
    validate(callback, 10, 1.0, **changes)
    assert list(tmp_path.iterdir()) == []


def test_a_negative_number_is_refused_by_name(tmp_path):
    with pytest.raises(UserError, match=r"callbacks\.kept\.best"):
        KeepWeights(folder=str(tmp_path), monitor="val/bleu", mode="max", last=1, best=-1)
