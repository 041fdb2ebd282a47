"""The short form of `python -m tests.campaign.damage`."""

import pytest

from campaign.damage import SHORT, campaign


@pytest.mark.slow
def test_damaged_run_folders_are_refused_in_one_line_and_run_nothing(tmp_path, capsys):
    found = campaign(SHORT, 7, tmp_path)
    assert found["broken"] == 0, capsys.readouterr().out
    assert found["refused"] > SHORT / 2
