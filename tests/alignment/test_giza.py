"""GIZA++'s A3 files: what is written so is read back, and what is not is refused."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scripts import call_script

from unrolled.alignment.giza import parse_a3, read_direction
from unrolled.errors import UserError

HEAD = "# Sentence pair ({}) source length 3 target length 2 alignment score : 0.0123"
FORWARD = [HEAD.format(1), "das kleine Haus", "NULL ({ }) the ({ 1 }) small ({ 2 }) house ({ 3 }) "]
FORWARD += [HEAD.format(2), "er geht nicht", "NULL ({ 3 }) he ({ 1 }) walks ({ 2 }) "]
BACKWARD = [HEAD.format(2), "he walks", "NULL ({ }) er ({ 1 }) geht ({ 2 }) nicht ({ }) "]
BACKWARD += [HEAD.format(1), "the small house", "NULL ({ }) das ({ 1 2 }) kleine ({ }) Haus ({ 3 })"]


def write(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def test_both_directions_are_read_in_the_order_of_their_numbers(tmp_path):
    assert read_direction(write(tmp_path / "f", FORWARD)) == [{(0, 0), (1, 1), (2, 2)}, {(0, 0), (1, 1)}]
    assert read_direction(write(tmp_path / "b", BACKWARD), backward=True) == [
        {(0, 0), (1, 0), (2, 2)},
        {(0, 0), (1, 1)},
    ]
    assert read_direction(write(tmp_path / "p", ["0-0 1-2", ""]), backward=True) == [{(0, 0), (1, 2)}, set()]


words = st.lists(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1), min_size=1, max_size=6)


@given(words, words, st.data())
def test_what_is_written_is_read_back(generated, generating, data):
    owners = data.draw(st.lists(st.integers(0, len(generating)), min_size=len(generated), max_size=len(generated)))
    numbers = [[j + 1 for j, owner in enumerate(owners) if owner == i] for i in range(len(generating) + 1)]
    line = "".join(
        f"{word} ({{ {''.join(f'{j} ' for j in own)}}}) "
        for word, own in zip(["NULL", *generating], numbers, strict=True)
    )
    links = parse_a3(" ".join(generated), line)
    assert links == {(owner - 1, j) for j, owner in enumerate(owners) if owner}


def test_words_are_between_ascii_white_space():
    assert parse_a3("zehn\u2009tausend Euro", "NULL ({ }) 10\u00a0000 ({ 1 }) € ({ 2 }) ") == {(0, 0), (1, 1)}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({2: "the ({ 1 })"}, ":3: 'the ({ 1 })' is not like NULL"),
        ({2: "NULL ({ }) the ({ 1 "}, ":3: "),
        ({2: "NULL ({ }) the ({ 4 }) "}, ":3: ({ 4 }) is beyond the 3 words"),
        ({1: "10\u00a0000 a b", 2: "NULL ({ }) the ({ 4 }) "}, ":3: ({ 4 }) is beyond the 3 words"),
        ({3: "er geht nicht"}, ":4: 'er geht nicht' is not how GIZA++ begins"),
        ({3: HEAD.format(1)}, "sentence pair (2) is missing, or another occurs twice"),
    ],
)
def test_what_is_no_such_file_is_refused_with_its_line(change, said, tmp_path):
    path = write(tmp_path / "a3", [change.get(number, line) for number, line in enumerate(FORWARD)])
    with pytest.raises(UserError) as refused:
        read_direction(path)
    assert said in str(refused.value)
    with pytest.raises(UserError):
        read_direction(write(tmp_path / "cut", FORWARD[:-1]))


def test_align_makes_one_of_two_a3_files(tmp_path):
    write(tmp_path / "b.A3.final", BACKWARD)
    (tmp_path / "f.A3.final.gz").write_bytes(gzip.compress("".join(f"{line}\n" for line in FORWARD).encode()))
    both = ["forward=f.A3.final.gz", "backward=b.A3.final"]
    done = call_script("align.py", *both, "symmetrization=intersection", cwd=tmp_path)
    assert done.stdout == "0-0 2-2\n0-0 1-1\n"
    assert call_script("align.py", *both, "symmetrization=union", cwd=tmp_path).stdout == "0-0 1-0 1-1 2-2\n0-0 1-1\n"
