"""The attention of pairs: the same alone and in a batch, and links between the words that are printed."""

import torch
from support.small_models import SOURCE_WORDS, TARGET_WORDS, build

from unrolled.inference.attended_pairs import attend, word_links
from unrolled.text.characters import CharacterTokenizer
from unrolled.text.tokenizer import WordTokenizer
from unrolled.text.tokens import UNK

SOURCE = WordTokenizer([f"s{number}" for number in range(SOURCE_WORDS - 4)])
TARGET = WordTokenizer([f"t{number}" for number in range(TARGET_WORDS - 4)])
SOURCES, TARGETS = ["s1 s2 s3", "s4", "s0 s0 s5 s2"], ["t1 t9", "t2 t3 t4", ""]


def attended(sources, targets, source=SOURCE, target=TARGET):
    model = build(seed=3).float().eval()
    return attend(model, source, target, sources, targets, device=torch.device("cpu"), max_tokens=99)


def test_weights_are_those_of_the_pair_alone_and_sum_to_one():
    together = attended(SOURCES, TARGETS)
    for pair, source, target in zip(together, SOURCES, TARGETS, strict=True):
        (alone,) = attended([source], [target])
        torch.testing.assert_close(pair.weights, alone.weights)
        assert pair.weights.shape == (len(target.split()) + 1, len(source.split()) + 1)
        torch.testing.assert_close(pair.weights.sum(dim=1), torch.ones(len(pair.target)))
        assert (pair.source[-1], pair.target[-1]) == ("</s>", "</s>")


def test_text_and_its_ids_have_the_same_links():
    ids = TARGET.encode(TARGETS)
    by_text, by_ids = attended(SOURCES, TARGETS), attended(SOURCES, ids)
    assert [word_links(pair) for pair in by_text] == [word_links(pair) for pair in by_ids]
    assert [{j for _, j in word_links(pair)} for pair in by_text] == [{0, 1}, {0, 1, 2}, set()]


def test_links_are_between_words_that_are_there():
    letters = CharacterTokenizer(["a", "b", " "])
    for target in ("ab b ", letters.encode(["ab b "])[0], [UNK, 6, 4, 6]):
        (pair,) = attended(["ba "], [target], source=letters, target=letters)
        assert pair.source_words == [0, 0, -1]
        assert word_links(pair) == {(0, 0), (0, 1)}
