"""results.json and what is shown of it."""

import json
import math

import pytest

from unrolled.errors import UserError
from unrolled.runs.results import read_results, show_results, write_results


def test_what_is_no_number_is_null(tmp_path):
    write_results(tmp_path, {"status": "diverged", "val/loss": math.nan, "test/loss": math.inf, "steps": 3, "a": "é"})
    json.loads((tmp_path / "results.json").read_text(encoding="utf-8"), parse_constant=lambda name: 1 / 0)
    expected = {"status": "diverged", "val/loss": None, "test/loss": None, "steps": 3, "a": "é"}
    assert read_results(tmp_path) == expected


@pytest.mark.parametrize("value", [True, "3", [1]])
def test_what_is_no_figure_is_refused(value, tmp_path):
    (tmp_path / "results.json").write_text(json.dumps({"status": "completed", "test/bleu": value}))
    with pytest.raises(UserError, match=r"results\.json"):
        read_results(tmp_path)


def test_figures_are_shown_one_a_line(capsys):
    show_results({"test/bleu": 31.23456, "steps": 100000, "status": "completed"})
    assert capsys.readouterr().out == "test/bleu  31.23\nsteps      100000\nstatus     completed\n"
