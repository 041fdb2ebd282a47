"""What depends on a word alone is computed once for each word, and is the same."""

import pytest
import torch
from support.small_models import PARTS, TARGET_WORDS, build, some_attention

from unrolled.models.fast import remembered
from unrolled.models.fast.frozen import frozen
from unrolled.models.fast.remembered import Remembered


class Square:
    def __init__(self):
        self.asked = []

    def __call__(self, words):
        self.asked += words.tolist()
        return words.float().unsqueeze(1) ** 2, words.view(-1, 1, 1).expand(-1, 2, 0).float()


def test_every_word_is_computed_once():
    square = Square()
    remember = Remembered(square, 11)
    for words in ([3, 1, 3], [1, 10, 3], [3], [0, 10, 10, 0]):
        squares, empty = remember(torch.tensor(words))
        assert squares.tolist() == [[float(word * word)] for word in words]
        assert empty.shape == (len(words), 2, 0)
    assert sorted(square.asked) == [0, 1, 3, 10]


def test_words_for_which_there_is_no_room_are_right_too(monkeypatch):
    monkeypatch.setattr(remembered, "BYTES", 2 * 4)  # two rows
    square = Square()
    remember = Remembered(square, 11)
    for words in ([3, 1], [1, 7], [7, 5, 3], [1, 3]):
        assert remember(torch.tensor(words))[0].flatten().tolist() == [word * word for word in words]
    assert square.asked.count(3) == 2  # once alone, once with 7 and 5


@pytest.mark.parametrize("name", PARTS)
def test_a_frozen_translator_steps_as_before(name):
    model = build(name, some_attention(name, "gru_att")).eval()
    annotations, valid = torch.randn(5, 3, 8).double(), torch.ones(5, 3, dtype=torch.bool)
    with torch.inference_mode():
        state = model.decoder.start(annotations, valid)
        words = torch.tensor([4, 7, 4, 1, TARGET_WORDS - 1])
        expected, _ = model.step(words, state)
        with frozen([model]):
            assert isinstance(vars(model)["of_words"], Remembered)
            for _ in range(2):
                found, _ = model.step(words, state)
                torch.testing.assert_close(found, expected)
    assert "of_words" not in vars(model)


def test_a_model_with_dropout_at_work_is_not_remembered():
    model = build("cgru", "bahdanau").train()
    with frozen([model]):
        assert "of_words" not in vars(model)
