"""Runs compared from Python: what compare.py prints and writes, as records."""

import csv

import pytest
from support.scripts import call_script

import unrolled

FEW = {"bootstrap": 20, "randomization": 20}


def test_the_tables_are_those_of_the_command(sweep, tmp_path, caplog):
    folder = tmp_path / "tables"
    done = call_script(
        "compare.py",
        f"runs={sweep}",
        "bootstrap=20",
        "randomization=20",
        f"output={folder}",
        cwd=tmp_path,
        drawings=True,
    )
    compared = unrolled.compare(sweep, **FEW)
    assert str(compared) == compared.text == done.stdout
    assert compared.folder is None
    with (folder / "comparison.csv").open(encoding="utf-8") as file:
        (row,) = csv.DictReader(file)
    assert {name: "" if value is None else str(value) for name, value in compared.groups[0].items()} == row
    assert compared._repr_html_() in (folder / "comparison.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == ["tables"]
    again = unrolled.compare(sweep, output=tmp_path / "again", **FEW)
    assert again.folder == tmp_path / "again"
    assert {path.name for path in again.folder.iterdir()} == {path.name for path in folder.iterdir()}


def test_runs_are_given_as_they_are_and_tested_against_a_baseline(sweep, caplog):
    runs = [unrolled.load(folder) for folder in sorted(sweep.iterdir()) if (folder / "config.yaml").is_file()]
    compared = unrolled.compare([runs[0], runs[1].folder], baseline=runs[0], **FEW)
    assert compared.groups[0]["runs"] == 2
    assert {row["by"].partition(" (")[0] for row in compared.bands} == {"source length", "amount of reordering"}
    assert all(row["lower"] <= row["score"] <= row["upper"] for row in compared.bands)
    with pytest.raises(unrolled.UserError, match="baseline: attention=none"):
        unrolled.compare(runs, baseline={"attention": "none"}, **FEW)
    for call in (
        lambda: unrolled.compare([]),
        lambda: unrolled.compare([3]),
        lambda: unrolled.compare(runs, bootstrp=1),
    ):
        with pytest.raises(unrolled.UserError):
            call()
