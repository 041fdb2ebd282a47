"""Faults that only show with dropout, in training, without gradients, in a whole model or between two parts of a text;
and attentions that are unusual but right."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import pytest
import torch
from support.subjects import subject, with_attention, with_decoder
from support.wrong_parts import Plain, language_model
from torch.nn import functional

from unrolled.conformance.promises import PROMISES, outcomes
from unrolled.conformance.subject import Subject
from unrolled.models.attention import Attention, attend
from unrolled.models.decoder import CGRUDecoder
from unrolled.models.encoder import BidirectionalGRU
from unrolled.models.language_model import RecurrentLanguageModel
from unrolled.models.readout import DeepReadout
from unrolled.models.state import map_state
from unrolled.text.tokens import EOS

BY_NAME = {promise.__name__: promise for promise in PROMISES}


class Dropping(Plain):
    """Attention with dropout of its query; this one is right."""

    def __init__(self, *, dropout, **options):
        super().__init__(**options)
        self.dropout = dropout

    def asked(self, query):
        return self.query(functional.dropout(query, self.dropout, self.training))


class DropsInEvaluation(Dropping):
    """functional.dropout drops in evaluation too, unless it is told."""

    def asked(self, query):
        return self.query(functional.dropout(query, self.dropout))


class DropsInSearch(Dropping):
    """The same, where no gradients are needed."""

    def asked(self, query):
        return self.query(functional.dropout(query, self.dropout, self.training or not torch.is_grad_enabled()))


class KeepsItsMask(Dropping):
    """The mask of dropout is kept on the module for all batches of one shape."""

    mask = None

    def asked(self, query):
        if self.training and self.dropout:
            if self.mask is None or self.mask.shape != query.shape:
                self.mask = functional.dropout(torch.ones_like(query), self.dropout).detach()
            query = query * self.mask
        return self.query(query)


class LeaksInSearch(Plain):
    """Padding gets into the context where no gradients are needed."""

    def step(self, query, prepared, state):
        context, weights, (v,) = super().step(query, prepared, state)
        leak = 0.0 if torch.is_grad_enabled() else 1e-3 * v.mean(dim=(1, 2)).unsqueeze(1)
        return context + leak, weights, (v,)


class Backwards(torch.autograd.Function):
    """The identity, with a gradient of the wrong sign."""

    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        return -gradient


class WrongEncoder(BidirectionalGRU):
    """The gradient of its annotations has the wrong sign."""

    def forward(self, embeddings, lengths):
        return Backwards.apply(super().forward(embeddings, lengths))


class WrongReadout(DeepReadout):
    """The gradient of its hidden vectors has the wrong sign."""

    def join(self, features, projected):
        return Backwards.apply(super().join(features, projected))


class WrongLanguageModel(RecurrentLanguageModel):
    """The gradient of its hidden vectors has the wrong sign."""

    def forward(self, tokens, state, *unroll):
        hidden, last = super().forward(tokens, state, *unroll)
        return Backwards.apply(hidden), last


class DroppingEncoder(BidirectionalGRU):
    """It has an option of its own, which drops in evaluation too."""

    def __init__(self, *, input_dropout, **options):
        super().__init__(**options)
        self.input_dropout = input_dropout

    def forward(self, embeddings, lengths):
        return super().forward(functional.dropout(embeddings, self.input_dropout), lengths)


class CentredInTraining(Plain):
    """Queries are centred over the batch, in training alone."""

    def asked(self, query):
        return self.query(query - 0.1 * query.mean(dim=0) if self.training else query)


class SeesTheNextWordInTraining(CGRUDecoder):
    """In training, teacher forcing reads the word that it should predict."""

    def unroll(self, embeddings, state, given=None):
        read = embeddings + 0.1 * embeddings.roll(-1, dims=1) if self.training else embeddings
        return self.unroll_plainly(read, state, given)


class WrongInTraining(RecurrentLanguageModel):
    """The gradient of its hidden vectors has the wrong sign in training."""

    def forward(self, tokens, state, *unroll):
        hidden, last = super().forward(tokens, state, *unroll)
        return Backwards.apply(hidden) if self.training else hidden, last


class BeginsAnewInTraining(RecurrentLanguageModel):
    """In training, several words are read from the zero state, whatever came before."""

    def forward(self, tokens, state, *unroll):
        anew = self.training and tokens.shape[1] > 1
        return super().forward(tokens, self.zero_state(len(tokens)) if anew else state, *unroll)


class Noisy(Plain):
    """Queries have noise in training, whatever the dropout; this one is right."""

    def asked(self, query):
        return self.query(query + 0.1 * torch.randn_like(query) if self.training else query)


class Mean(Attention):
    """The mean of the annotations, without parameters, and a counter of steps that nothing reads; this one is right."""

    def __init__(self, *, query_size, annotation_size):
        super().__init__()

    def prepare(self, annotations, valid):
        return annotations, valid

    def start(self, prepared):
        annotations, _ = prepared
        return (annotations.new_zeros(len(annotations), dtype=torch.float64),)

    def step(self, query, prepared, state):
        annotations, valid = prepared
        (steps,) = state
        context, weights = attend(query.new_zeros(len(query), valid.shape[1]), annotations, valid)
        return context, weights, (steps + 1,)


class WithoutGradientFromTheThirdStepOn(Plain):
    """No gradient flows through its contexts but the first two."""

    def start(self, prepared):
        (v,) = super().start(prepared)
        return (v, torch.zeros(len(v)))

    def step(self, query, prepared, state):
        v, steps = state
        context, weights, (v,) = super().step(query, prepared, (v,))
        return torch.where(steps.unsqueeze(1) < 2, context, context.detach()), weights, (v, steps + 1)


class Memory(NamedTuple):
    """A state whose parts have names."""

    v: torch.Tensor


class Named(Plain):
    """Its state is a named tuple, which search would make from one part."""

    def start(self, prepared):
        return Memory(*super().start(prepared))

    def step(self, query, prepared, state):
        context, weights, (v,) = super().step(query, prepared, state)
        return context, weights, Memory(v)


class ForgetsAtTheEnd(RecurrentLanguageModel):
    """Several words are read from the zero state after </s>, one word is not."""

    def forward(self, tokens, state, *unroll):
        outputs = []
        for number, word in enumerate(tokens.unbind(1)):
            if number:
                goes_with = (tokens[:, number - 1] != EOS).unsqueeze(1)
                state = map_state(lambda tensor, keep=goes_with: tensor * keep, state)
            output, state = super().forward(word.unsqueeze(1), state, *unroll)
            outputs.append(output)
        return torch.cat(outputs, dim=1), state


class KeepsTheGivenState(RecurrentLanguageModel):
    """The last state of several words is the one before them."""

    def forward(self, tokens, state, *unroll):
        hidden, last = super().forward(tokens, state, *unroll)
        return hidden, last if tokens.shape[1] == 1 else state


class BeginsAnew(RecurrentLanguageModel):
    """Several words are read from the zero state, whatever came before."""

    def forward(self, tokens, state, *unroll):
        given = state if tokens.shape[1] == 1 else self.zero_state(len(tokens))
        return super().forward(tokens, given, *unroll)


class HandsOnNoGradient(RecurrentLanguageModel):
    """No gradient flows through the state that several words are given."""

    def forward(self, tokens, state, *unroll):
        given = state if tokens.shape[1] == 1 else map_state(torch.detach, state)
        return super().forward(tokens, given, *unroll)


class TwiceTheScore(RecurrentLanguageModel):
    """Its scores of words are not those that it predicts."""

    def word_log_probs(self, batch, state):
        log_probs, last = super().word_log_probs(batch, state)
        return 2 * log_probs, last


class CountsPadding(RecurrentLanguageModel):
    """Padding has a score."""

    def word_log_probs(self, batch, state):
        log_probs, last = super().word_log_probs(batch, state)
        return log_probs - (~batch.target_out_valid).to(log_probs.dtype), last


def language_model_subject(kind) -> Subject:
    right = subject("rnn_lm", "none")
    return replace(right, model=partial(language_model(kind), **right.model.keywords))


def tried(wrong: Subject, promise: str):
    (outcome,) = outcomes(wrong, [BY_NAME[promise]])
    return outcome


def with_part(**parts) -> Subject:
    right = subject("cgru", "gru_att")
    return replace(right, model=partial(right.model, **parts))


@pytest.mark.parametrize(
    ("kind", "options", "promise", "shown"),
    [
        (DropsInEvaluation, {"dropout": 0.2}, "evaluation_has_no_dropout", "log-probabilities without dropout"),
        (DropsInSearch, {"dropout": 0.2}, "evaluation_has_no_dropout", "log-probabilities of steps without dropout"),
        (KeepsItsMask, {"dropout": 0.2}, "same_again", "in training, with dropout,"),
        (LeaksInSearch, {}, "company_changes_nothing", "log-probabilities of steps without gradients, alone and there"),
    ],
)
def test_an_attention_that_is_wrong_with_dropout_or_in_search_is_caught(kind, options, promise, shown):
    outcome = tried(with_attention(partial(kind, size=64, **options)), promise)
    assert outcome.kept is False
    assert shown in outcome.why


@pytest.mark.parametrize("promise", ["evaluation_has_no_dropout", "same_again"])
def test_an_attention_with_right_dropout_is_not(promise):
    outcome = tried(with_attention(partial(Dropping, size=64, dropout=0.2)), promise)
    assert outcome.kept, outcome.why


def test_dropout_of_an_encoder_is_tried_too():
    outcome = tried(with_part(encoder=partial(DroppingEncoder, input_dropout=0.2)), "evaluation_has_no_dropout")
    assert outcome.kept is False


@pytest.mark.parametrize(("part", "kind"), [("encoder", WrongEncoder), ("readout", WrongReadout)])
def test_wrong_gradients_of_an_encoder_or_a_readout_are_caught(part, kind):
    outcome = tried(with_part(**{part: partial(kind)}), "gradients_are_right")
    assert outcome.kept is False
    said = "the model, source of 2 words, 2 steps: Jacobian mismatch for output 0 with respect to "
    assert outcome.why.startswith(said)
    assert outcome.why.removeprefix(said) in dict(subject("cgru", "gru_att").build().named_parameters())


def test_a_wrong_gradient_of_a_language_model_is_said_with_its_parameter():
    outcome = tried(language_model_subject(WrongLanguageModel), "gradients_are_right")
    assert outcome.kept is False
    assert outcome.why.endswith(": Jacobian mismatch for output 0 with respect to embedding.weight")


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        (KeepsTheGivenState, "1 text of 2 words, read as 1 + 1: last states, at once and in parts, differ"),
        (BeginsAnew, "1 text of 3 words, read as 1 + 2: hidden vectors, at once and in parts, differ"),
        (HandsOnNoGradient, "1 text of 3 words, read as 1 + 2: gradients of "),
        (TwiceTheScore, "1 text of 2 words, read as 1 + 1: log-probabilities, by word_log_probs and by step, differ"),
        (ForgetsAtTheEnd, "1 text of 2 words, read as 1 + 1: hidden vectors, at once and in parts, differ"),
        (CountsPadding, "2 texts of 5 words, read as 3 + 2: log-probabilities, by word_log_probs and by step, differ"),
    ],
)
def test_a_language_model_whose_texts_differ_in_parts_is_caught(kind, shown):
    outcome = tried(language_model_subject(kind), "a_text_is_the_same_in_parts")
    assert outcome.kept is False
    assert outcome.why.startswith(shown)


@pytest.mark.parametrize("options", [{"layers": 2, "cell": "lstm"}, {"layers": 2, "variational": True}])
def test_deeper_language_models_keep_it(options):
    outcome = tried(subject("rnn_lm", "none", **options), "a_text_is_the_same_in_parts")
    assert outcome.kept, outcome.why


@pytest.mark.parametrize("order", [2, 3, 5])
def test_language_models_of_a_few_words_keep_it(order):
    outcome = tried(subject("feedforward_lm", "none", order=order), "a_text_is_the_same_in_parts")
    assert outcome.kept, outcome.why


@pytest.mark.parametrize(
    ("wrong", "shown"),
    [
        (with_attention(partial(CentredInTraining, size=64)), "sentence 1: log-probabilities, alone and there, differ"),
        (with_decoder("cgru", "bahdanau", SeesTheNextWordInTraining), "predictions before a changed word differ"),
        (language_model_subject(WrongInTraining), "Jacobian mismatch for output 0"),
        (language_model_subject(BeginsAnewInTraining), "hidden vectors, at once and in parts, differ"),
    ],
)
def test_a_fault_in_training_alone_is_caught(wrong, shown):
    outcome = tried(wrong, "the_same_holds_in_training")
    assert outcome.kept is False
    assert shown in outcome.why


def test_an_attention_may_draw_at_random_in_training():
    noisy = with_attention(partial(Noisy, size=64))
    for promise in ("padding_changes_nothing", "gradients_are_right"):
        assert tried(noisy, promise).kept
    assert tried(noisy, "the_same_holds_in_training").why.startswith("predictions in training differ each time")


def test_an_attention_may_have_weights_and_a_memory_without_gradients():
    outcome = tried(with_attention(partial(Mean)), "gradients_are_right")
    assert outcome.kept, outcome.why


def test_a_gradient_that_is_missing_from_the_third_step_on_is_caught():
    outcome = tried(with_attention(partial(WithoutGradientFromTheThirdStepOn, size=64)), "gradients_are_right")
    assert outcome.kept is False


def test_a_state_with_names_is_refused():
    outcome = tried(with_attention(partial(Named, size=64)), "state_follows_its_hypothesis")
    assert outcome.why.endswith("the state has a Memory, which is neither a tensor nor a plain tuple of them")
