import pytest
import torch

from unrolled.data.batch import make_batch
from unrolled.models.feedforward_lm import feedforward_lm
from unrolled.models.language_model import rnn_lm
from unrolled.models.mixture import Mixture

V = 11
WEIGHTS = [0.2, 0.7, 0.1]
BATCH = make_batch(None, [[4, 5, 6], [7], []], [0, 1, 2])


@pytest.fixture(scope="module")
def members():
    torch.manual_seed(5)
    both = {"source_vocabulary": None, "target_vocabulary": V, "attention": None, "dropout": 0.0}
    recurrent = {"embedding_size": 3, "hidden_size": 5, "layers": 2, "tied_embeddings": False, "orthogonal": True}
    models = [
        rnn_lm(cell=cell, variational=False, embedding_dropout=0.0, **recurrent, **both) for cell in ("gru", "lstm")
    ]
    models.append(feedforward_lm(order=3, embedding_size=2, hidden_size=7, direct=True, **both))
    return [model.double().eval() for model in models]


@torch.no_grad()
def test_words_are_as_likely_as_the_weighted_mean_says(members):
    found, _ = Mixture(models=members, weights=WEIGHTS).word_log_probs(
        BATCH, Mixture(models=members, weights=WEIGHTS).start(BATCH)
    )
    alone = [model.word_log_probs(BATCH, model.start(BATCH))[0].exp() for model in members]
    expected = sum(weight * probs for weight, probs in zip(WEIGHTS, alone, strict=True)).log()
    valid = BATCH.target_out_valid
    torch.testing.assert_close(found[valid], expected[valid], atol=1e-10, rtol=0)
    assert (found[~valid] == 0).all()


@torch.no_grad()
def test_step_by_step_equals_all_words_at_once_and_sums_to_one(members):
    mixture = Mixture(models=members, weights=WEIGHTS)
    at_once, _ = mixture.word_log_probs(BATCH, mixture.start(BATCH))
    state = mixture.start(BATCH)
    for position, tokens in enumerate(BATCH.target_in.unbind(1)):
        log_probs, state = mixture.step(tokens, state)
        torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(3, dtype=torch.float64))
        valid = BATCH.target_out_valid[:, position]
        of_words = log_probs.gather(1, BATCH.target_out[:, position : position + 1]).squeeze(1)
        torch.testing.assert_close(of_words[valid], at_once[valid, position], atol=1e-10, rtol=0)


@torch.no_grad()
def test_a_weight_of_1_is_the_model_alone_and_probability_0_is_made_up_for(members):
    single = Mixture(models=members, weights=[0.0, 1.0, 0.0])
    alone, _ = members[1].word_log_probs(BATCH, members[1].start(BATCH))
    torch.testing.assert_close(single.word_log_probs(BATCH, single.start(BATCH))[0], alone, atol=1e-10, rtol=0)
    mixture = Mixture(models=members[:2], weights=[0.5, 0.5])
    impossible, likely = torch.tensor([[-torch.inf, -torch.inf]]), torch.tensor([[-1.0, -torch.inf]])
    mixed = mixture._mix([impossible, likely])
    torch.testing.assert_close(mixed, torch.tensor([[-1 + torch.tensor(0.5).log(), -torch.inf]], dtype=torch.float64))
