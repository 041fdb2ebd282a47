"""Tables: the chosen columns become the two sides, and a table that is not one is refused in one line."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from unrolled.data.corpus import CorpusText
from unrolled.data.module import DataModule
from unrolled.data.tsv import TSV
from unrolled.errors import UserError
from unrolled.text.characters import Characters
from unrolled.text.features import FeatureTokenizer
from unrolled.text.sides import PerSide
from unrolled.text.tokenizer import Words

NAMED = "lemma\ttags\tform\nwalk\tV;PST\twalked\nsee\tV;3;SG\tsees\n"


def corpus(folder, text=NAMED, name="t.tsv", **changes):
    data = text if isinstance(text, bytes) else text.encode()
    (folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    columns = {"source": "lemma", "target": "form", "features": "tags"} | changes.pop("columns", {})
    paths = dict.fromkeys(("train", "val", "test"), str(folder / name)) | changes
    return TSV(columns=columns, **paths)


def sides(folder, *arguments, **changes):
    text = CorpusText(corpus(folder, *arguments, **changes), folder / "cache")
    return text.sources("train"), text.references("train")


def test_columns_have_numbers_or_names(tmp_path):
    by_name = sides(tmp_path)
    assert by_name == (["walk\tV;PST", "see\tV;3;SG"], ["walked", "sees"])
    numbers = {"source": 1, "target": 3, "features": 2}
    without = NAMED.partition("\n")[2]
    assert sides(tmp_path, without, columns=numbers) == by_name
    assert sides(tmp_path, NAMED, columns=numbers)[0][0] == "lemma\ttags"  # by number, every line is an example
    assert sides(tmp_path, NAMED, columns={"source": 1, "features": None}) == (["walk", "see"], ["walked", "sees"])


def test_several_columns_of_a_side_are_joined(tmp_path):
    text = "a\tb\tc\td\n"
    assert sides(tmp_path, text, columns={"source": [1, 3], "target": [2, 1], "features": [4, 2]}) == (
        ["a c\td\tb"], ["b a"],
    )  # fmt: skip


def test_compressed_tables_line_ends_and_byte_order_marks_make_no_difference(tmp_path):
    plain = sides(tmp_path)
    assert sides(tmp_path, name="t.tsv.gz") == plain
    assert sides(tmp_path, b"\xef\xbb\xbf" + NAMED.replace("\n", "\r\n").encode()) == plain


cell = st.text(st.characters(codec="utf-8", exclude_characters="\0\n\t\r\ufeff"), max_size=5)


@given(rows=st.lists(st.tuples(cell, cell), min_size=1))
def test_nothing_within_a_cell_has_a_meaning(tmp_path_factory, rows):
    folder = tmp_path_factory.mktemp("cells")
    text = "".join(f"{one}\t{other}\n" for one, other in rows)
    found = sides(folder, text, columns={"source": 1, "target": 2, "features": None})
    assert found == ([one for one, _ in rows], [other for _, other in rows])


def test_a_pattern_stands_for_the_one_file_that_fits(tmp_path):
    (tmp_path / "low").mkdir()
    (tmp_path / "low" / "ady.tsv").write_text(NAMED)
    assert sides(tmp_path, train=str(tmp_path / "*" / "ady.tsv"))[1] == ["walked", "sees"]
    (tmp_path / "high").mkdir()
    (tmp_path / "high" / "ady.tsv").write_text(NAMED)
    with pytest.raises(UserError, match=r"data.train=.*several files fit, such as .*high.*low"):
        sides(tmp_path, train=str(tmp_path / "*" / "ady.tsv"))
    with pytest.raises(UserError, match=r"data.val=.*no file fits"):
        sides(tmp_path, val=str(tmp_path / "*" / "bul.tsv"))


@pytest.mark.parametrize(
    ("text", "columns", "says"),
    [
        ("lemma\ttags\tform\na\tV\tb\na\tV\n", {}, r"t\.tsv:3: 2 columns, and the first line names 3"),
        ("lemma\ttags\tform\n\n", {}, r"t\.tsv:2: a blank line"),
        ("lemma\ttags\tform\na\tV\tb\tc\n", {}, r"t\.tsv:2: 4 columns"),
        ("lemma\ttags\tform\n", {}, r"t\.tsv: there is no line after the names"),
        ("lemma\ttags\tform\tform\na\tb\tc\td\n", {}, r"2 columns have the name form; give the column's number"),
        (NAMED, {"target": "from"}, r"t\.tsv:1: no column has the name from; did you mean form"),
        ("a\tb\n", {"source": 1, "target": 3, "features": None}, r"t\.tsv:1: 2 columns, and data.columns needs 3"),
        ("a b\n", {"source": 1, "target": 2, "features": None}, r"t\.tsv:1: 1 column, and"),
        (b"a\tb\nsch\xf6n\tc\n", {"source": 1, "target": 2, "features": None}, r"t\.tsv:2: byte 0xf6 is not UTF-8"),
        (b"a\tb\0\n", {"source": 1, "target": 2, "features": None}, r"t\.tsv:1: there is a NUL byte"),
        ("", {}, r"t\.tsv: the file is empty"),
    ],
)  # fmt: skip
def test_a_table_that_is_not_one_is_refused(text, columns, says, tmp_path):
    with pytest.raises(UserError, match=says) as problem:
        sides(tmp_path, text, columns=columns)
    assert "\n" not in str(problem.value)


def test_a_missing_or_damaged_file_is_a_mistake(tmp_path):
    with pytest.raises(UserError, match=r"nothing\.tsv: there is no such file"):
        sides(tmp_path, test=str(tmp_path / "nothing.tsv"))
    (tmp_path / "half.gz").write_bytes(gzip.compress(NAMED.encode())[:-9])
    with pytest.raises(UserError, match=r"half\.gz:\d+: the gzip file is incomplete"):
        sides(tmp_path, train=str(tmp_path / "half.gz"))
    with pytest.raises(UserError, match=r"data\.feature_separator="):
        corpus(tmp_path, feature_separator=" ")


def test_features_are_tokens_of_the_source_and_letters_are_cut_as_chosen(tmp_path):
    choice = PerSide(source=Characters(), target=Words())
    data = DataModule(corpus=corpus(tmp_path), tokenizer=choice, cache=tmp_path / "cache", max_tokens=50, max_length=20,
                      seed=1)  # fmt: skip
    data.prepare_data()
    data.setup()
    assert isinstance(data.source_tokenizer, FeatureTokenizer)
    (batch,) = data.train_dataloader()
    rows = dict(zip(batch.index.tolist(), batch.source.tolist(), strict=True))
    assert data.source_tokenizer.pieces([token for token in rows[1] if token][:-1]) == [
        "s", "e", "e", "[V]", "[3]", "[SG]",
    ]  # fmt: skip
    assert data.target_tokenizer.size == 4 + 2


def test_the_table_that_changes_is_read_again(tmp_path):
    assert sides(tmp_path)[1] == ["walked", "sees"]
    assert sides(tmp_path, NAMED.replace("sees", "saw"))[1] == ["walked", "saw"]
