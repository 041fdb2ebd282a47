"""What a user is told: the nearest choice, and the numbers that an option may have."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import FLAG, POSITIVE_WHOLE, Numbers, OneOf, UserError, called, check, check_choice, nearest


@pytest.mark.parametrize(
    ("word", "choices", "said"),
    [
        ("gru_at", ["bahdanau", "gru_att", "gru_att_pooled"], "; did you mean gru_att?"),
        ("sise", ["encoder_size", "layers"], "; did you mean encoder_size?"),
        ("sise", ["encoder_size", "decoder_size", "cell"], "; did you mean decoder_size or encoder_size?"),
        (
            "sise",
            ["encoder_size", "decoder_size", "embedding_size"],
            "; did you mean decoder_size, embedding_size or encoder_size?",
        ),
        ("xyz", ["layers", "cell", "_target_"], "; there are layers, cell"),
        ("xyz", [], ""),
    ],
)
def test_the_nearest_choice_is_named(word, choices, said):
    assert nearest(word, choices) == said


@given(st.text(max_size=12), st.lists(st.from_regex("[a-z_]{1,12}", fullmatch=True), unique=True, max_size=6))
def test_a_choice_is_found_by_its_name_and_whatever_was_typed_gets_an_answer(word, choices):
    assert isinstance(nearest(word, choices), str)
    for choice in choices:
        assert nearest(choice, choices) == f"; did you mean {choice}?"


def test_an_unknown_choice_is_refused_with_the_nearest_or_all():
    check_choice("which", "best", ("best", "last"))
    with pytest.raises(UserError, match=r"^which=lats is unknown; did you mean last\?$"):
        check_choice("which", "lats", ("best", "last"))
    with pytest.raises(UserError, match=r"^which=null is unknown; give one of best, last$"):
        check_choice("which", None, ("best", "last"))


NONE = [None, True, "1", "", [1], nan, inf, -inf]


@pytest.mark.parametrize(
    ("allowed", "good", "bad", "said"),
    [
        (Numbers(), [0, -3, 1e300, 10**400], [], "a number"),
        (POSITIVE_WHOLE, [1, 2**70], [0, -1, 1.0, 0.5], "a whole number from 1"),
        (Numbers(least=0, below=1), [0, 0.0, 0.999], [1, 1.0, -1e-9], "a number from 0 to below 1"),
        (Numbers(above=0, most=1), [1, 1.0, 1e-300], [0, 0.0, 1.1], "a number above 0, at most 1"),
        (Numbers(above=0), [1e-300, 7], [0, -1], "a number above 0"),
        (Numbers(above=0, below=1), [0.5], [0, 1], "a number above 0 and below 1"),
        (Numbers(least=1, most=3, whole=True), [1, 3], [0, 4], "a whole number from 1 to 3"),
    ],
)
def test_a_number_is_within_its_limits(allowed, good, bad, said):
    assert [value for value in good if value not in allowed] == []
    assert [value for value in [*bad, *NONE] if value in allowed] == []
    assert str(allowed) == said


def test_numbers_of_numpy_are_numbers_and_text_is_quoted_where_it_looks_like_one():
    assert np.int64(2) in POSITIVE_WHOLE
    assert np.float32(0.5) in Numbers(below=1)
    assert np.float32(0.5) not in POSITIVE_WHOLE
    assert np.bool_(True) not in POSITIVE_WHOLE
    with pytest.raises(UserError, match="beam_size='3': give a whole number from 1"):
        check("beam_size", "3", POSITIVE_WHOLE)


def test_values_with_another_meaning_and_what_else_to_do_are_said():
    allowed = Numbers(least=1, whole=True, also=(None, -1), instead="use schedule=constant")
    assert [value in allowed for value in (None, -1, 1, -1.0, 0, False)] == [True, True, True, False, False, False]
    with pytest.raises(UserError) as caught:
        check("steps", False, allowed)
    assert str(caught.value) == ("steps=false: give a whole number from 1, or null, or -1, or use schedule=constant")


def test_one_of_some_values_is_that_value_and_not_one_that_equals_it():
    assert [value in FLAG for value in (True, False, 1, 0, None, "true")] == [True, True, False, False, False, False]
    assert str(OneOf((True, False, "warn", None))) == "true, false, warn or null"


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("src/translate.py", "train.py"),
        ("/my folder/unrolled clone/src/translate.py", "train.py"),
        ("unrolled translate", "unrolled train"),
        ("python -m unrolled translate", "python -m unrolled train"),
        ("/usr/lib/ipykernel_launcher.py", "unrolled train"),
        ("", "unrolled train"),
    ],
)
def test_messages_call_commands_as_the_user_did(program, said, monkeypatch):
    monkeypatch.setattr("sys.argv", [program])
    assert called("train") == said
