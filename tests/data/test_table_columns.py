"""The columns that are chosen of a table, and the files made of them."""

import pytest
from support.run_contents import lines

from unrolled.data.table_columns import Columns, files_of, write
from unrolled.errors import UserError


def test_one_column_or_several_are_chosen_by_number_or_by_name():
    chosen = Columns.of({"source": [3, 1], "target": "form"})
    assert (chosen.source, chosen.target, chosen.features) == ((3, 1), ("form",), ())
    assert (chosen.all, chosen.named) == ((3, 1, "form"), True)
    assert not Columns.of({"source": 1, "target": 2, "features": [3, 4]}).named


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"source": 0}, r"data\.columns\.source=0: give a column's number, from 1"),
        ({"source": True}, r"data\.columns\.source=True"),
        ({"source": ""}, r"data\.columns\.source=: give"),
        ({"target": None}, r"data\.columns\.target=null"),
        ({"features": [2, -1]}, r"data\.columns\.features=-1"),
    ],
)
def test_a_column_that_is_neither_is_refused(changes, says):
    with pytest.raises(UserError, match=says):
        Columns.of({"source": "lemma", "target": "form", **changes})


@pytest.mark.parametrize("columns", [1, None, [1, 2]])
def test_columns_without_sides_are_refused(columns):
    with pytest.raises(UserError, match=r"give data\.columns\.source=\.\.\. and data\.columns\.target="):
        Columns.of(columns)


def test_columns_of_a_side_are_joined_and_features_follow_after_tabs(tmp_path):
    columns = Columns(source=(1, 2), target=("x", "y", "z"), features=(6, 7))
    write(tmp_path / "new", columns, [("a", "b", "c", "d", "e", "F", "G"), ("", "h", "i", "", "k", "L", "")])
    files = files_of(tmp_path / "new")
    source, target = lines(files.source), lines(files.target)
    assert source == ["a b\tF\tG", " h\tL\t"]
    assert target == ["c d e", "i  k"]
