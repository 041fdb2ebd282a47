"""Every model leaves the unigram level of text that is like real text, in a fixed number of updates of the defaults.

The text: several hundred types by Zipf's law, each word mostly one of a few that follow the word before, and a source
that is the target word for word in another vocabulary. What only knows how often each word occurs stays at
their entropy.
"""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from support import conf
from support.small_models import ATTENTIONS, CELLS, PARTS, with_sizes
from torch import nn

from unrolled.models import initialise
from unrolled.models.feedforward_lm import feedforward_lm
from unrolled.models.language_model import rnn_lm
from unrolled.models.translator import translator
from unrolled.training.linear_loss import linear_token_loss

TYPES = 800
WORDS = 5  # of a sentence; few, as the time goes by steps
SENTENCES = 64  # of a batch
UPDATES = 52
SIZE = 32
LEARNT = 0.25  # nats a token below the unigram level
LANGUAGE_MODEL_UPDATES = 105  # without a source there is less to learn from
LANGUAGE_MODEL_SIZE = 64
LANGUAGE_MODEL_LEARNT = 0.32


class ZipfianText:
    """Batches ``(SENTENCES, WORDS)`` of word ids from 4 on, their sources, and the words' entropy in nats."""

    def __init__(self, seed=0):
        self.random = torch.Generator().manual_seed(seed)
        self.frequencies = 1 / torch.arange(1, TYPES + 1)
        self.following = self.zipf(3 * TYPES).view(TYPES, 3)
        self.other = torch.randperm(TYPES, generator=self.random)
        words = self.target(2000).flatten()
        shares = (words.bincount(minlength=TYPES) + 1.0) / (len(words) + TYPES)
        self.entropy = -(shares * shares.log()).sum().item()

    def zipf(self, number):
        return torch.multinomial(self.frequencies, number, replacement=True, generator=self.random)

    def target(self, sentences):
        words = [self.zipf(sentences)]
        for _ in range(WORDS - 1):
            choice = torch.randint(3, (sentences,), generator=self.random)
            bound = torch.rand(sentences, generator=self.random) < 0.7
            words.append(torch.where(bound, self.following[words[-1], choice], self.zipf(sentences)))
        return torch.stack(words, dim=1)

    def batch(self):
        target = self.target(SENTENCES)
        lengths = torch.full((SENTENCES,), WORDS)
        begin = torch.ones(SENTENCES, 1, dtype=torch.long)
        return SimpleNamespace(
            source=self.other[target] + 4,
            source_lengths=lengths,
            target=target + 4,
            target_in=torch.cat([begin, target[:, :-1] + 4], dim=1),
            target_out=target + 4,
        )


def build_translator(model, attention, *, tied=False):
    mechanism = ATTENTIONS.get(attention)
    return translator(
        source_vocabulary=TYPES + 4,
        target_vocabulary=TYPES + 4,
        **PARTS[model],
        attention=mechanism and with_sizes(mechanism, SIZE, 5),
        embedding_size=SIZE,
        encoder_size=SIZE,
        encoder_layers=1,
        decoder_size=2 * SIZE,
        embedding_dropout=0.1,
        annotation_dropout=0.1,
        readout_dropout=0.1,
        tied_target_embeddings=tied,
        orthogonal=True,
    )


def build_rnn_lm(cell, *, tied=False):
    return rnn_lm(
        source_vocabulary=None,
        target_vocabulary=TYPES + 4,
        attention=None,
        cell=cell,
        embedding_size=LANGUAGE_MODEL_SIZE,
        hidden_size=LANGUAGE_MODEL_SIZE,
        layers=1,
        dropout=0.1,
        variational=False,
        embedding_dropout=0.0,
        tied_embeddings=tied,
        orthogonal=True,
    )


