"""What language models share: log-probabilities of given words at once, and dropout of their own."""

import pytest
import torch
from support.small_models import CELLS, TARGET_WORDS, build_lm

from unrolled.data.batch import make_batch
from unrolled.models import language_model
from unrolled.models.dropout import VariationalDropout, WordDropout
from unrolled.models.feedforward_lm import feedforward_lm

SENTENCES = [[4, 5, 6, 3, 4], [], [6], [5, 5, 4]]


def models():
    torch.manual_seed(3)
    options = {"order": 3, "embedding_size": 5, "hidden_size": 7, "direct": True, "dropout": 0.0}
    feedforward = feedforward_lm(source_vocabulary=None, target_vocabulary=TARGET_WORDS, attention=None, **options)
    return [*(build_lm(cell) for cell in CELLS), feedforward.double()]


@pytest.mark.parametrize("model", models(), ids=[*CELLS, "feedforward"])
@pytest.mark.parametrize("chunk", [2**24, 3 * TARGET_WORDS])
@torch.no_grad()
def test_log_probabilities_at_once_are_those_of_steps(model, chunk, monkeypatch):
    monkeypatch.setattr(language_model, "LOGITS", chunk)
    batch = make_batch(None, SENTENCES, range(4))
    found, last = model.word_log_probs(batch, model.start(batch))
    state = model.start(batch)
    for t, (previous, word) in enumerate(zip(batch.target_in.unbind(1), batch.target_out.unbind(1), strict=True)):
        log_probs, state = model.step(previous, state)
        expected = torch.where(word != 0, log_probs.gather(1, word.unsqueeze(1)).squeeze(1), 0)
        torch.testing.assert_close(found[:, t], expected, rtol=1e-10, atol=1e-12)
    torch.testing.assert_close(last, state, rtol=1e-10, atol=1e-12)


def test_variational_dropout_is_the_same_at_all_steps_and_differs_between_rows():
    dropped = VariationalDropout(0.5).train()(torch.ones(11, 5, 13))
    assert torch.equal(dropped, dropped[:, :1].expand_as(dropped))
    assert set(dropped.unique().tolist()) == {0.0, 2.0}
    assert not torch.equal(dropped[0], dropped[1])
    model = build_lm(dropout=0.5, variational=True).train()
    assert isinstance(model.dropout, VariationalDropout)
    assert not isinstance(build_lm(dropout=0.5).dropout, VariationalDropout)


def test_a_dropped_word_is_dropped_wherever_it_stands():
    embedding = torch.nn.Embedding(31, 3)
    tokens = torch.arange(31).repeat(2, 2)
    dropped = WordDropout(0.5).train()(embedding, tokens)
    share = dropped / embedding(tokens)
    assert torch.equal(dropped[0], dropped[1])
    torch.testing.assert_close(share.round(), share)
    assert set(share.round().unique().tolist()) == {0.0, 2.0}
    assert torch.equal(share[..., 0].round(), share[..., 2].round())


@pytest.mark.parametrize("options", [{"dropout": 0.4, "variational": True}, {"embedding_dropout": 0.4}])
def test_dropout_acts_in_training_and_only_there(options):
    plain, model = build_lm("lstm"), build_lm("lstm", **options)
    tokens = torch.tensor([[4, 5, 6, 4, 5]] * 3)
    torch.testing.assert_close(model.eval()(tokens, model.zero_state(3))[0], plain(tokens, plain.zero_state(3))[0])
    torch.manual_seed(4)
    first, second = (model.train()(tokens, model.zero_state(3))[0] for _ in range(2))
    assert (first - second).abs().max() > 1e-6
