import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.data.tokenizer import (
    BOS,
    EOS,
    PAD,
    SPECIALS,
    UNK,
    SentencePiece,
    Words,
    load_tokenizer,
    load_tokenizers,
    save_tokenizers,
    train_sentencepiece,
    train_words,
)
from unrolled.errors import UserError

TEXT = [f"the {colour} {thing} sees {other} things" for colour in ("red", "blue") for thing in ("cat", "dog", "bird")
        for other in ("many", "few", "some", "seven")]  # fmt: skip


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_sentencepiece_round_trip_and_ids(tmp_path, kind):
    tokenizer = train_sentencepiece(TEXT, kind=kind, size=50)
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(TEXT)] == TEXT
    assert tokenizer.pieces([PAD, BOS, EOS, UNK]) == list(SPECIALS)
    assert tokenizer.decode([BOS, *tokenizer.encode(["red cat"])[0], EOS, PAD]) == "red cat"
    tokenizer.save(tmp_path)
    again = load_tokenizer(tmp_path)
    assert (again.encode(TEXT), again.sha256, again.size) == (tokenizer.encode(TEXT), tokenizer.sha256, tokenizer.size)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_size_too_large_is_lowered_with_a_notice(caplog, kind):
    with caplog.at_level(logging.INFO):
        tokenizer = train_sentencepiece(TEXT, kind=kind, size=5000)
    assert 20 < tokenizer.size < 5000
    assert f"lowered to {tokenizer.size}" in caplog.text
    assert [tokenizer.decode(ids) for ids in tokenizer.encode(TEXT)] == TEXT


def test_training_is_deterministic():
    first, second = (train_sentencepiece(TEXT, kind="unigram", size=40) for _ in range(2))
    assert first.sha256 == second.sha256


def test_long_lines_take_part_in_training():
    long = "xyzzy " * 2000
    assert UNK not in train_sentencepiece([*TEXT, long], kind="bpe", size=60).encode(["xyzzy"])[0]


def test_mistakes_are_told():
    with pytest.raises(UserError, match="raise size"):
        train_sentencepiece(TEXT, kind="unigram", size=10)
    with pytest.raises(UserError, match="blank"):
        train_sentencepiece(["", "  "], kind="unigram", size=10)
    with pytest.raises(UserError, match="unigram or bpe"):
        SentencePiece(kind="word")
    with pytest.raises(UserError, match="no word"):
        train_words(["", " "])


def test_words_are_counted_and_cut_off():
    tokenizer = train_words(["b a a", "c b a"], size=len(SPECIALS) + 2)
    assert tokenizer.pieces(range(tokenizer.size)) == [*SPECIALS, "a", "b"]
    assert tokenizer.encode(["a c  b", ""]) == [[4, UNK, 5], []]
    assert tokenizer.decode([BOS, 4, UNK, 5, EOS]) == "a <unk> b"
    assert train_words(["b a a", "c b a"], min_count=2).size == len(SPECIALS) + 2


@settings(max_examples=50)
@given(st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=15), min_size=1, max_size=8))
def test_any_text_survives_as_words(tmp_path_factory, lines):
    """Special words written in a text, and white space that is not ASCII, are only text."""
    lines = [line.replace("\n", " ") for line in lines]
    if not any(line.split() for line in lines):
        return
    folder = tmp_path_factory.mktemp("words")
    try:
        tokenizer = train_words(lines)
    except UserError:
        return
    tokenizer.save(folder)
    again = load_tokenizer(folder)
    for line, ids in zip(lines, again.encode(lines), strict=True):
        assert all(UNK <= i < again.size for i in ids)
        if UNK not in ids:
            assert again.decode(ids).split() == line.split()


def test_joint_tokenizers_are_one_object_after_loading(tmp_path):
    one, other = train_words(["a b"]), train_words(["c d"])
    save_tokenizers(tmp_path / "joint", one, one)
    save_tokenizers(tmp_path / "separate", one, other)
    save_tokenizers(tmp_path / "monolingual", None, one)
    source, target = load_tokenizers(tmp_path / "joint")
    assert source is target
    source, target = load_tokenizers(tmp_path / "separate")
    assert source is not target
    assert load_tokenizers(tmp_path / "monolingual")[0] is None
    with pytest.raises(UserError, match="no tokenizer"):
        load_tokenizers(tmp_path)


def test_settings_train_from_files(tmp_path):
    (tmp_path / "a").write_text("\n".join(TEXT))
    assert Words().train([tmp_path / "a"]).size == len(SPECIALS) + len({word for line in TEXT for word in line.split()})
    assert SentencePiece(kind="bpe", size=45).train([tmp_path / "a", tmp_path / "a"]).size == 45
