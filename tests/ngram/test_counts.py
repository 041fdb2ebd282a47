"""Counts of n-grams against counting by hand."""

from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.ngram.counts import count_ngrams, counts_of_counts
from unrolled.text.tokens import BOS, EOS, PAD

A, B, V = 4, 5, 7


def stream(*sentences):
    return torch.tensor([word for sentence in sentences for word in (BOS, *sentence, EOS)], dtype=torch.int32)


def spelt(counts, length):
    """{n-gram of ``length``: its index}, from contexts and last words."""
    grams = counts.grams[length - 1]
    if length == 1:
        return {(word,): word for word in range(V)}
    before = {index: gram for gram, index in spelt(counts, length - 1).items()}
    pairs = zip(grams.contexts.tolist(), grams.words.tolist(), strict=True)
    return {(*before[context], word): index for index, (context, word) in enumerate(pairs)}


@given(st.lists(st.lists(st.integers(3, V - 1), max_size=5), min_size=1, max_size=8))
def test_every_ngram_is_counted_as_often_as_it_occurs_within_sentences(sentences):
    counts = count_ngrams(stream(*sentences), order=3, vocabulary=V)
    for length in (1, 2, 3):
        by_hand, initial = Counter(), set()
        for sentence in sentences:
            line = (BOS, *sentence, EOS)
            by_hand.update(line[start : start + length] for start in range(len(line) - length + 1))
            initial.add(line[:length])
        if length == 1:
            del by_hand[(BOS,)]  # it is never predicted
        grams, index = counts.grams[length - 1], spelt(counts, length)
        found = {gram: int(grams.counts[number]) for gram, number in index.items()}
        assert {gram: count for gram, count in found.items() if count} == by_hand
        assert {gram for gram, number in index.items() if grams.initial[number]} == {
            g for g in initial if len(g) == length
        }


def test_suffixes_and_contexts_are_indices_of_the_shorter_ngrams():
    counts = count_ngrams(stream([A, B], [B, A, B]), order=3, vocabulary=V)
    two, three = spelt(counts, 2), spelt(counts, 3)
    for gram, number in three.items():
        assert int(counts.grams[2].suffixes[number]) == two[gram[1:]]
        assert int(counts.grams[2].contexts[number]) == two[gram[:-1]]
    assert counts.grams[2].context_number == len(two)


def test_ngrams_are_sorted_by_context_then_word():
    grams = count_ngrams(stream([B, A, B, B], [A, A]), order=2, vocabulary=V).grams[1]
    keys = (grams.contexts * V + grams.words).tolist()
    assert keys == sorted(set(keys))


def test_sums_are_those_of_each_context():
    counts = count_ngrams(stream([A, B], [A, A]), order=2, vocabulary=V)
    sums = counts.grams[1].sums(counts.grams[1].counts)
    assert sums.tolist() == [0, 2, 0, 0, 3, 1, 0]  # after <s>, a, b


def test_all_words_but_two_can_be_predicted():
    counts = count_ngrams(stream([A]), order=1, vocabulary=V)
    assert (~counts.predictable).nonzero().flatten().tolist() == [PAD, BOS]
    assert counts.words == V - 2


def test_below_the_first_order_every_word_is_as_likely():
    counts = count_ngrams(stream([A, B]), order=2, vocabulary=V)
    lowest = counts.below(1, [])
    assert lowest.tolist() == pytest.approx([0, 0, *[1 / (V - 2)] * (V - 2)])
    words = torch.arange(V).double()
    assert counts.below(2, [words]).tolist() == counts.grams[1].words.tolist()  # h' is empty: p of the last word


def test_counts_of_counts_stop_at_the_most():
    assert counts_of_counts(torch.tensor([1, 3, 1, 9, 2, 0, 1]), 3) == [3, 1, 1]
