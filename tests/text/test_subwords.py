import pytest

from unrolled.alignment.pieces import words_of_ids
from unrolled.errors import UserError
from unrolled.inference.columns import Column
from unrolled.text.subwords import Codes, SubwordTokenizer, is_cut, read_codes
from unrolled.text.tokenizer import load_tokenizer
from unrolled.text.tokens import BOS, EOS, PAD, UNK

# the example of Sennrich et al. 2016, algorithm 1: low, lower, newest, widest
MERGES = ["e s", "es t</w>", "l o", "lo w", "n e", "ne w", "new est</w>", "low </w>"]
NEW = ["#version: 0.2", *MERGES[:-1], "lo w</w>"]
OLD = ["e s", "es t", "est </w>", "l o", "lo w", "n e", "ne w", "new est</w>", "low </w>"]


@pytest.mark.parametrize("lines", [NEW, OLD], ids=["0.2", "0.1"])
@pytest.mark.parametrize(
    ("word", "pieces"),
    [
        ("low", ["low"]),
        ("newest", ["newest"]),
        ("lower", ["low@@", "e@@", "r"]),
        ("widest", ["w@@", "i@@", "d@@", "est"]),
        ("lowest", ["low@@", "est"]),
        ("x", ["x"]),
        ("lowlow", ["low@@", "low"]),
        ("äöäö", ["ä@@", "ö@@", "ä@@", "ö"]),
    ],
)
def test_words_are_cut_by_the_merges_in_the_order_in_which_they_were_learned(lines, word, pieces):
    codes = Codes(lines)
    assert codes.cut(word) == pieces
    assert codes.cut(word) == pieces  # again, from memory


def test_of_two_merges_the_earlier_wins_and_applies_everywhere():
    codes = Codes(["#version: 0.2", "b c", "a b", "a bc", "c a"])
    assert codes.cut("abcabcx") == ["abc@@", "abc@@", "x"]
    assert codes.cut("abx") == ["ab@@", "x"]


@pytest.fixture
def tokenizer():
    return SubwordTokenizer(["low@@", "est", "low", "e@@", "r"], Codes(NEW))  # ids 4 to 8


def test_text_becomes_pieces_and_words_again(tokenizer):
    line = "low lower  lowest wow"
    ids = [6, 4, 7, 8, 4, 5, UNK, UNK, UNK]
    assert tokenizer.encode([line, ""]) == [ids, []]
    assert tokenizer.words_of_pieces(line) == [0, 1, 1, 1, 2, 2, 3, 3, 3]
    assert tokenizer.decode([BOS, *ids[:6], EOS, PAD]) == "low lower lowest"
    assert tokenizer.decode([6, 4]) == "low low"  # cut off in the middle of a word


def test_pieces_are_marked_where_a_word_begins(tokenizer):
    pieces = tokenizer.pieces([6, 4, 7, 8, UNK, 4, EOS])
    assert pieces == ["▁low", "▁low", "e", "r", "▁<unk>", "▁low", "</s>"]
    assert words_of_ids(tokenizer, [6, 4, 7, 8, UNK, 4, EOS]) == [0, 1, 1, 1, 2, 3, -1]
    assert tokenizer.pieces(range(4)) == ["<pad>", "<s>", "</s>", "▁<unk>"]


def test_an_unknown_piece_makes_a_word_unknown(tokenizer):
    line = "low wow lower"
    ids = tokenizer.encode([line])[0]
    assert ids.count(UNK) == 3
    scored = [(piece, -1.0) for piece in tokenizer.pieces([*ids, EOS])]
    assert Column("run", tokenizer).unknown(line, scored) == [1]


def test_without_codes_the_words_of_a_line_are_pieces_already():
    tokenizer = SubwordTokenizer(["low@@", "est"])
    assert tokenizer.encode(["low@@ est est"]) == [[4, 5, 5]]
    assert tokenizer.words_of_pieces("low@@ est est") == [0, 1, 2]
    assert tokenizer.decode([4, 5, 5]) == "lowest est"


def test_it_is_saved_with_its_codes_and_has_another_digest_without(tokenizer, tmp_path):
    tokenizer.save(tmp_path / "with")
    plain = SubwordTokenizer(["low@@", "est", "low", "e@@", "r"])
    plain.save(tmp_path / "without")
    for one, name in ((tokenizer, "with"), (plain, "without")):
        again = load_tokenizer(tmp_path / name)
        assert type(again) is SubwordTokenizer
        assert again.sha256 == one.sha256
        assert again.encode(["lowest low@@"]) == one.encode(["lowest low@@"])
    assert tokenizer.sha256 != plain.sha256


def test_only_the_ascii_space_separates_the_symbols_of_a_merge(tmp_path):
    text = "#version: 0.2\n0\u00a0 0\n0 0</w>\n\u3000 x</w>\n\u00a0 %</w>\n"
    (tmp_path / "codes").write_text(text, encoding="utf-8")
    codes = read_codes(tmp_path / "codes")
    assert codes.cut("1000") == ["1@@", "0@@", "00"]
    assert codes.cut("\u3000x") == ["\u3000x"]
    assert codes.cut("5\u00a0%") == ["5@@", "\u00a0%"]


@pytest.mark.parametrize("text", ["#version: 0.2\na\n", "a b c\n"])
def test_what_are_no_codes_is_refused(text, tmp_path):
    (tmp_path / "codes").write_text(text)
    with pytest.raises(UserError, match="these are not subword-nmt codes"):
        read_codes(tmp_path / "codes")


def test_a_vocabulary_of_pieces_is_recognised():
    assert is_cut(["a", "b@@"])
    assert not is_cut(["a", "@", "b@"])


def test_a_word_of_a_million_letters_is_one_piece_at_once():
    codes = Codes(NEW)
    assert codes.cut("x" * 1_000_000) == ["x" * 1_000_000]
    assert len(codes.cut("x" * 1_000)) == 1_000
