"""What every attention, decoder and model promises: kept by all of conf/, broken by each wrong version."""

import re
from dataclasses import replace
from functools import partial

import pytest
import torch
from support import conf
from support.scripts import ROOT
from support.subjects import SUBJECTS, subject, with_attention
from support.transcripts import FRACTION, same
from support.wrong_parts import (
    WRONG_ATTENTIONS,
    IdleOption,
    OnTheModule,
    OtherUnroll,
    Plain,
    SeesTheNextWord,
    language_model,
)

from unrolled.conformance.cases import Case
from unrolled.conformance.promises import PROMISES, outcomes
from unrolled.conformance.subject import Broken
from unrolled.errors import UserError

PAGE = (ROOT / "docs" / "check.md").read_text(encoding="utf-8")
TABLE = [line for line in PAGE.partition("## Wrong versions")[2].splitlines() if line.endswith(". |") or ". | " in line]
BY_NAME = {promise.__name__: promise for promise in PROMISES}
NAMES = [kind.__name__ for kind in WRONG_ATTENTIONS]
NOT_ABOUT_ALL = {
    "kernel_equals_step",
    "weights_sum_to_one",
    "padding_changes_nothing",
    "a_text_is_the_same_in_parts",
}


@pytest.mark.parametrize("promise", BY_NAME)
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_model_of_conf_keeps_every_promise(name, promise):
    (outcome,) = outcomes(SUBJECTS[name], [BY_NAME[promise]])
    assert outcome.kept is not False, outcome.why
    assert outcome.kept or promise in NOT_ABOUT_ALL, outcome.why


def test_no_choice_of_conf_is_forgotten():
    assert {name.partition("-")[0] for name in SUBJECTS} == conf.NEURAL
    assert {name.split("-")[1] for name in SUBJECTS if "-" in name} >= set(conf.ATTENTIONS)


@pytest.mark.parametrize(("kind", "promise"), WRONG_ATTENTIONS.items(), ids=NAMES)
def test_a_wrong_attention_breaks_the_promise_that_is_about_it(kind, promise):
    options = {"sharpness": 1.0} if kind is IdleOption else {}
    (outcome,) = outcomes(with_attention(partial(kind, size=64, **options)), [BY_NAME[promise]])
    assert outcome.kept is False
    assert "Error in" not in outcome.why  # found, and not stumbled upon
    (row,) = (line for line in TABLE if line.startswith(f"| {kind.__doc__} |"))
    assert same(row, f"| {kind.__doc__} | {outcome.name} | {outcome.why} |", FRACTION)


def test_the_test_on_the_page_passes_for_a_right_attention():
    (block,) = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)
    page = {}
    exec(block.replace("attention=mine", "attention=dot"), page)
    page["test_it_keeps_every_promise"](BY_NAME["weights_sum_to_one"])
    with pytest.raises(pytest.skip.Exception, match="a translator hands no state"):
        page["test_it_keeps_every_promise"](BY_NAME["a_text_is_the_same_in_parts"])


class OtherShape(Plain):
    """Its weights have a dimension too many."""

    def step(self, query, prepared, state):
        context, weights, state = super().step(query, prepared, state)
        return context, weights.unsqueeze(1), state


class Raising(Plain):
    """It fails, in torch."""

    def step(self, query, prepared, state):
        return torch.nn.functional.linear(query, query.new_zeros(3, 3)), None, state


def test_weights_of_another_shape_and_errors_are_said_with_their_place():
    (outcome,) = outcomes(with_attention(partial(OtherShape, size=64)), PROMISES[:1])
    assert outcome.why == "source of 1 word, 1 step: the weights of a step have shape (1, 1, 1), and not (1, 1)"
    (outcome,) = outcomes(with_attention(partial(Raising, size=64)), PROMISES[:1])
    assert outcome.why.startswith("RuntimeError in test_promises.py:")


def test_the_documentation_has_every_wrong_attention():
    assert len(TABLE) == len(WRONG_ATTENTIONS) == 15


def test_a_state_that_is_not_reordered_is_seen_in_the_beam():
    subject = with_attention(partial(OnTheModule, size=64))
    for promise in ("beams_follow_their_hypotheses", "search_forced_decoding_and_loss_agree"):
        (outcome,) = outcomes(subject, [BY_NAME[promise]])
        assert outcome.kept is False, promise


def test_a_decoder_whose_unroll_is_not_its_step_is_caught():
    right = subject("cgru", "gru_att")
    wrong = replace(right, model=partial(right.model, decoder=partial(OtherUnroll)))
    (outcome,) = outcomes(wrong, [BY_NAME["step_by_step_equals_unrolled"]])
    assert outcome.kept is False
    assert outcome.why.startswith(
        "source of 1 word, 2 steps: predictions, step by step"
    )  # the smallest case that shows it


def test_a_language_model_that_sees_the_next_word_is_caught():
    right = subject("rnn_lm", "none")
    wrong = replace(right, model=partial(language_model(SeesTheNextWord), **right.model.keywords))
    (outcome,) = outcomes(wrong, [BY_NAME["later_words_change_nothing_before"]])
    assert outcome.kept is False


def test_an_error_of_the_class_breaks_the_promise_and_says_where():
    def broken(subject):
        raise ValueError("no\nsuch thing")

    (outcome,) = outcomes(subject("cgru", "dot"), [broken])
    assert outcome.kept is False
    assert outcome.why.startswith("ValueError in test_promises.py:")
    assert outcome.why.endswith(": no such thing")


def test_a_users_mistake_is_not_a_broken_promise():
    with pytest.raises(UserError, match="needs an attention"):
        list(outcomes(subject("cgru", "none"), PROMISES[:1]))


def test_cases_are_said_in_words():
    assert str(Case((1,), 1)) == "source of 1 word, 1 step"
    assert str(Case((1, 2), 2)) == "sources of 1 and 2 words, 2 steps"
    assert str(Case((3, 5, 2), 3)) == "sources of 3, 5 and 2 words, 3 steps"
    assert issubclass(Broken, Exception)
