import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.metrics.attention_counts import AttentionCounts

# source: words 0 (pieces 0, 1), 1, 2 and </s>; target: words 0, 1 (pieces 1, 2) and </s>
SOURCE, TARGET = [0, 0, 1, 2], [0, 1, 1]
WEIGHTS = [
    [0.4, 0.4, 0.1, 0.1, 0.0],
    [0.0, 0.0, 0.5, 0.0, 0.5],
    [0.0, 0.2, 0.3, 0.0, 0.5],
    [0.0, 0.0, 0.0, 0.0, 1.0],
]


def counted(gold=None):
    counts = AttentionCounts()
    counts.add(WEIGHTS, SOURCE, TARGET, gold)
    return counts


def test_figures_are_of_words():
    figures = counted().figures()
    rows = [[0.8, 0.1, 0.1, 0.0], [0.1, 0.4, 0.0, 0.5]]
    entropy = -sum(p * math.log(p) for row in rows for p in row if p > 0)
    assert figures == {
        "attention_entropy": pytest.approx(entropy / 2),
        "unattended": 1 / 3,  # source word 2; word 1 of the target looks at </s> most, and of words at 1
        "words_per_attended": 2 / 2,
    }


def test_words_without_pieces_do_not_count():
    """A no-break space between two spaces is a word for white space, and nothing for SentencePiece."""
    odd = AttentionCounts()
    odd.add(WEIGHTS, [0, 0, 2, 4], [0, 3, 3], ({(0, 0), (4, 3)}, {(2, 3)}))
    assert odd == counted(({(0, 0), (2, 1)}, {(1, 1)}))


def test_gold_links_bring_the_alignment_figures():
    figures = counted(({(0, 0), (2, 1)}, {(0, 0), (2, 1), (1, 1)})).figures()
    # found: 0-0, 1-1; sure: 0-0, 2-1
    assert figures["aer"] == pytest.approx(1 - (1 + 2) / (2 + 2))
    assert figures["alignment_precision"] == 1
    assert figures["alignment_recall"] == 0.5


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 99))
def test_entropy_lies_between_none_and_that_of_equal_weights(source, target, seed):
    weights = np.random.default_rng(seed).dirichlet(np.ones(source + 1), size=target + 1)
    counts = AttentionCounts()
    counts.add(weights, list(range(source)), list(range(target)), None)
    figures = counts.figures()
    if target:
        assert 0 <= figures["attention_entropy"] <= math.log(source + 1) + 1e-9
        assert 0 <= figures["unattended"] < 1
    else:
        assert math.isnan(figures["attention_entropy"])


def test_shares_of_a_corpus_are_merged_before_the_division():
    gold = ({(0, 0)}, {(0, 0)})
    whole, parts = counted(gold), [counted(gold), counted(gold)]
    whole.add(np.eye(3), [0, 1], [0, 1], ({(0, 1)}, {(0, 1)}))
    parts[1] = AttentionCounts()
    parts[1].add(np.eye(3), [0, 1], [0, 1], ({(0, 1)}, {(0, 1)}))
    merged = AttentionCounts()
    merged.merge(parts)
    assert merged == whole


def test_an_empty_sentence_counts_nothing():
    counts = AttentionCounts()
    counts.add([[1.0]], [], [], None)
    assert counts == AttentionCounts()
    counts.add([[1.0], [1.0]], [], [0], (set(), set()))  # a target word and no source: it looks at </s>
    assert (counts.target_words, counts.attended, counts.alignment.links) == (1, 0, 0)
