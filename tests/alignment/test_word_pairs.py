"""Words and the word pairs of a text as numbers."""

from unrolled.alignment.word_pairs import number_words


def test_words_get_numbers_and_so_do_two_words_of_one_pair():
    text = number_words(["x y", "", "y x y", "z"], ["A", "B", "A", ""])
    assert (text.source_words, text.target_words, text.lines, text.target_tokens) == (3, 2, 4, 2)
    assert list(zip(text.source.tolist(), text.target.tolist(), strict=True)) == [(0, 0), (1, 0)]
    sentences = {
        int(line): (source.tolist(), target.tolist(), pairs.tolist())
        for block in text.blocks
        for line, source, target, pairs in zip(block.lines, block.source, block.target, block.pairs, strict=True)
    }
    assert sentences == {0: ([0, 1], [0], [[0], [1]]), 2: ([1, 0, 1], [0], [[1], [0], [1]])}


def test_word_numbers_do_not_overflow():
    """Two words' number is larger than 32 bits with 70,000 words a side."""
    words = [f"w{number}" for number in range(70_000)]
    text = number_words([*words, "w69999 w0"], [*words, "w69999"])
    assert (text.source.max(), text.target.max(), len(text.source)) == (69_999, 69_999, 70_001)
    pairs = set(zip(text.source.tolist(), text.target.tolist(), strict=True))
    assert pairs == {(number, number) for number in range(70_000)} | {(0, 69_999)}