def build_feedforward_lm(*, direct):
    sizes = {
        "order": 5,
        "embedding_size": LANGUAGE_MODEL_SIZE,
        "hidden_size": LANGUAGE_MODEL_SIZE,
        "direct": direct,
        "dropout": 0.1,
    }
    return feedforward_lm(source_vocabulary=None, target_vocabulary=TYPES + 4, attention=None, **sizes)


def hidden(model, batch):
    """What the last map of any model reads, ``(N, R)``."""
    if hasattr(model, "readout"):
        counted = torch.ones_like(batch.target_out, dtype=torch.bool)
        return model(batch.source, batch.source_lengths, batch.target_in, counted)[0], model.readout.output
    return model(batch.target_in, model.start(batch))[0].flatten(0, 1), model.output


def nats_below_unigrams(build, updates, change=lambda model: None):
    """The unigram level less the mean loss of the last ten of ``updates`` by Adam, each of an unseen batch."""
    torch.manual_seed(1)
    text, model = ZipfianText(), build()
    change(model)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    losses = []
    for _ in range(updates):
        batch = text.batch()
        loss, _, tokens = linear_token_loss(*hidden(model, batch), batch.target_out.flatten())
        optimizer.zero_grad()
        (loss / tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / tokens)
    return text.entropy - sum(losses[-10:]) / 10


@pytest.fixture
def small_beginnings(monkeypatch):
    """All but the embeddings by Glorot's rule: what left models of real text at the unigram level."""
    monkeypatch.setattr(initialise, "matrices_that_read", lambda *_: [])
    return lambda model: nn.init.xavier_uniform_(getattr(model, "readout", model).output.weight)


TRANSLATORS = [(model, name) for model in PARTS for name in conf.ATTENTIONS if conf.go_together(model, name)]


def _quick(model, attention):
    return attention in ("none", "gru_att")


@pytest.mark.parametrize(
    ("model", "attention"),
    [pytest.param(*pair, marks=() if _quick(*pair) else pytest.mark.slow) for pair in TRANSLATORS],
)
def test_every_translator_leaves_the_unigram_level(model, attention):
    assert nats_below_unigrams(partial(build_translator, model, attention), UPDATES) > LEARNT


@pytest.mark.parametrize("model", ["cgru", "rnnsearch", "encoder_decoder"])
def test_tied_translators_leave_it_too(model):
    attention = "none" if model == "encoder_decoder" else "bahdanau"
    assert nats_below_unigrams(partial(build_translator, model, attention, tied=True), UPDATES) > LEARNT


@pytest.mark.parametrize(
    "cell", [pytest.param(cell, marks=() if cell == "lstm" else pytest.mark.slow) for cell in CELLS]
)
@pytest.mark.parametrize("tied", [False, True])
def test_recurrent_language_models_leave_it_too(cell, tied):
    assert nats_below_unigrams(partial(build_rnn_lm, cell, tied=tied), LANGUAGE_MODEL_UPDATES) > LANGUAGE_MODEL_LEARNT


@pytest.mark.parametrize("direct", [False, True])
def test_feedforward_language_models_leave_it_too(direct):
    assert (
        nats_below_unigrams(partial(build_feedforward_lm, direct=direct), LANGUAGE_MODEL_UPDATES)
        > LANGUAGE_MODEL_LEARNT
    )


@pytest.mark.parametrize("model", ["cgru", "encoder_decoder"])
def test_translators_of_small_beginnings_stay_there(model, small_beginnings):
    """Without this the tests above would show nothing."""
    attention = "none" if model == "encoder_decoder" else "gru_att"
    assert nats_below_unigrams(partial(build_translator, model, attention), UPDATES, small_beginnings) < LEARNT - 0.05


def test_language_models_of_small_beginnings_stay_there(small_beginnings):
    build = partial(build_rnn_lm, "lstm")
    assert nats_below_unigrams(build, LANGUAGE_MODEL_UPDATES, small_beginnings) < LANGUAGE_MODEL_LEARNT - 0.05
