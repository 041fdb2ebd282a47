"""A trial that a search ends: what is reported, and when training ends."""

from types import SimpleNamespace

import pytest
import torch
from lightning.pytorch.trainer.states import TrainerFn

from unrolled.training.callbacks.pruning import EndPoorTrial, Pruned


def trainer(merit=0.0, first=True, answer=None, **changes):
    """``answer``: what the first process says to the others."""
    states = {"sanity_checking": False, "state": SimpleNamespace(fn=TrainerFn.FITTING), "is_global_zero": first}
    strategy = SimpleNamespace(broadcast=lambda ends: ends if answer is None else answer)
    return SimpleNamespace(**states | changes, callback_metrics={"merit": torch.tensor(merit)}, strategy=strategy)


@pytest.mark.parametrize(("mode", "values"), [("max", [1.5, 2.5]), ("min", [-1.5, -2.5])])
def test_every_validation_is_reported_in_the_direction_of_the_search(mode, values):
    reported = []
    callback = EndPoorTrial(report=lambda *report: reported.append(report), mode=mode)
    for merit in (1.5, 2.5):
        callback.on_validation_end(trainer(merit), None)
    assert reported == list(enumerate(values, start=1))


def test_training_ends_when_the_search_says_so():
    callback = EndPoorTrial(report=lambda number, _: number == 2, mode="max")
    callback.on_validation_end(trainer(), None)
    with pytest.raises(Pruned, match="after 2 validations"):
        callback.on_validation_end(trainer(), None)


def test_all_processes_end_with_the_first_and_only_that_asks():
    def report(*_):
        raise AssertionError("only the first process asks")

    with pytest.raises(Pruned):
        EndPoorTrial(report=report, mode="max").on_validation_end(trainer(first=False, answer=True), None)


@pytest.mark.parametrize("changes", [{"sanity_checking": True}, {"state": SimpleNamespace(fn=TrainerFn.VALIDATING)}])
def test_only_validations_of_a_training_count(changes):
    callback = EndPoorTrial(report=lambda *_: True, mode="max")
    callback.on_validation_end(trainer(**changes), None)
    assert callback.state_dict() == {"validations": 0}


def test_a_resumed_trial_continues_to_count():
    reported = []
    callback = EndPoorTrial(report=lambda number, _: reported.append(number), mode="max")
    callback.load_state_dict({"validations": 3})
    callback.on_validation_end(trainer(), None)
    assert reported == [4]
