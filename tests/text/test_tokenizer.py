import logging
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.errors import UserError
from unrolled.text import tokenizer as module
from unrolled.text.sides import load_tokenizers
from unrolled.text.tokenizer import (
    SentencePiece,
    Words,
    WordTokenizer,
    at_spaces,
    load_tokenizer,
    save_tokenizers,
    train_sentencepiece,
    train_words,
)
from unrolled.text.tokens import BOS, EOS, PAD, SPECIALS, UNK, split_words

LINES = [f"the {size} {colour} {thing} sees a{ending}" for size in ("big", "small") for colour in ("red", "blue")
         for thing in ("house", "tree", "mouse") for ending in ("", " bird", " horse that runs")]  # fmt: skip
ALPHABET = sorted(set("".join(LINES)) - {" "})


@pytest.fixture(scope="module", params=["unigram", "bpe", "words"])
def tokenizer(request):
    return train_words(LINES) if request.param == "words" else train_sentencepiece(LINES, kind=request.param, size=50)


def test_special_tokens_have_the_same_ids_everywhere(tokenizer):
    assert (PAD, BOS, EOS, UNK) == (0, 1, 2, 3)
    assert tokenizer.pieces(range(4)) == list(SPECIALS)


def test_encoding_and_decoding_gives_the_text(tokenizer):
    encoded = tokenizer.encode(LINES)
    assert [tokenizer.decode(ids) for ids in encoded] == LINES
    assert all(EOS < token < tokenizer.size for ids in encoded for token in ids)
    assert all(UNK not in ids for ids in encoded)


def test_special_tokens_leave_no_trace_in_text(tokenizer):
    (ids,) = tokenizer.encode(LINES[:1])
    assert tokenizer.decode([BOS, *ids, EOS, PAD, PAD]) == LINES[0]


@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0\n")))
def test_text_never_makes_padding_or_begin_or_end(tokenizer, text):
    for line in (text, f"{text} <s> </s> <pad> {text}</s>"):
        (ids,) = tokenizer.encode([line])
        assert not {PAD, BOS, EOS} & set(ids)
        assert len(tokenizer.pieces(ids)) == len(ids)
        tokenizer.decode(ids)


def test_no_lines_and_blank_lines_have_no_tokens(tokenizer):
    assert tokenizer.encode([]) == []
    assert tokenizer.encode(["", " \t ", "tree"])[:2] == [[], []]


def test_a_saved_tokenizer_is_the_same_again(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    again = load_tokenizer(tmp_path)
    assert (again.size, again.sha256) == (tokenizer.size, tokenizer.sha256)
    assert again.encode(LINES) == tokenizer.encode(LINES)


def test_a_folder_without_tokenizer_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match=f"{tmp_path}: there is no tokenizer"):
        load_tokenizer(tmp_path)


word = st.text(st.characters(codec="utf-8", exclude_characters="\0\n \t\r\v\f"), min_size=1)
ODD_WORDS = ["a\u0085b\u2028c\u00a0\x1cd", "\ufeff"]


@given(st.lists(word.filter(lambda drawn: drawn not in {*SPECIALS, *ODD_WORDS}), unique=True))
def test_odd_characters_inside_words_survive_the_file(tmp_path_factory, words):
    folder = tmp_path_factory.mktemp("words")
    words = [*words, *ODD_WORDS]
    WordTokenizer(words).save(folder)
    again = load_tokenizer(folder)
    assert again.pieces(range(4, again.size)) == words
    assert again.encode([" ".join(words)]) == [[*range(4, again.size)]]


def test_words_are_ordered_by_count_and_cut_at_size_and_minimum():
    lines = ["c b a", "b c", "c <unk> <s> </s> <pad>", "d\u0085e"]
    assert train_words(lines).pieces(range(4, 8)) == ["c", "b", "a", "d\u0085e"]
    assert train_words(lines, size=6).size == 6
    assert train_words(lines, min_count=2).pieces(range(4, 6)) == ["c", "b"]
    assert train_words(lines, size=6).encode(["c a b <unk> </s>"]) == [[4, UNK, 5, UNK, UNK]]


