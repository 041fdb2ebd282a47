"""What is said of unknown words and of lines of probability 0: once, and only where there are any."""

import logging
import math

from unrolled.inference.columns import Column
from unrolled.inference.notices import Notices
from unrolled.text.tokenizer import train_words

WORDS = train_words(["the dog sleeps"], size=None, min_count=1)


def said(lines, scored, caplog):
    notices = Notices([Column("mine", WORDS)])
    with caplog.at_level(logging.WARNING):
        for line, pieces in zip(lines, scored, strict=True):
            notices.add([line], [[pieces]])
        notices.end()
    return caplog.messages


def test_where_there_is_nothing_nothing_is_said(caplog):
    assert said(["the dog"], [[("the", -1.0), ("dog", -1.0), ("</s>", -1.0)]], caplog) == []


def test_unknown_words_are_counted_and_named_once(caplog):
    pieces = [("<unk>", -1.0), ("dog", -1.0), ("</s>", -1.0)]
    (message,) = said(["a dog", "a dog", "no dog"], [pieces] * 3, caplog)
    assert message.startswith("mine: 3 of 6 words (50%)")
    assert message.endswith(": a, no")


def test_a_very_long_word_is_not_shown_whole(caplog):
    (message,) = said(["a" * 1000], [[("<unk>", -1.0), ("</s>", -1.0)]], caplog)
    assert message.endswith(f": {'a' * 60}...")


def test_lines_of_probability_0_are_counted(caplog):
    lines = [[("dog", value), ("</s>", -1.0)] for value in (-math.inf, -1.0)]
    (message,) = said(["dog", "dog"], lines, caplog)
    assert message.startswith("mine: probability 0 (-inf) of 1 of 2 lines")
