"""The trie against a dictionary: every n-gram is found where it was stored, and no other is."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.ngram.counts import count_ngrams
from unrolled.ngram.trie import MisplacedNgram, blocks, find, keys_of, level_ends, node_keys
from unrolled.text.tokens import BOS, EOS

V = 7
sentences = st.lists(st.lists(st.integers(3, V - 1), max_size=5), min_size=1, max_size=8)


def trie(text, order=3):
    """Keys, and the n-grams of the text with at most ``order`` words."""
    tokens = torch.tensor([word for sentence in text for word in (BOS, *sentence, EOS)])
    counts = count_ngrams(tokens, order=order, vocabulary=V)
    stored = {(word,) for word in range(V)}
    for sentence in text:
        line = (BOS, *sentence, EOS)
        stored |= {line[i : i + n] for n in range(2, order + 1) for i in range(len(line) - n + 1)}
    return node_keys([(grams.contexts, grams.words) for grams in counts.grams], V), stored


def node(keys, gram):
    """Step by step from the empty context; -1 where there is none."""
    at = torch.tensor(0)
    for word in gram:
        at = find(keys, at * V + word)
    return int(at)


def listed(keys, order, rows):
    numbers = torch.arange(len(keys), dtype=torch.float64)
    return [
        [
            (tuple(words), log_prob)
            for block in level
            for words, log_prob in zip(block[0].tolist(), block[1], strict=True)
        ]
        for level in blocks(keys, numbers, numbers, vocabulary=V, order=order, rows=rows)
    ]


@given(sentences)
def test_an_ngram_is_found_if_and_only_if_it_occurs(text):
    keys, stored = trie(text)
    assert (keys.diff() > 0).all()
    assert len(keys) == len(stored)
    nodes = {gram: node(keys, gram) for gram in stored}
    assert sorted(nodes.values()) == list(range(1, len(stored) + 1))
    for gram in ((3, 3, 3), (6, 5), (EOS, 3), (4, EOS, 4)):
        assert (node(keys, gram) > 0) == (gram in stored)


@given(sentences, st.integers(1, 4))
def test_ngrams_are_listed_by_length_each_once_in_blocks_of_any_size(text, rows):
    keys, stored = trie(text)
    levels = listed(keys, 3, rows)
    assert level_ends(keys, V, 3) == [sum(len(gram) <= length for gram in stored) for length in (1, 2, 3)]
    for length, level in enumerate(levels, start=1):
        assert [gram for gram, _ in level] == sorted(gram for gram in stored if len(gram) == length)
        assert all(node(keys, gram) == int(number) + 1 for gram, number in level)


@given(sentences, st.randoms(use_true_random=False))
def test_keys_do_not_depend_on_the_order_in_which_ngrams_come(text, random):
    keys, stored = trie(text)
    levels = []
    for length in (1, 2, 3):
        grams = [list(gram) for gram in sorted(stored) if len(gram) == length]
        random.shuffle(grams)
        levels.append(torch.tensor(grams, dtype=torch.int64).reshape(-1, length))
    again, orders = keys_of(levels, V)
    assert torch.equal(again, keys)
    for grams, order in zip(levels, orders, strict=True):
        rows = grams[order].tolist()
        assert rows == sorted(rows)


@pytest.mark.parametrize(
    ("bigrams", "words", "what"),
    [([[3, 4], [3, 4]], [3, 4], "twice"), ([[3, 4], [9, 4]], [9, 4], "no context")],
)
def test_what_cannot_be_stored_is_named(bigrams, words, what):
    with pytest.raises(MisplacedNgram, match=what) as problem:
        keys_of([torch.arange(V).unsqueeze(1), torch.tensor(bigrams)], V)
    assert problem.value.words == words