def test_source_and_target_are_one_object_if_they_are_joint(tmp_path):
    one, other = train_words(LINES), train_words(LINES[:2])
    save_tokenizers(tmp_path / "joint", one, one)
    source, target = load_tokenizers(tmp_path / "joint")
    assert source is target
    save_tokenizers(tmp_path / "separate", one, other)
    source, target = load_tokenizers(tmp_path / "separate")
    assert (source.size, target.size) == (one.size, other.size)
    save_tokenizers(tmp_path / "monolingual", None, other)
    assert load_tokenizers(tmp_path / "monolingual")[0] is None


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_size_too_large_is_lowered_with_a_notice(kind, caplog):
    caplog.set_level(logging.INFO)
    trained = train_sentencepiece(LINES, kind=kind, size=8000)
    assert len(ALPHABET) < trained.size < 8000
    (notice,) = caplog.messages
    assert "8000" in notice
    assert f"lowered to {trained.size}" in notice
    assert trained.decode(trained.encode(LINES[:1])[0]) == LINES[0]


def test_training_on_much_text_says_what_it_does(caplog, monkeypatch):
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(module, "MANY", len(LINES))
    train_sentencepiece(LINES[1:], kind="bpe", size=30)
    assert caplog.messages == []
    train_sentencepiece(LINES, kind="bpe", size=30)
    assert caplog.messages == [f"tokenizer: learning 30 pieces from {len(LINES)} lines"]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_size_below_the_alphabet_is_a_mistake(kind):
    with pytest.raises(UserError, match=r"size=7 is too small.* raise size"):
        train_sentencepiece(LINES, kind=kind, size=7)


@pytest.mark.parametrize("lines", [[], ["", " "], ["\u2028", "\t"]])
def test_text_without_words_is_a_mistake(lines):
    for kind in ("unigram", "bpe"):
        with pytest.raises(UserError, match="blank lines"):
            train_sentencepiece(lines, kind=kind, size=50)


def test_words_below_the_minimum_are_a_mistake():
    with pytest.raises(UserError, match="no word occurs min_count=2 times"):
        train_words(["a b c"], min_count=2)


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_repeats_exactly(kind):
    first, second = (train_sentencepiece(LINES, kind=kind, size=60) for _ in range(2))
    assert first.sha256 == second.sha256


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_training_is_quiet(kind, capfd):
    train_sentencepiece(LINES, kind=kind, size=8000)
    assert capfd.readouterr() == ("", "")


def test_a_very_long_line_is_trained_on():
    long = " ".join(["zq" * 3] * 100_000)  # 700,000 bytes
    trained = train_sentencepiece([*LINES, long], kind="bpe", size=60)
    assert UNK not in trained.encode(["zqzqzq"])[0]


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_a_long_line_is_encoded_in_parts_with_the_same_result(kind, monkeypatch):
    trained = train_sentencepiece(LINES, kind=kind, size=60)
    draw = random.Random(1)
    characters = [
        "a",
        "b",
        "é",
        "e\u0301",
        " ",
        "  ",
        " \u0301",
        "\u00a8",
        "\u2581",
        "\u3000",
        "ﬁ",
        ",",
        "1",
        " a",
        "b ",
    ]
    lines = ["".join(draw.choices(characters, k=draw.randint(0, 90))) for _ in range(500)]
    whole = trained.encode(lines)
    monkeypatch.setattr("unrolled.text.tokenizer.LONG_LINE", 10)
    assert sum(len(at_spaces(line)) > 1 for line in lines) > 100
    assert trained.encode(lines) == whole


@pytest.mark.parametrize("kind", ["unigram", "bpe"])
def test_words_and_lines_of_a_quarter_of_a_million_letters_take_seconds(kind):
    draw = random.Random(1)
    word = "".join(draw.choices("abcdefgh", k=250_000))
    line = " ".join("".join(draw.choices("abcdefgh", k=4)) for _ in range(50_000))
    start = time.process_time()
    trained = train_sentencepiece([*LINES, word, line], kind=kind, size=100)
    assert sum(map(len, trained.encode([word, line]))) > 25_000
    assert time.process_time() - start < 20


