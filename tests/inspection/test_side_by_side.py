"""Records of several runs for one page: their names, and whether they belong together."""

import pytest
from support.handmade_runs import write_record

from unrolled.errors import UserError
from unrolled.inspection.side_by_side import read_runs


def test_runs_of_one_name_get_their_folders_names(tmp_path):
    folders = [write_record(tmp_path / name, "same", "a b") for name in ("one", "two")]
    assert [run.name for run in read_runs(folders)] == ["same (one)", "same (two)"]
    assert [run.name for run in read_runs(folders[:1])] == ["same"]


def test_runs_on_other_sentences_do_not_stand_side_by_side(tmp_path):
    one = write_record(tmp_path / "one", "1", "a b", "c d")
    two = write_record(tmp_path / "two", "2", "c d", "e f")
    three = write_record(tmp_path / "three", "3", "x", "c d")
    with pytest.raises(UserError, match=r"one and .*two recorded attention on different sentences"):
        read_runs([one, two])
    assert len(read_runs([one, three])) == 2  # one sentence is the same; the page says which are not
    test = write_record(tmp_path / "test", "4", "a b", split="test")
    with pytest.raises(UserError, match="different sentences"):
        read_runs([one, test])
