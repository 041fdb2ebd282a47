"""When a training is saved, and what ends it. That it resumes bit by bit: tests/commands/test_train_resume.py."""

import random
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from unrolled.errors import UserError
from unrolled.training.callbacks import saving
from unrolled.training.callbacks.saving import SaveProgress


class Trainer(SimpleNamespace):
    """What SaveProgress asks of Lightning's, with 7 batches an epoch and no validation in the middle of one."""

    def __init__(self, **changes):
        usual = {"global_step": 0, "accumulate_grad_batches": 1, "max_steps": -1, "num_training_batches": 7}
        usual |= {"val_check_batch": None, "world_size": 1, "validating": False, "saved": []}
        usual |= {"check_val_every_n_epoch": 1}
        super().__init__(**usual | changes)
        self.strategy = SimpleNamespace(reduce_boolean_decision=lambda decision, all: decision)

    def save_checkpoint(self, path):
        self.saved.append(self.global_step)


def saved_steps(trainer, *, batches=7, **options):
    """The steps at which an epoch of ``batches`` was saved."""
    callback = SaveProgress(**{"path": "last.ckpt", "minutes": None, "steps": None} | options)
    callback.on_train_start(trainer, None)
    try:
        for batch in range(batches):
            callback.on_train_batch_start(trainer, None, None, batch)
            trainer.global_step += (batch + 1) % trainer.accumulate_grad_batches == 0
    finally:
        callback.on_train_end(trainer, None)
    return trainer.saved


@pytest.mark.parametrize(
    ("trainer", "options", "steps"),
    [
        ({}, {}, [6]),  # before the epoch's last batch, which a validation follows
        ({}, {"steps": 1}, [1, 2, 3, 4, 5, 6]),
        ({}, {"steps": 3}, [3, 6]),
        ({"val_check_batch": 3}, {}, [2, 5, 6]),
        ({"max_steps": 5}, {}, [4, 6]),
        ({"max_steps": 1}, {}, [0, 6]),
        ({"val_check_batch": 1}, {}, [0, 1, 2, 3, 4, 5, 6]),
        ({"accumulate_grad_batches": 2}, {"steps": 1}, [1, 2, 3]),
        ({"accumulate_grad_batches": 2}, {}, [3]),  # not at batch 6, as gradients are in no checkpoint
    ],
)
def test_it_is_saved_as_often_as_asked_and_before_a_validation(trainer, options, steps):
    assert saved_steps(Trainer(**trainer), **options) == steps


def test_it_is_saved_when_minutes_have_passed(monkeypatch):
    trainer = Trainer(num_training_batches=100)
    monkeypatch.setattr(saving.time, "monotonic", lambda: 40.0 * trainer.global_step)
    assert saved_steps(trainer, minutes=1.0, batches=6) == [2, 4]


@pytest.mark.parametrize("option", [{"minutes": 0}, {"steps": -1}])
def test_never_is_null(option):
    with pytest.raises(UserError, match="null"):
        SaveProgress(**{"path": "x", "minutes": None, "steps": None} | option)


@pytest.mark.parametrize(
    ("sign", "ends"),
    [(signal.SIGINT, KeyboardInterrupt), (signal.SIGTERM, SystemExit), (signal.SIGHUP, SystemExit)],
    ids=["SIGINT", "SIGTERM", "SIGHUP"],
)
def test_a_signal_waits_for_the_batch_and_saves(sign, ends):
    trainer = Trainer(num_training_batches=100, global_step=4)
    callback = SaveProgress(path="last.ckpt", minutes=None, steps=None)
    old = signal.signal(sign, lambda *_: None)  # somebody listens
    try:
        callback.on_train_start(trainer, None)
        signal.raise_signal(sign)
        assert trainer.saved == []
        trainer.global_step = 5
        with pytest.raises(ends):
            callback.on_train_batch_start(trainer, None, None, 5)
        assert trainer.saved == [5]
        callback.on_exception(trainer, None, KeyboardInterrupt())
    finally:
        signal.signal(sign, old)


