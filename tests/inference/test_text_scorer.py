"""Texts read as one."""

from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.inference.ranking import Ranked
from unrolled.inference.text_scorer import TextScorer, scorer
from unrolled.inference.trained_language_model import TrainedLanguageModel
from unrolled.models.feedforward_lm import feedforward_lm
from unrolled.models.language_model import rnn_lm
from unrolled.text.tokenizer import WordTokenizer

WORDS = ["a", "b", "c", "d"]
BOS, EOS = 1, 2
TEXT = ["a b c", "", "d unheard a", "b", "c c c c c d d"]


def trained(kind="rnn", max_tokens=1000):
    torch.manual_seed(3)
    common = {"source_vocabulary": None, "target_vocabulary": 8, "attention": None, "dropout": 0.3}
    if kind == "rnn":
        sizes = {"embedding_size": 3, "hidden_size": 5, "layers": 2, "tied_embeddings": False, "orthogonal": True}
        model = rnn_lm(cell="lstm", variational=False, embedding_dropout=0.0, **sizes, **common)
    else:
        model = feedforward_lm(order=4, embedding_size=3, hidden_size=5, direct=True, **common)
    model = model.double().eval()
    return TrainedLanguageModel(model, WordTokenizer(WORDS), torch.device("cpu"), max_tokens=max_tokens)


def values(scored):
    return [log_p for pieces in scored for _, log_p in pieces]


@pytest.mark.parametrize("kind", ["rnn", "feedforward"])
def test_a_text_as_one_is_the_model_stepped_from_word_to_word(kind):
    model = trained(kind)
    state, expected = model.model.zero_state(1), []
    with torch.no_grad():
        for ids in model.tokenizer.encode(TEXT):
            for previous, following in zip([BOS, *ids], [*ids, EOS], strict=True):
                log_probs, state = model.model.step(torch.tensor([previous]), state)
                expected.append(float(log_probs[0, following]))
    found = TextScorer(model).score(TEXT)
    assert values(found) == pytest.approx(expected, abs=1e-10)
    assert [[piece for piece, _ in pieces] for pieces in found[:3]] == [
        ["a", "b", "c", "</s>"],
        ["</s>"],
        ["d", "<unk>", "a", "</s>"],
    ]


@settings(max_examples=30)
@given(st.lists(st.integers(0, len(TEXT)), max_size=3), st.integers(1, 30))
def test_neither_chunks_nor_memory_change_a_text(cuts, max_tokens):
    whole = values(TextScorer(trained()).score(TEXT))
    bounds = pairwise([0, *sorted(cuts), len(TEXT)])
    reader = TextScorer(trained(max_tokens=max_tokens))
    parts = [reader.score(TEXT[low:high]) for low, high in bounds]
    assert [log_p for part in parts for log_p in values(part)] == pytest.approx(whole, abs=1e-10)


def test_the_first_line_has_no_history_and_the_others_have():
    model = trained()
    alone, together = model.score(TEXT), TextScorer(model).score(TEXT)
    assert values(alone[:1]) == pytest.approx(values(together[:1]), abs=1e-10)
    for line in range(1, len(TEXT)):
        assert abs(values(alone[line : line + 1])[0] - values(together[line : line + 1])[0]) > 1e-4


def test_context_is_as_trained_unless_it_is_given():
    model = trained()
    as_text = TrainedLanguageModel(model.model, model.tokenizer, model.device, 1000, continuous=True)
    undecided = TrainedLanguageModel(model.model, model.tokenizer, model.device, 1000, continuous=None)
    assert scorer(model, None) is scorer(model, "line") is model
    assert scorer(as_text, "line") is as_text
    assert isinstance(scorer(as_text, None), TextScorer)
    assert isinstance(scorer(model, "text"), TextScorer)
    assert scorer(undecided, "line") is undecided
    with pytest.raises(UserError, match="give context=line or text"):
        scorer(undecided, None)
    with pytest.raises(UserError, match="context=page is unknown"):
        scorer(model, "page")


def test_ranks_are_by_sum_or_by_token_and_equal_lines_keep_their_order():
    lines = ["long", "short", "never", "long too"]
    scored = [[("x", -1.0)] * 5, [("x", -2.0)] * 2, [("x", -float("inf"))], [("y", -1.0)] * 5]
    for per_token, expected in (
        (False, ["-4.000000\tshort", "-5.000000\tlong", "-5.000000\tlong too", "-inf\tnever"]),
        (True, ["-1.000000\tlong", "-1.000000\tlong too", "-2.000000\tshort", "-inf\tnever"]),
    ):
        ranked = Ranked(per_token=per_token)
        assert ranked.show(lines[:1], [scored[:1]]) + ranked.show(lines[1:], [scored[1:]]) == ""
        assert ranked.end().splitlines() == expected
