"""Training by counting: which words are counted, when, and what is refused."""

import logging
import math
from types import SimpleNamespace

import pytest
import torch

from unrolled.data.batch import make_batch
from unrolled.data.continuous import StreamBatch
from unrolled.errors import UserError
from unrolled.ngram.additive import MaximumLikelihood
from unrolled.ngram.model import NgramLanguageModel
from unrolled.text.tokens import BOS, EOS, PAD
from unrolled.training.counting import Counting, NothingToOptimise, sentences_of_rows

A, B, C = 4, 5, 6
V = 7


def counting(order=2):
    model = NgramLanguageModel(vocabulary=V, order=order, estimator=MaximumLikelihood())
    module = Counting(model=model, monitor="val/loss", mode="min")
    module.optimizers = lambda: SimpleNamespace(step=lambda: None)
    return module


def epoch(module, *batches):
    module.on_train_epoch_start()
    for number, sentences in enumerate(batches):
        module.training_step(make_batch(None, sentences, range(len(sentences))), number)
    module.on_train_epoch_end()


def probability(module, *words):
    """p of a sentence with its end."""
    batch = make_batch(None, [list(words)], [0])
    return math.exp(-float(module.loss(batch).negative_log_likelihood))


def test_a_bigram_is_as_likely_as_it_was_frequent():
    module = counting()
    epoch(module, [[A, B], [A, C]], [[A, B]])  # a b </s>, a c </s>, a b </s>
    assert probability(module, A, B) == pytest.approx(2 / 3)
    assert probability(module, A, C) == pytest.approx(1 / 3)
    assert module.target_tokens == 9


def test_later_epochs_leave_the_estimates_of_the_first():
    module = counting()
    module._trainer = SimpleNamespace(current_epoch=0, num_training_batches=1, global_rank=0)
    epoch(module, [[A, B], [A, C]])
    expected = module.model.log_probs.clone()
    module._trainer.current_epoch = 1
    epoch(module, [[A, A]], [[B]])
    assert torch.equal(module.model.log_probs, expected)
    assert module.target_tokens == 6 + 5  # which speed is measured by
    checkpoint = {}
    module.on_save_checkpoint(checkpoint)
    assert checkpoint["counted"] == []
    again = counting()
    again._trainer = module._trainer
    again.on_load_checkpoint(checkpoint)
    again.model.load_state_dict(module.model.state_dict())
    epoch(again, [[B]])
    assert torch.equal(again.model.log_probs, expected)


def test_a_validation_within_an_epoch_has_the_counts_so_far(monkeypatch):
    module = counting()
    estimates = []
    monkeypatch.setattr(module.model, "fit", lambda tokens: estimates.append(tokens.tolist()))
    module.on_train_epoch_start()
    module.on_validation_epoch_start()  # nothing is counted yet
    module.training_step(make_batch(None, [[A]], [0]), 0)
    module.on_validation_epoch_start()
    module.on_validation_epoch_start()
    module.training_step(make_batch(None, [[B]], [1]), 1)
    module.on_train_epoch_end()
    assert estimates == [[BOS, A, EOS], [BOS, A, EOS, BOS, B, EOS]]


def test_rows_of_a_continuous_text_become_its_sentences():
    # two rows, each continued in the second batch; the text is a b </s> c </s> a </s>
    first, second = torch.tensor([[A, B, EOS], [EOS, A, EOS]]), torch.tensor([[C], [PAD]])
    expected = [BOS, A, B, EOS, BOS, C, EOS, BOS, A, EOS]
    assert sentences_of_rows([first, second], whole=True).tolist() == expected


def test_of_a_part_of_a_continuous_text_only_whole_sentences_count():
    # what follows b in the first row, and what precedes c in the second, has not been read
    part = [torch.tensor([[A, EOS, B], [C, EOS, B]]), torch.tensor([[C], [EOS]])]
    assert sentences_of_rows(part, whole=False).tolist() == [BOS, A, EOS, BOS, B, EOS]
    with pytest.raises(UserError, match="in the part of the text that has been read none ends"):
        sentences_of_rows([torch.tensor([[A, B], [C, EOS]])], whole=False)


def test_of_a_continuous_text_rows_are_counted_one_after_the_other():
    module = counting()
    module._trainer = SimpleNamespace(train_dataloader=[0, 1], current_epoch=0)
    module.on_train_epoch_start()
    for number, (read, out) in enumerate([([[BOS, A]], [[A, EOS]]), ([[BOS, A]], [[A, B]])]):
        module.training_step(StreamBatch(torch.tensor(read), torch.tensor(out), first=number == 0), number)
    module.on_train_epoch_end()
    assert probability(module, A) == pytest.approx(1 / 2)  # p(a | <s>) = 1, p(</s> | a) = 1/2


def test_an_impossible_word_is_reported_with_what_would_help(caplog):
    module = counting()
    epoch(module, [[A, B]])
    module._start_evaluation()
    module.log = lambda *_, **__: None
    module._trainer = SimpleNamespace(world_size=1)
    module._evaluate_likelihood(make_batch(None, [[A, C], [A, B]], [0, 1]))
    with caplog.at_level(logging.WARNING):
        module._log_likelihood("val")
    (said,) = caplog.messages
    assert said.startswith("val: 1 words have probability 0")  # after the unseen a c the word c has no successor
    assert "kneser_ney" in said


@pytest.mark.parametrize(
    ("trainer", "words"),
    [
        ({"world_size": 2, "precision": "32-true"}, "one process"),
        ({"world_size": 1, "precision": "16-mixed"}, "round"),
    ],
)
def test_several_processes_and_half_precision_are_refused(trainer, words):
    module = counting()
    module._trainer = SimpleNamespace(**trainer)
    with pytest.raises(UserError, match=words):
        module.on_fit_start()


def test_a_step_of_its_optimiser_changes_nothing():
    weight = torch.nn.Parameter(torch.ones(3))
    weight.grad = torch.ones(3)
    NothingToOptimise([weight]).step()
    assert torch.equal(weight.data, torch.ones(3))
