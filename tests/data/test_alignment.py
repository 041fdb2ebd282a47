import pytest

from unrolled.data.alignment import parse_pharaoh, read_alignments
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
    assert read_alignments(path, base=1) == [({(0, 0)}, {(0, 0), (1, 1)}), (set(), set()), ({(2, 0)}, {(2, 0)})]
    path.write_text("1-1\n1-0\n")
    with pytest.raises(UserError, match=r"gold\.talp:2: '1-0' is below 1-1"):
        read_alignments(path, base=1)
    path.write_text("0-0\n\n0-0 x-3\n")
    with pytest.raises(UserError, match=r"gold\.talp:3: 'x-3'") as error:
        read_alignments(path)
    assert "\n" not in str(error.value)
    with pytest.raises(UserError, match=r"none\.talp"):
        read_alignments(tmp_path / "none.talp")