def test_odd_characters_of_the_text_harm_nothing():
    odd = ["a\u2028b \u2581 c\u2581d", "e\u0085f\x0bg\u00a0h", "\ufeff\u200bi"]
    trained = train_sentencepiece(LINES + odd * 3, kind="unigram", size=90)
    assert trained.decode(trained.encode(["a\u2028b \u2581 c\u2581d"])[0]) == "a b c d"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "word"}, r"tokenizer.kind=word is unknown; give one of unigram, bpe"),
        ({"size": 4}, r"tokenizer.size=4: give a whole number from 5"),
        ({"normalization": "nfc"}, "normalization=nfc is unknown"),
        ({"character_coverage": 0.5}, "character_coverage=0.5"),
    ],
)
def test_options_that_make_no_sense_are_refused(change, message):
    with pytest.raises(UserError, match=message):
        SentencePiece(**change)


def test_a_word_vocabulary_without_words_is_refused():
    with pytest.raises(UserError, match=r"tokenizer.size=3: give a whole number from 5"):
        Words(size=3)


def test_each_option_changes_the_tokenizer(tmp_path):
    path = tmp_path / "text"
    path.write_text("".join(f"{line} ﬁx É{'Q' * (number == 0)}\n" for number, line in enumerate(LINES)))
    base = {"kind": "unigram", "size": 30}
    changes = [{}, {"kind": "bpe"}, {"size": 40}, {"normalization": "nfkc_cf"}, {"normalization": "identity"}]
    trained = [SentencePiece(**base | change).train([path]) for change in changes]
    assert len({each.sha256 for each in trained}) == len(changes)
    covering = [SentencePiece(kind="bpe", size=36, character_coverage=share).train([path]) for share in (1, 0.98)]
    assert [UNK in each.encode(["Q"])[0] for each in covering] == [False, True]


def test_a_large_file_is_sampled_evenly(tmp_path, monkeypatch):
    path = tmp_path / "text"
    path.write_text("".join(f"{letter}\n" for letter in "abcdefg"))
    monkeypatch.setattr(module, "SAMPLE", 3)
    trained = SentencePiece(kind="bpe", size=100).train([path])  # of 7 lines every third: a, d, g
    assert {piece.strip("▁") for piece in trained.pieces(range(4, trained.size))} - {""} == {"a", "d", "g"}


# ---- words and their pieces


ODD = st.text("ab ﬁ㍿\u3000\u200b\u2581\u0301½①é\t\f<>", max_size=12)


@given(line=ODD)
def test_every_piece_has_a_word_and_words_come_in_order(tokenizer, line):
    (ids,) = tokenizer.encode([line])
    numbers = tokenizer.words_of_pieces(line)
    assert len(numbers) == len(ids)
    assert numbers == sorted(numbers)
    assert all(0 <= number <= len(split_words(line)) for number in numbers)


@given(words=st.lists(st.text("abﬁé①½", min_size=1, max_size=5), max_size=5))
def test_the_pieces_of_a_word_are_those_of_its_place_in_the_line(tokenizer, words):
    line = "  ".join(words)
    (ids,) = tokenizer.encode([line])
    numbers = tokenizer.words_of_pieces(line)
    for number, word in enumerate(words):
        own = [token for token, of in zip(ids, numbers, strict=True) if of == number]
        assert tokenizer.decode(own) == tokenizer.decode(tokenizer.encode([word])[0])


@pytest.mark.parametrize("normalization", ["nmt_nfkc", "identity"])
def test_characters_that_normalisation_moves_stay_with_their_word(normalization):
    tokenizer = train_sentencepiece(["ab fi c", "fi ab"], kind="bpe", size=14, normalization=normalization)
    for line in ("aﬁ\u3000b ﬁ c", "a\u2581b c", "\u200b a", "㍿ a", "a \u200b", "ab\u200b fi ab"):
        numbers = tokenizer.words_of_pieces(line)
        written = [""] * (len(split_words(line)) + 1)
        for number, piece in zip(numbers, tokenizer._processor.encode(line, out_type=str), strict=True):
            written[number] += piece.replace("\u2581", "")
        expected = [tokenizer._processor.normalize(word).replace("\u2581", "") for word in split_words(line)]
        assert written == [*expected, ""]


def test_what_follows_the_last_word_belongs_to_the_end():
    tokenizer = train_sentencepiece(["ab c", "c ab"], kind="bpe", size=11, normalization="identity")
    assert split_words("ab \f") == ["ab"]
    assert tokenizer.words_of_pieces("ab \f")[-1] == 1
