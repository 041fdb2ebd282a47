"""Which pieces a lexicon finds likely for each other."""

import random

import numpy as np

from unrolled.alignment.piece_lexicon import LEAST, learn


def learnt(pairs, most=3):
    sources, targets = zip(*pairs, strict=True)
    return learn(sources, targets, source_vocabulary=30, target_vocabulary=40, most=most)


def test_each_piece_has_its_translation_first():
    drawn = random.Random(1)
    sources = [[drawn.randrange(4, 24) for _ in range(drawn.randrange(1, 7))] for _ in range(200)]
    lexicon = learnt([(ids, [10 + piece for piece in ids]) for ids in sources])
    assert lexicon.likely.shape == (30, 3)
    assert lexicon.likely[4:24, 0].tolist() == list(range(14, 34))
    assert (lexicon.likely[:4] == -1).all()  # never seen
    assert (lexicon.likely[24:] == -1).all()


def test_the_less_likely_come_later_and_accidents_not_at_all():
    lexicon = learnt([([5], [8])] * 6 + [([5], [7])] * 3 + [([5], [9])] + [([6, 6], [])] * 2, most=4)
    assert lexicon.likely[5].tolist() == [8, 7, 9, -1]
    assert (lexicon.likely[6] == -1).all()
    assert 1 / LEAST > 1000


def test_frequent_pieces_come_first_then_low_ids():
    lexicon = learnt([([5], [8, 8, 9]), ([6], [9, 8, 7])])
    assert lexicon.frequent[:5].tolist() == [8, 9, 7, 0, 1]
    assert np.array_equal(np.sort(lexicon.frequent), np.arange(40))
