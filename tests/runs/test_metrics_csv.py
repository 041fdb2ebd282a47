"""metrics.csv, read back."""

import math

import pytest

from unrolled.errors import UserError
from unrolled.runs.metrics_csv import read_curves


def test_rows_have_what_was_logged_then(tmp_path):
    assert read_curves(tmp_path) == []
    (tmp_path / "metrics.csv").write_text("epoch,step,val/loss\n,19,\n0,99,inf\n", encoding="utf-8")
    first, second = read_curves(tmp_path)
    assert first == {"step": 19}
    assert second == {"epoch": 0, "step": 99, "val/loss": math.inf}
    assert isinstance(second["step"], int)


def test_a_damaged_file_is_one_line(tmp_path):
    (tmp_path / "metrics.csv").write_text("step,val/loss\n1,x\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"metrics\.csv"):
        read_curves(tmp_path)
