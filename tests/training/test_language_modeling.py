"""Training on continuous text: the state is carried on, its gradient is not, and an interruption changes nothing."""

from types import SimpleNamespace

import lightning
import numpy as np
import pytest
import torch
from support.small_models import CELLS, TARGET_WORDS, build_lm

from unrolled.data.continuous import StreamLoader
from unrolled.data.store import TokenStore
from unrolled.models.state import map_state
from unrolled.text.tokens import BOS, EOS
from unrolled.training.language_modeling import LanguageModeling
from unrolled.training.schedule import constant


def store(words=150, seed=0):
    random = np.random.default_rng(seed)
    lengths = random.integers(0, 9, words // 4)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return TokenStore(random.integers(4, TARGET_WORDS, offsets[-1]).astype(np.uint16), offsets)


def text(of):
    """All words of a store, and the word that is read before each."""
    out = [int(word) for line in range(len(of)) for word in (*of[line], EOS)]
    return torch.tensor([BOS, *(BOS if word == EOS else word for word in out[:-1])]), torch.tensor(out)


def module(cell="lstm"):
    return LanguageModeling(
        model=build_lm(cell).float(),
        optimizer=lambda parameters: torch.optim.SGD(parameters, lr=0.5),
        schedule=constant,
        label_smoothing=0.0,
        monitor="val/loss",
        mode="min",
    )


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("steps", [1, 7, 500])
@torch.no_grad()
def test_a_text_is_as_likely_whatever_it_is_cut_into(cell, steps):
    of, task = store(), module(cell).eval()
    parts = [task.loss(batch) for batch in StreamLoader(of, rows=1, steps=steps)]
    read, out = text(of)
    hidden, _ = task.model(read.unsqueeze(0), task.model.zero_state(1))
    expected = torch.log_softmax(task.model.output(hidden[0]), dim=-1)[torch.arange(len(out)), out].sum()
    assert sum(float(part.negative_log_likelihood) for part in parts) == pytest.approx(-float(expected), rel=1e-5)
    assert sum(part.tokens for part in parts) == len(out)


def test_the_state_goes_on_and_its_gradient_does_not():
    of, task = store(), module()
    first, second, *_ = StreamLoader(of, rows=3, steps=5)
    task.loss(first)
    carried = task._carried["training"]
    assert all(not part.requires_grad for layer in carried for part in layer)
    task.loss(second).objective.backward()
    found = [parameter.grad.clone() for parameter in task.parameters()]
    task.zero_grad()
    _, state = task.model(first.target_in, task.model.zero_state(3))
    state = tuple(tuple(part.detach() for part in layer) for layer in state)
    hidden, _ = task.model(second.target_in, state)
    counted = second.target_out_valid
    torch.nn.functional.cross_entropy(
        task.model.output(hidden[counted]), second.target_out[counted], reduction="sum"
    ).backward()
    for one, parameter in zip(found, task.parameters(), strict=True):
        torch.testing.assert_close(one, parameter.grad, rtol=1e-4, atol=1e-5)


def test_a_rank_that_has_nothing_but_padding_adds_nothing(monkeypatch):
    """Of two rows, each a rank's own, the second may end first: before the last batch."""
    of = TokenStore(np.arange(4, 10, dtype=np.uint16), np.array([0, 6]))  # seven words, with the end of the line
    first, second = (list(StreamLoader(of, rows=2, steps=3, rank=rank, world_size=2)) for rank in (0, 1))
    task = module()
    monkeypatch.setattr(task, "log", lambda *_, **__: None)
    assert [int(batch.target_out_valid.sum()) for batch in (*first, *second)] == [3, 1, 3, 0]
    assert float(task.training_step(second[0], 0).detach()) > 0
    loss = task.training_step(second[1], 1)
    loss.backward()
    assert float(loss.detach()) == 0
    assert all(bool((parameter.grad == 0).all()) for parameter in task.parameters())


def test_evaluation_between_two_steps_does_not_disturb_training():
    of, task = store(), module()
    batches = list(StreamLoader(of, rows=3, steps=5))
    task.loss(batches[0])
    expected = task.loss(batches[1]).negative_log_likelihood.item()
    task.loss(batches[0])
    with torch.no_grad():
        for batch in StreamLoader(of, rows=1, steps=50):
            task.eval().loss(batch)
    assert task.train().loss(batches[1]).negative_log_likelihood.item() == expected


class StopAfter(lightning.Callback):
    def __init__(self, steps):
        self.steps = steps

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
        if trainer.global_step == self.steps:
            trainer.save_checkpoint("middle.ckpt")
            trainer.should_stop = True


@pytest.mark.filterwarnings("ignore:The '.*_dataloader' does not have many workers")
@pytest.mark.filterwarnings("ignore:You defined a `validation_step`")
@pytest.mark.parametrize("stop_after", [3, 17])
def test_an_interrupted_training_goes_on_as_if_it_had_not_stopped(tmp_path, monkeypatch, stop_after):
    monkeypatch.chdir(tmp_path)

    def fit(task, *callbacks, **options):
        trainer = lightning.Trainer(
            accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
            enable_model_summary=False, max_epochs=2, callbacks=list(callbacks),
        )  # fmt: skip
        trainer.fit(task, StreamLoader(store(), rows=3, steps=5), **options)
        return task

    assert 3 < len(StreamLoader(store(), rows=3, steps=5)) < 17
    whole = fit(module())
    fit(module(), StopAfter(stop_after))
    resumed = fit(module(), ckpt_path="middle.ckpt", weights_only=True)
    for name, weight in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], weight, rtol=0, atol=0, msg=name)


def test_every_rank_gets_its_own_state_back():
    task = module()
    states = [task.model.zero_state(2), tuple((h + 1, c) for h, c in task.model.zero_state(2))]
    task._trainer = SimpleNamespace(global_rank=1, world_size=2)
    task.on_load_checkpoint({"carried": states})
    torch.testing.assert_close(task._carried["training"], states[1])


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (2, 3)])
def test_other_processes_than_before_divide_the_rows_of_a_continuous_text_anew(before, after):
    task = module()
    whole = tuple((h + torch.randn_like(h), c + torch.randn_like(c)) for h, c in task.model.zero_state(6))
    states = [map_state(lambda t, rank=rank: t.chunk(before)[rank], whole) for rank in range(before)]
    for rank in range(after):
        task._trainer = SimpleNamespace(global_rank=rank, world_size=after)
        task.on_load_checkpoint({"carried": states})
        torch.testing.assert_close(
            task._carried["training"], map_state(lambda t, rank=rank: t.chunk(after)[rank], whole), rtol=0, atol=0
        )
