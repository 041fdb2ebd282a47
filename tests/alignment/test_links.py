import pytest

from unrolled.alignment.links import known_alignments, parse_pharaoh, read_alignments, training_links
from unrolled.errors import UserError


def test_pharaoh_tells_sure_and_possible_links():
    assert parse_pharaoh("0-1 12p3 2-0") == ({(0, 1), (2, 0)}, {(0, 1), (12, 3), (2, 0)})
    assert parse_pharaoh("1-2 13p4 3-1", base=1) == ({(0, 1), (2, 0)}, {(0, 1), (12, 3), (2, 0)})
    assert parse_pharaoh("  0-0\t1-1 ") == ({(0, 0), (1, 1)}, {(0, 0), (1, 1)})
    assert parse_pharaoh("") == (set(), set())


@pytest.mark.parametrize(
    "line", ["0", "0-", "-1", "0-1-2", "0--1", "a-b", "0:1", "1p", "0 - 1", "²-1", "1_0-1", "0-1p"]
)
def test_anything_else_is_no_link(line):
    with pytest.raises(ValueError, match="is no link"):
        parse_pharaoh(f"0-0 {line}")


def test_reading_names_file_line_and_content_of_a_mistake(tmp_path):
    path = tmp_path / "gold.talp"
    path.write_text("1-1 2p2\n\n3-1\n")
    assert list(read_alignments(path, base=1)) == [({(0, 0)}, {(0, 0), (1, 1)}), (set(), set()), ({(2, 0)}, {(2, 0)})]
    path.write_text("1-1\n1-0\n")
    with pytest.raises(UserError, match=r"gold\.talp:2: '1-0' is below 1-1"):
        list(read_alignments(path, base=1))
    path.write_text("0-0\n\n0-0 x-3\n")
    with pytest.raises(UserError, match=r"gold\.talp:3: 'x-3'") as error:
        list(read_alignments(path))
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"none\.talp"):
        list(read_alignments(tmp_path / "none.talp"))


# ---- known alignments of a text


def test_of_three_files_those_that_differ_are_named(tmp_path):
    files = pair(tmp_path, ["a", "b"], ["x"], ["0-0", "0-0"])
    with pytest.raises(UserError, match=r"a\.en has 2 lines and .*a\.de has 1:"):
        list(known_alignments(*files))


def pair(folder, source, target, links):
    for name, lines in (("a.en", source), ("a.de", target), ("a.talp", links)):
        (folder / name).write_text("".join(f"{line}\n" for line in lines))
    return folder / "a.talp", folder / "a.en", folder / "a.de"


def test_known_alignments_come_with_their_lines(tmp_path):
    files = pair(tmp_path, ["a b", "", "c"], ["x", "", "y  z"], ["2-1", "", "1p2 1-1"])
    assert list(known_alignments(*files, base=1)) == [
        ("a b", "x", {(1, 0)}, {(1, 0)}),
        ("", "", set(), set()),
        ("c", "y  z", {(0, 0)}, {(0, 0), (0, 1)}),
    ]


@pytest.mark.parametrize(
    ("links", "base", "words"),
    [
        (["0-0", "0-2"], 0, ["a.talp:2", "0-2", "target", "2 words", "0 to 1"]),
        (["0-0", "3-0"], 0, ["a.talp:2", "3-0", "source", "3 words", "0 to 2"]),
        (["1-1", "4-1"], 1, ["a.talp:2", "4-1", "source", "1 to 3"]),
        (["0-0", "0p7"], 0, ["a.talp:2", "0-7", "target"]),
        (["0-0", "0=1"], 0, ["a.talp:2", "0=1"]),
        (["0-0"], 0, ["a.en has 2 lines", "a.talp has 1"]),
        (["0-0", "", ""], 0, ["a.en has 2 lines", "a.talp has 3"]),
    ],
)
def test_a_mistake_in_known_alignments_is_named_in_one_line(tmp_path, links, base, words):
    files = pair(tmp_path, ["a", "b c d"], ["x", "y z"], links)
    with pytest.raises(UserError) as caught:
        list(known_alignments(*files, base=base))
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_training_prefers_sure_links():
    sure, possible = {(0, 0), (1, 1)}, {(0, 0), (1, 1), (2, 1), (2, 2), (3, 2)}
    assert training_links(sure, possible) == {(0, 0), (1, 1), (2, 2), (3, 2)}
    assert training_links(set(), set()) == set()