def test_in_a_validation_a_signal_ends_at_once():
    trainer = Trainer()
    callback = SaveProgress(path="last.ckpt", minutes=None, steps=None)
    old = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        callback.on_train_start(trainer, None)
        trainer.validating = True
        assert saving.ending_signal([trainer, callback]) is None
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert saving.ending_signal([trainer, callback]) == signal.SIGINT
        callback.on_train_end(trainer, None)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, old)


def test_random_numbers_go_on_where_they_were():
    def drawn():
        return torch.rand(3).tolist(), np.random.rand(3).tolist(), [random.random() for _ in range(3)]  # noqa: NPY002

    state = saving._random_state()
    expected = drawn()
    assert drawn() != expected
    saving._restore_random_state(state)
    assert drawn() == expected


def test_the_random_states_of_python_numpy_and_torch_come_back(tmp_path):
    def draw():
        return random.random(), random.gauss(0, 1), np.random.random(), np.random.randn(), torch.rand(1).item()  # noqa: NPY002

    random.gauss(0, 1)  # Python and NumPy draw normal numbers in pairs and keep the second
    np.random.randn()  # noqa: NPY002
    torch.save(saving._random_state(), tmp_path / "state")
    drawn = draw()
    assert draw() != drawn
    saving._restore_random_state(torch.load(tmp_path / "state", weights_only=True))
    assert draw() == drawn


@pytest.mark.parametrize("rank", [0, 1, 2])
def test_every_rank_takes_up_its_own_random_state_and_count_of_words(rank):
    states, drawn = [], []
    for seed in range(3):
        random.seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        states.append(saving._random_state())
        drawn.append((random.random(), np.random.random(), torch.rand(1).item()))  # noqa: NPY002
    callback = SaveProgress(path="last.ckpt", minutes=None, steps=None)
    saved = {"callbacks": {}, "random": states, "target_tokens": [30, 31, 32], "curves": None}
    module = SimpleNamespace(target_tokens=0)
    callback.on_load_checkpoint(None, module, saved)
    trainer = Trainer(global_rank=rank, world_size=3, is_global_zero=rank == 0, loggers=[])
    callback.on_train_start(trainer, module)
    try:
        assert (random.random(), np.random.random(), torch.rand(1).item()) == drawn[rank]  # noqa: NPY002
        assert module.target_tokens == 30 + rank
    finally:
        callback.on_train_end(trainer, module)


def test_a_process_more_than_were_saved_keeps_its_own_random_state():
    callback = SaveProgress(path="last.ckpt", minutes=None, steps=None)
    saved = {"callbacks": {}, "random": [saving._random_state()], "target_tokens": [30], "curves": None}
    callback.on_load_checkpoint(None, None, saved)
    torch.manual_seed(4)
    own = torch.rand(1).item()
    torch.manual_seed(4)
    module = SimpleNamespace(target_tokens=0)
    trainer = Trainer(global_rank=1, world_size=2, is_global_zero=False, loggers=[])
    callback.on_train_start(trainer, module)
    try:
        assert (torch.rand(1).item(), module.target_tokens) == (own, 30 // 2)
    finally:
        callback.on_train_end(trainer, module)


def test_a_validation_that_is_counted_across_epochs_is_preceded_by_a_checkpoint():
    trainer = Trainer(val_check_batch=4, check_val_every_n_epoch=None, global_step=7, num_training_batches=99)
    done = SimpleNamespace(total=SimpleNamespace(completed=7))
    trainer.fit_loop = SimpleNamespace(epoch_loop=SimpleNamespace(batch_progress=done))
    callback = SaveProgress(path="last.ckpt", minutes=None, steps=None)
    due = []
    for batch in range(7):  # the second epoch: batches 7 to 13, with validations after 8 and 12
        done.total.completed = 7 + batch
        due.append(callback._is_time(trainer, batch))
    assert due == [True, False, False, False, True, False, False]
